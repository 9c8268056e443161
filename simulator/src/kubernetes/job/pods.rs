//! The pods of a Job.

use serde_json::{Value, json};

use crate::api::{Delete, Precondition, Request, Verb};
use crate::component::{Key, Plan};
use crate::object::{
    annotation, controlled_by, controller, has_finalizer, is_terminating, is_true, items, name,
    namespace, text, uid,
};
use crate::resource::{JOB, POD};

/// The finalizer of pods that a Job has not counted yet.
pub(super) const TRACKING: &str = "batch.kubernetes.io/job-tracking";

/// Label and annotation: the completion index of a pod.
const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// The Job that controls a pod: its key and UID.
pub(super) fn job_of(pod: &Value) -> Option<(Key, &str)> {
    let owner = controller(pod).filter(|it| it["kind"] == JOB.kind)?;
    Some((Key::new(namespace(pod), text(owner, "/name")), text(owner, "/uid")))
}

pub(super) fn is_tracked(pod: &Value) -> bool {
    has_finalizer(pod, TRACKING)
}

pub(super) fn phase(pod: &Value) -> &str {
    text(pod, "/status/phase")
}

fn has_ended(pod: &Value) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

/// `controller.IsPodActive`: a pod that was deleted is not active, although it may still run.
pub(super) fn is_active(pod: &Value) -> bool {
    !has_ended(pod) && !is_terminating(pod)
}

/// `controller.IsPodTerminating`.
pub(super) fn is_going(pod: &Value) -> bool {
    !has_ended(pod) && is_terminating(pod)
}

pub(super) fn is_ready(pod: &Value) -> bool {
    is_true(pod, "Ready")
}

/// Whether a Job counts its pod as failed (`isPodFailed`).
pub(super) fn has_failed(pod: &Value, job: &Value) -> bool {
    phase(pod) == "Failed"
        || (!replaces_failed_alone(job) && is_terminating(pod) && phase(pod) != "Succeeded")
}

/// Whether pods are replaced only when they have ended, and not as soon as they are deleted
/// (`onlyReplaceFailedPods`).
pub(super) fn replaces_failed_alone(job: &Value) -> bool {
    text(job, "/spec/podReplacementPolicy") == "Failed"
}

pub(super) fn is_indexed(job: &Value) -> bool {
    text(job, "/spec/completionMode") == "Indexed"
}

/// The completion index of a pod.
pub(super) fn index(pod: &Value) -> Option<i64> {
    annotation(pod, INDEX)?.parse().ok().filter(|it| *it >= 0)
}

/// The pods to delete, of those that are active: of each index all but one, and beyond that those that
/// are furthest from running, until there are so many (`activePodsForRemoval`).
pub(super) fn to_remove<'a>(
    job: &Value,
    active: &[&'a Value],
    completions: Option<i64>,
    at_least: usize,
) -> Vec<&'a Value> {
    let progress = |pod: &&Value| {
        let bound = !text(pod, "/spec/nodeName").is_empty();
        (
            bound,
            phase(pod) == "Running",
            is_ready(pod),
            std::cmp::Reverse(text(pod, "/metadata/creationTimestamp").to_owned()),
        )
    };
    let mut sorted: Vec<&Value> = active.to_vec();
    // Of equals the newest goes first.
    sorted.sort_by_cached_key(progress);
    let (mut remove, mut left) = (Vec::new(), Vec::new());
    for (at, pod) in sorted.iter().enumerate() {
        let known = index(pod).filter(|it| completions.is_none_or(|end| *it < end));
        // The one that is furthest is kept.
        let twin = sorted.iter().skip(at + 1).any(|it| index(it) == known);
        if is_indexed(job) && (known.is_none() || twin) {
            remove.push(*pod);
        } else {
            left.push(*pod);
        }
    }
    let more = at_least.saturating_sub(remove.len());
    remove.extend(left.into_iter().take(more));
    remove
}

/// Makes a pod (`CreatePodsWithGenerateName`).
pub(super) fn create(job: &Value, index: Option<i64>) -> Request {
    let template = &job["spec"]["template"];
    let mut metadata = json!({
        "namespace": namespace(job),
        "generateName": format!("{}-", name(job)),
        "finalizers": [TRACKING],
        "ownerReferences": [controlled_by(JOB, job)],
    });
    for part in ["labels", "annotations"] {
        if template["metadata"][part].is_object() {
            metadata[part] = template["metadata"][part].clone();
        }
    }
    let mut spec = template["spec"].clone();
    if let Some(index) = index {
        metadata["generateName"] = format!("{}-{index}-", name(job)).into();
        metadata["labels"][INDEX] = index.to_string().into();
        metadata["annotations"][INDEX] = index.to_string().into();
        spec["hostname"] = format!("{}-{index}", name(job)).into();
        tell_index(&mut spec);
    }
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
    Request::create(POD, pod, "")
}

/// `addCompletionIndexEnvVariables`.
fn tell_index(spec: &mut Value) {
    const NAME: &str = "JOB_COMPLETION_INDEX";
    let from = json!({"fieldRef": {"fieldPath": format!("metadata.labels['{INDEX}']")}});
    for kind in ["initContainers", "containers"] {
        let containers = spec.get_mut(kind).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            if items(container, "/env").iter().any(|it| it["name"] == NAME) {
                continue;
            }
            if container["env"].is_null() {
                container["env"] = json!([]);
            }
            if let Some(env) = container["env"].as_array_mut() {
                env.push(json!({"name": NAME, "valueFrom": from}));
            }
        }
    }
}

/// Takes the tracking finalizer away (`removeTrackingFinalizerPatch`). The UID makes the API refuse it
/// for another pod of the name.
pub(super) fn untrack(pod: &Value) -> Request {
    let left = items(pod, "/metadata/finalizers").iter().filter(|it| *it != TRACKING).cloned();
    let left: Vec<Value> = left.collect();
    let left = if left.is_empty() { Value::Null } else { Value::Array(left) };
    let patch = json!({"metadata": {"uid": uid(pod), "finalizers": left}});
    Request::merge_patch(POD, namespace(pod), name(pod), patch, "")
}

/// Deletes a pod, which keeps its finalizer (`deleteActivePods`).
pub(super) fn delete(pod: &Value) -> Request {
    let mut request = Request::get(POD, namespace(pod), name(pod));
    let precondition = Precondition { uid: uid(pod).to_owned(), ..Precondition::default() };
    request.verb = Verb::Delete(Delete { precondition, ..Delete::default() });
    request
}

/// Deletes a pod that does not count: its finalizer goes first (`deleteJobPods`).
pub(super) fn discard(pod: &Value) -> Plan {
    const SOURCE: &str = "Kubernetes pkg/controller/job/job_controller.go, deleteJobPods";
    let plan = if is_tracked(pod) { Plan::one(untrack(pod), SOURCE) } else { Plan::nothing() };
    plan.and(delete(pod), SOURCE)
}
