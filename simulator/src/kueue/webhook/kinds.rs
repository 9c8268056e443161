//! The rules of Kueue's kinds themselves: defaults, and what does not change. The API server keeps
//! them, whether Kueue runs or not (Kueue `apis/kueue/v1beta2`).

use serde_json::{Value, json};

use crate::api::{Denied, Lookup, Review, Webhook};
use crate::component::Component;
use crate::kueue::workload::has_quota_reservation;
use crate::object::{Object, items, text};
use crate::resource::{ADMISSION_CHECK, CLUSTER_QUEUE, LOCAL_QUEUE, WORKLOAD};

/// The rules.
pub(super) struct Kinds;

impl Webhook for Kinds {
    fn name(&self) -> &'static str {
        "kueue.x-k8s.io"
    }

    fn component(&self) -> Option<Component> {
        None
    }

    fn looks_at(&self, review: &Review<'_>) -> bool {
        review.writes(&[WORKLOAD, CLUSTER_QUEUE, LOCAL_QUEUE, ADMISSION_CHECK])
    }

    fn mutate(
        &self,
        review: &Review<'_>,
        object: &mut Value,
        _stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        match review.resource {
            it if it == WORKLOAD => default_workload(object),
            it if it == CLUSTER_QUEUE => default_cluster_queue(object),
            it if it == LOCAL_QUEUE => default(&mut object["spec"], "stopPolicy", "None".into()),
            _ => {}
        }
        Ok(())
    }

    fn validate(
        &self,
        review: &Review<'_>,
        object: &Object,
        _stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        let Some(old) = review.old else { return Ok(()) };
        let fixed = match review.resource {
            it if it == ADMISSION_CHECK => Some("controllerName"),
            it if it == LOCAL_QUEUE => Some("clusterQueue"),
            _ => None,
        };
        if let Some(key) = fixed
            && old["spec"][key] != object["spec"][key]
        {
            let value = &object["spec"][key];
            let told = format!("spec.{key}: Invalid value: {value}: field is immutable");
            return Err(Denied::Invalid(told));
        }
        if review.resource == WORKLOAD { changed_workload(old, object) } else { Ok(()) }
    }
}

fn default(object: &mut Value, key: &str, value: Value) {
    if object[key].is_null() {
        object[key] = value;
    }
}

fn default_workload(workload: &mut Value) {
    default(&mut workload["spec"], "active", true.into());
    let pod_sets = workload["spec"].get_mut("podSets").and_then(Value::as_array_mut);
    for pod_set in pod_sets.into_iter().flatten() {
        default(pod_set, "name", "main".into());
        default(pod_set, "count", 1.into());
    }
}

fn default_cluster_queue(queue: &mut Value) {
    let spec = &mut queue["spec"];
    default(spec, "queueingStrategy", "BestEffortFIFO".into());
    default(spec, "stopPolicy", "None".into());
    default(spec, "flavorFungibility", json!({}));
    default(&mut spec["flavorFungibility"], "whenCanBorrow", "MayStopSearch".into());
    default(&mut spec["flavorFungibility"], "whenCanPreempt", "TryNextFlavor".into());
    default(spec, "preemption", json!({}));
    default(&mut spec["preemption"], "reclaimWithinCohort", "Never".into());
    default(&mut spec["preemption"], "withinClusterQueue", "Never".into());
    default(&mut spec["preemption"], "borrowWithinCohort", json!({}));
    default(&mut spec["preemption"]["borrowWithinCohort"], "policy", "Never".into());
}

fn changed_workload(old: &Object, new: &Object) -> Result<(), Denied> {
    let invalid = |what: &str| Err(Denied::Invalid(format!("<nil>: Invalid value: {what}")));
    let reserved = has_quota_reservation(old) && has_quota_reservation(new);
    let queue = |it: &Object| text(it, "/spec/queueName").to_owned();
    let both = !queue(old).is_empty() && !queue(new).is_empty();
    if reserved && both && queue(old) != queue(new) {
        return invalid("queueName is immutable while workload quota reserved");
    }
    let has_class =
        |it: &Object| it.pointer("/spec/priorityClassRef").is_some_and(|it| !it.is_null());
    if has_quota_reservation(old) && has_class(old) != has_class(new) {
        return invalid("priorityClassRef is immutable while workload quota reserved");
    }
    let assignments = items(new, "/status/admission/podSetAssignments").len();
    let admitted = new.pointer("/status/admission").is_some_and(|it| !it.is_null());
    if has_quota_reservation(new) && admitted && assignments != items(new, "/spec/podSets").len() {
        return invalid("podSetAssignments must have the same number of podSets as the spec");
    }
    Ok(())
}
