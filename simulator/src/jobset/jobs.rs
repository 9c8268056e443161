//! The Jobs of a `JobSet`.

use serde_json::{Map, Value, json};

use super::names::{RESTART_ATTEMPT, job_name, mark, replicas, restarts};
use crate::component::View;
use crate::object::{controlled_by, is, is_true, label, name, namespace, text};
use crate::resource::{JOB, JOB_SET, SERVICE};

/// The Jobs that a `JobSet` controls, by what became of them (`getChildJobs`).
#[derive(Default)]
pub(super) struct OwnedJobs<'a> {
    pub(super) active: Vec<&'a Value>,
    pub(super) successful: Vec<&'a Value>,
    pub(super) failed: Vec<&'a Value>,
    /// Those of before a restart.
    pub(super) previous: Vec<&'a Value>,
}

impl<'a> OwnedJobs<'a> {
    pub(super) fn of(view: &'a View, job_set: &'a Value) -> Self {
        let mut owned = Self::default();
        for job in view.controlled_by(JOB, job_set) {
            let attempt: i64 =
                label(job, RESTART_ATTEMPT).and_then(|it| it.parse().ok()).unwrap_or_default();
            let bucket = if attempt < restarts(job_set) {
                &mut owned.previous
            } else if is_true(job, "Complete") {
                &mut owned.successful
            } else if is_true(job, "Failed") {
                &mut owned.failed
            } else {
                &mut owned.active
            };
            bucket.push(job);
        }
        owned
    }

    fn has(&self, named: &str) -> bool {
        let all = [&self.active, &self.successful, &self.failed, &self.previous];
        all.into_iter().flatten().any(|it| name(it) == named)
    }

    /// The Jobs of a replicated job that are not there yet (`constructJobsFromTemplate`).
    pub(super) fn missing(&self, job_set: &Value, replicated_job: &Value) -> Vec<Value> {
        let blocking = text(job_set, "/spec/failurePolicy/restartStrategy") == "BlockingRecreate";
        if blocking && !self.previous.is_empty() {
            return Vec::new();
        }
        (0..replicas(replicated_job))
            .filter(|index| !self.has(&job_name(job_set, replicated_job, *index)))
            .map(|index| construct(job_set, replicated_job, index))
            .collect()
    }
}

/// `constructJob`.
fn construct(job_set: &Value, replicated_job: &Value, index: i64) -> Value {
    let template = &replicated_job["template"];
    let mut metadata = json!({
        "name": job_name(job_set, replicated_job, index),
        "namespace": namespace(job_set),
        "ownerReferences": [controlled_by(JOB_SET, job_set)],
    });
    for part in ["labels", "annotations"] {
        if template["metadata"][part].is_object() {
            metadata[part] = template["metadata"][part].clone();
        }
    }
    mark(&mut metadata, job_set, replicated_job, index);
    let mut spec = template["spec"].clone();
    mark(&mut spec["template"]["metadata"], job_set, replicated_job, index);
    if is(job_set, "/spec/network/enableDNSHostnames") {
        spec["template"]["spec"]["subdomain"] = subdomain(job_set).into();
    }
    spec["suspend"] = is(job_set, "/spec/suspend").into();
    json!({
        "apiVersion": JOB.api_version(), "kind": JOB.kind, "metadata": metadata, "spec": spec,
    })
}

/// The domain of the pods' names (`GetSubdomain`).
pub(super) fn subdomain(job_set: &Value) -> &str {
    match text(job_set, "/spec/network/subdomain") {
        "" => name(job_set),
        subdomain => subdomain,
    }
}

/// The headless Service that makes those names (`createHeadlessSvcIfNecessary`).
pub(super) fn service(job_set: &Value) -> Value {
    let ready = job_set.pointer("/spec/network/publishNotReadyAddresses");
    json!({
        "apiVersion": "v1",
        "kind": SERVICE.kind,
        "metadata": {
            "name": subdomain(job_set),
            "namespace": namespace(job_set),
            "ownerReferences": [controlled_by(JOB_SET, job_set)],
        },
        "spec": {
            "clusterIP": "None",
            "selector": {(super::names::JOB_SET_NAME): name(job_set)},
            "publishNotReadyAddresses": ready.and_then(Value::as_bool).unwrap_or(true),
        },
    })
}

/// A suspended Job with the template of its replicated job as it is now, unsuspended. New values win
/// over old ones, and what was removed stays (`resumeJob`).
pub(super) fn resumed(job: &Value, template: Option<&Value>) -> Value {
    let mut job = job.clone();
    if let Some(template) = template {
        let own = &mut job["spec"]["template"];
        for part in ["labels", "annotations"] {
            merge_map(&mut own["metadata"], part, &template["metadata"][part]);
        }
        merge_map(&mut own["spec"], "nodeSelector", &template["spec"]["nodeSelector"]);
        for part in ["tolerations", "schedulingGates"] {
            merge_list(&mut own["spec"], part, &template["spec"][part]);
        }
    }
    job["spec"]["suspend"] = false.into();
    job
}

fn merge_map(object: &mut Value, field: &str, from: &Value) {
    let Some(from) = from.as_object().filter(|it| !it.is_empty()) else { return };
    if object[field].is_null() {
        object[field] = Value::Object(Map::new());
    }
    for (key, value) in from {
        object[field][key.as_str()] = value.clone();
    }
}

/// `collections.MergeSlices`: what is not there yet comes after what is.
fn merge_list(object: &mut Value, field: &str, from: &Value) {
    let Some(from) = from.as_array().filter(|it| !it.is_empty()) else { return };
    if object[field].is_null() {
        object[field] = json!([]);
    }
    let Some(list) = object[field].as_array_mut() else { return };
    for item in from {
        if !list.contains(item) {
            list.push(item.clone());
        }
    }
}
