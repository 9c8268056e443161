//! Trainer: makes `JobSet`s of `TrainJob`s and their runtimes; its webhooks and the rules of its kinds.

mod job_set;
mod merge;
mod patches;
mod rules;
mod runtime;
mod status;
mod train_job;
mod webhook;

use crate::api::Webhook;
use crate::component::Controller;

pub use job_set::{Unsupported, job_set, runtime_of};

/// The name that Trainer signs its writes with, except for the `JobSet`, which it applies as
/// `trainer` (measured).
const MANAGER: &str = "trainer-controller-manager";

/// Trainer's controllers.
pub fn controllers() -> Vec<Box<dyn Controller>> {
    vec![
        Box::new(train_job::TrainJobs::default()),
        Box::new(runtime::Runtimes::NAMESPACED),
        Box::new(runtime::Runtimes::CLUSTER),
    ]
}

/// What the schemas of Trainer's kinds say themselves.
pub(crate) fn rules() -> Vec<Box<dyn Webhook>> {
    vec![Box::new(rules::TrainJobRules), Box::new(rules::RuntimeRules)]
}

/// Trainer's webhooks.
pub fn webhooks() -> Vec<Box<dyn Webhook>> {
    vec![
        Box::new(webhook::TrainJobDefaulter),
        Box::new(webhook::TrainJobValidator),
        Box::new(webhook::RuntimeValidator),
    ]
}
