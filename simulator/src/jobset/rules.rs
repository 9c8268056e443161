//! What the schema of `JobSet`s says itself (`JobSet` `api/jobset/v1alpha2/jobset_types.go`).

use serde_json::Value;

use crate::api::{Denied, Lookup, Review, Webhook, immutable, invalid};
use crate::component::Component;
use crate::object::{default_to, differ, items};
use crate::resource::JOB_SET;

/// The fields that may not change once they are set.
const IMMUTABLE: [&str; 5] =
    ["network", "successPolicy", "failurePolicy", "startupPolicy", "volumeClaimPolicies"];

/// The defaults of a list of replicated jobs, which runtimes have too.
pub(crate) fn default_replicated_jobs(object: &mut Value, pointer: &str) {
    let jobs = object.pointer_mut(pointer).and_then(Value::as_array_mut);
    for job in jobs.into_iter().flatten() {
        default_to(job, &["groupName"], "default");
        default_to(job, &["replicas"], 1);
    }
}

/// The rules of `JobSet`s.
pub(super) struct JobSetRules;

impl Webhook for JobSetRules {
    fn name(&self) -> &'static str {
        "jobsets.jobset.x-k8s.io"
    }

    fn component(&self) -> Option<Component> {
        None
    }

    fn looks_at(&self, review: &Review<'_>) -> bool {
        review.writes(&[JOB_SET])
    }

    fn mutate(
        &self,
        _review: &Review<'_>,
        object: &mut Value,
        _stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        default_replicated_jobs(object, "/spec/replicatedJobs");
        if object["spec"]["failurePolicy"].is_object() {
            default_to(object, &["spec", "failurePolicy", "restartStrategy"], "Recreate");
        }
        Ok(())
    }

    fn validate(
        &self,
        review: &Review<'_>,
        object: &Value,
        _stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        let mut wrong = Vec::new();
        if let Some(old) = review.old {
            wrong.extend(immutable(old, object, &IMMUTABLE, "Value is immutable"));
            for job in items(object, "/spec/replicatedJobs") {
                let before = items(old, "/spec/replicatedJobs");
                let before = before.iter().find(|it| it["name"] == job["name"]);
                if before.is_some_and(|it| differ(it, job, "/dependsOn")) {
                    let path = "spec.replicatedJobs.dependsOn";
                    wrong.push(format!("{path}: Invalid value: Value is immutable"));
                }
            }
        }
        invalid(wrong)
    }
}
