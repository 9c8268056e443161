//! `JobSet`'s webhooks (`JobSet` `pkg/webhooks/jobset_webhook.go`).

use serde_json::Value;

use super::names::{job_name, replicas};
use crate::api::{Denied, Failure, Lookup, Review, Webhook};
use crate::component::Component;
use crate::object::{default_to, differ, is, items, number, text};
use crate::quantity;
use crate::resource::JOB_SET;

/// The longest name of a Job, and of a pod: that of a DNS label.
const LONGEST_NAME: usize = 63;

/// What of a pod template may change while the `JobSet` is suspended, or is being suspended.
const MUTABLE_WHILE_SUSPENDED: [&str; 5] = [
    "/template/spec/template/metadata/annotations",
    "/template/spec/template/metadata/labels",
    "/template/spec/template/spec/nodeSelector",
    "/template/spec/template/spec/tolerations",
    "/template/spec/template/spec/schedulingGates",
];

/// Sets defaults, and writes quantities as Go does.
pub(super) struct Defaulter;

impl Webhook for Defaulter {
    fn name(&self) -> &'static str {
        "mjobset.kb.io"
    }

    fn component(&self) -> Option<Component> {
        Some(Component::JobSet)
    }

    fn looks_at(&self, review: &Review<'_>) -> bool {
        review.writes_main(&[JOB_SET])
    }

    fn mutate(
        &self,
        _review: &Review<'_>,
        object: &mut Value,
        _stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        default_to(object, &["spec", "successPolicy", "operator"], "All");
        default_to(object, &["spec", "startupPolicy", "startupPolicyOrder"], "AnyOrder");
        default_to(object, &["spec", "network", "enableDNSHostnames"], true);
        default_to(object, &["spec", "network", "publishNotReadyAddresses"], true);
        let jobs = object.pointer_mut("/spec/replicatedJobs").and_then(Value::as_array_mut);
        for job in jobs.into_iter().flatten() {
            default_to(job, &["template", "spec", "completionMode"], "Indexed");
            let restart = ["template", "spec", "template", "spec", "restartPolicy"];
            default_to(job, &restart, "OnFailure");
            for kind in ["containers", "initContainers"] {
                let pointer = format!("/template/spec/template/spec/{kind}");
                let containers = job.pointer_mut(&pointer).and_then(Value::as_array_mut);
                for container in containers.into_iter().flatten() {
                    if let Some(resources) = container.get_mut("resources") {
                        quantity::canonicalize(resources);
                    }
                }
            }
        }
        let rules = object.pointer_mut("/spec/failurePolicy/rules").and_then(Value::as_array_mut);
        for (at, rule) in rules.into_iter().flatten().enumerate() {
            default_to(rule, &["name"], format!("failurePolicyRule{at}"));
        }
        Ok(())
    }
}

/// Refuses names that are too long, and changes of what may not change.
pub(super) struct Validator;

impl Webhook for Validator {
    fn name(&self) -> &'static str {
        "vjobset.kb.io"
    }

    fn component(&self) -> Option<Component> {
        Some(Component::JobSet)
    }

    fn looks_at(&self, review: &Review<'_>) -> bool {
        review.writes_main(&[JOB_SET])
    }

    fn validate(
        &self,
        review: &Review<'_>,
        object: &Value,
        _stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        match review.old {
            Some(old) => validate_update(old, object),
            None => validate_new(object),
        }
    }
}

