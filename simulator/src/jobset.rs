//! `JobSet`: makes Jobs of a `JobSet`; its webhooks and the rules of its kind.

mod conditions;
mod controller;
mod failure_policy;
mod jobs;
mod names;
mod pod_webhook;
mod rules;
mod status;
mod webhook;

use crate::api::Webhook;
use crate::component::Controller;

pub(crate) use rules::default_replicated_jobs;

/// `JobSet`'s controllers.
pub fn controllers() -> Vec<Box<dyn Controller>> {
    vec![Box::new(controller::JobSets::default())]
}

/// What the schema of the kind says itself.
pub(crate) fn rules() -> Vec<Box<dyn Webhook>> {
    vec![Box::new(rules::JobSetRules)]
}

/// `JobSet`'s webhooks.
pub fn webhooks() -> Vec<Box<dyn Webhook>> {
    vec![
        Box::new(webhook::Defaulter),
        Box::new(webhook::Validator),
        Box::new(pod_webhook::PodWebhook),
    ]
}
