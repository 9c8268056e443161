//! `JobSet`'s webhook for the pods of its Jobs (`JobSet` `pkg/webhooks/pod_mutating_webhook.go`).

use serde_json::Value;

use super::names::JOB_SET_NAME;
use crate::api::{Denied, Failure, Lookup, Operation, Review, Webhook};
use crate::component::Component;
use crate::object::{annotation, number};
use crate::resource::POD;

/// Annotation: exclusive placement, which is not here.
const EXCLUSIVE: &str = "alpha.jobset.sigs.k8s.io/exclusive-topology";

/// Labels pods with their priority.
pub(super) struct PodWebhook;

impl Webhook for PodWebhook {
    fn name(&self) -> &'static str {
        "mpod.kb.io"
    }

    fn component(&self) -> Option<Component> {
        Some(Component::JobSet)
    }

    fn looks_at(&self, review: &Review<'_>) -> bool {
        *review.resource == *POD
            && review.subresource.is_none()
            && review.operation == Operation::Create
    }

    fn mutate(
        &self,
        _review: &Review<'_>,
        pod: &mut Value,
        _stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        if annotation(pod, JOB_SET_NAME).is_none() {
            return Ok(());
        }
        if annotation(pod, EXCLUSIVE).is_some() {
            let failure = Failure::unsupported("exclusive placement of JobSets");
            return Err(Denied::Failure(failure));
        }
        if let Some(priority) = number(pod, "/spec/priority") {
            pod["metadata"]["labels"]["jobset.sigs.k8s.io/priority"] = priority.to_string().into();
        }
        Ok(())
    }
}
