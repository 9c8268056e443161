//! The labels, which are annotations too, that a `JobSet` puts on its Jobs and their pods (`JobSet`
//! `pkg/controllers/jobset_controller.go`, `labelAndAnnotateObject`).

use serde_json::{Value, json};

use crate::object::{items, name, namespace, number, text, uid};

/// Label: the `JobSet`.
pub(super) const JOB_SET_NAME: &str = "jobset.sigs.k8s.io/jobset-name";

/// Label: the replicated job.
pub(super) const REPLICATED_JOB: &str = "jobset.sigs.k8s.io/replicatedjob-name";

/// Label: how often the `JobSet` was restarted when the Job was made.
pub(super) const RESTART_ATTEMPT: &str = "jobset.sigs.k8s.io/restart-attempt";

/// The name of a Job.
pub(super) fn job_name(job_set: &Value, replicated_job: &Value, index: i64) -> String {
    format!("{}-{}-{index}", name(job_set), text(replicated_job, "/name"))
}

/// How many Jobs a replicated job has.
pub(super) fn replicas(replicated_job: &Value) -> i64 {
    number(replicated_job, "/replicas").unwrap_or(1)
}

/// Puts the labels and annotations of a Job on a part of it: its own metadata, or that of its pods.
pub(super) fn mark(metadata: &mut Value, job_set: &Value, replicated_job: &Value, index: i64) {
    let jobs = items(job_set, "/spec/replicatedJobs");
    let group = text(replicated_job, "/groupName");
    let in_group = |it: &&Value| text(it, "/groupName") == group;
    let before = jobs.iter().take_while(|it| it["name"] != replicated_job["name"]);
    let group_before: i64 = before.clone().filter(in_group).map(replicas).sum();
    let all_before: i64 = before.map(replicas).sum();
    let key = format!("{}/{}", namespace(job_set), job_name(job_set, replicated_job, index));
    let marks = [
        (JOB_SET_NAME, name(job_set).to_owned()),
        ("jobset.sigs.k8s.io/jobset-uid", uid(job_set).to_owned()),
        (REPLICATED_JOB, text(replicated_job, "/name").to_owned()),
        (RESTART_ATTEMPT, restarts(job_set).to_string()),
        ("jobset.sigs.k8s.io/replicatedjob-replicas", replicas(replicated_job).to_string()),
        ("jobset.sigs.k8s.io/global-replicas", jobs.iter().map(replicas).sum::<i64>().to_string()),
        ("jobset.sigs.k8s.io/job-index", index.to_string()),
        ("jobset.sigs.k8s.io/job-key", crate::digest::sha1(&key)),
        ("jobset.sigs.k8s.io/job-global-index", (all_before + index).to_string()),
        ("jobset.sigs.k8s.io/group-name", group.to_owned()),
        (
            "jobset.sigs.k8s.io/group-replicas",
            jobs.iter().filter(in_group).map(replicas).sum::<i64>().to_string(),
        ),
        ("jobset.sigs.k8s.io/job-group-index", (group_before + index).to_string()),
    ];
    for part in ["labels", "annotations"] {
        if metadata[part].is_null() {
            metadata[part] = json!({});
        }
        for (key, value) in &marks {
            metadata[part][*key] = value.clone().into();
        }
    }
}

/// How often a `JobSet` was restarted.
pub(super) fn restarts(job_set: &Value) -> i64 {
    number(job_set, "/status/restarts").unwrap_or_default()
}