fn validate_new(object: &Value) -> Result<(), Denied> {
    refuse_unsupported(object)?;
    let jobs = items(object, "/spec/replicatedJobs");
    let mut wrong = Vec::new();
    if jobs.first().is_some_and(|it| !items(it, "/dependsOn").is_empty()) {
        wrong.push("DependsOn can't be set for the first ReplicatedJob".to_owned());
    }
    for (at, job) in jobs.iter().enumerate() {
        let longest = job_name(object, job, replicas(job) - 1);
        let path = format!("spec.replicatedJobs[{at}].name: Invalid value: \"{longest}\"");
        if longest.len() > LONGEST_NAME {
            wrong.push(format!("{path}: {JOB_NAME_TOO_LONG}"));
        }
        let completions = number(job, "/template/spec/completions");
        let indexed = text(job, "/template/spec/completionMode") == "Indexed";
        if let Some(completions) = completions.filter(|_| indexed) {
            // A pod is called after its Job and its index, and five letters left to chance.
            if format!("{longest}-{}-abcde", completions - 1).len() > LONGEST_NAME {
                wrong.push(format!("{path}: {POD_NAME_TOO_LONG}"));
            }
        }
        for dependency in items(job, "/dependsOn") {
            if !jobs.iter().take(at).any(|it| it["name"] == dependency["name"]) {
                let (of, on) = (text(job, "/name"), text(dependency, "/name"));
                wrong.push(format!("replicatedJob: {of} cannot depend on replicatedJob: {on}"));
            }
        }
    }
    for target in items(object, "/spec/successPolicy/targetReplicatedJobs") {
        if !jobs.iter().any(|it| it["name"] == *target) {
            let target = target.as_str().unwrap_or_default();
            wrong.push(format!(
                "invalid replicatedJob name '{target}' does not appear in .spec.ReplicatedJobs"
            ));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(Denied::Webhook(wrong.join("\n"))) }
}

const JOB_NAME_TOO_LONG: &str =
    "JobSet name is too long, job names generated for this JobSet will exceed 63 characters";
const POD_NAME_TOO_LONG: &str =
    "JobSet name is too long, pod names generated for this JobSet will exceed 63 characters";

fn refuse_unsupported(object: &Value) -> Result<(), Denied> {
    let there = |pointer: &str| object.pointer(pointer).is_some_and(|it| !it.is_null());
    let unsupported =
        ["/spec/coordinator", "/spec/volumeClaimPolicies"].into_iter().find(|it| there(it));
    let rules = items(object, "/spec/failurePolicy/rules");
    let in_place = text(object, "/spec/failurePolicy/restartStrategy") == "InPlaceRestart";
    let what = match unsupported {
        Some(pointer) => pointer,
        None if in_place => "the restart strategy InPlaceRestart",
        None if rules.iter().any(|it| !items(it, "/onJobFailureMessagePatterns").is_empty()) => {
            "patterns of messages in failure policies"
        }
        None => return Ok(()),
    };
    Err(Denied::Failure(Failure::unsupported(&format!("{what} of JobSets"))))
}

/// Replicated jobs do not change, but for the parts of pod templates that Kueue needs
/// (`ValidateUpdate`).
fn validate_update(old: &Value, object: &Value) -> Result<(), Denied> {
    let before = items(old, "/spec/replicatedJobs");
    let mut jobs = items(object, "/spec/replicatedJobs").to_vec();
    if is(old, "/spec/suspend") || is(object, "/spec/suspend") {
        for (job, before) in jobs.iter_mut().zip(before) {
            for pointer in MUTABLE_WHILE_SUSPENDED {
                take_over(job, before, pointer);
            }
        }
    }
    let shown = || Value::from(jobs.clone());
    if jobs.iter().map(without_nothing).ne(before.iter().map(without_nothing)) {
        let why = "field is immutable";
        let message = format!("spec.replicatedJobs: Invalid value: {}: {why}", shown());
        return Err(Denied::Webhook(message));
    }
    if differ(old, object, "/spec/managedBy") {
        let message = "spec.managedBy: Invalid value: field is immutable";
        return Err(Denied::Webhook(message.to_owned()));
    }
    Ok(())
}

/// Puts what is at a pointer of one into another.
fn take_over(object: &mut Value, from: &Value, pointer: &str) {
    let Some((parent, field)) = pointer.rsplit_once('/') else { return };
    let wanted = from.pointer(pointer).cloned().unwrap_or_default();
    if object.pointer(parent).is_none() && !wanted.is_null() {
        let path: Vec<&str> = parent.split('/').skip(1).collect();
        default_to(object, &path, Value::Object(serde_json::Map::new()));
    }
    if let Some(parent) = object.pointer_mut(parent) {
        parent[field] = wanted;
    }
}

/// Go types do not tell what is empty from what is not there.
fn without_nothing(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (key.clone(), without_nothing(value)));
            let empty = |value: &Value| match value {
                Value::Null => true,
                Value::Object(fields) => fields.is_empty(),
                Value::Array(items) => items.is_empty(),
                _ => false,
            };
            Value::Object(fields.filter(|(_, value)| !empty(value)).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_nothing).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests;
