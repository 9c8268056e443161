//! The rules of the built-in kinds: what an object gets where it leaves something open, and what is
//! not valid or may not change.

mod job;
mod metadata;
mod pod;
mod pod_spec;
mod service;

use crate::api::Webhook;

/// All of them.
pub(super) fn all() -> Vec<Box<dyn Webhook>> {
    vec![
        Box::new(metadata::OwnerRules),
        Box::new(pod::PodRules),
        Box::new(job::JobRules),
        Box::new(service::ServiceRules),
    ]
}
