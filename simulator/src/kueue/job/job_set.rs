//! `JobSet`s (Kueue `pkg/controller/jobs/jobset/jobset_controller.go`).

use serde_json::{Value, json};

use super::merge_patch;
use super::pod_set::{Failed, PodSetInfo};
use crate::component::Plan;
use crate::object::{Object, items, number, text};
use crate::resource::JOB_SET;

const SOURCE: &str = "Kueue pkg/controller/jobs/jobset/jobset_controller.go, RunWithPodSetsInfo";

/// A pod set for each replicated job.
pub(super) fn pod_sets(replicated_jobs: &[Value]) -> Vec<Value> {
    let pod_sets = replicated_jobs.iter().map(|job| {
        let replicas = number(job, "/replicas").unwrap_or(1);
        json!({
            "name": text(job, "/name").to_lowercase(),
            "count": replicas * pods(job),
            "template": job["template"]["spec"]["template"],
            "topologyRequest": {
                "podIndexLabel": "batch.kubernetes.io/job-completion-index",
                "subGroupCount": replicas,
                "subGroupIndexLabel": "jobset.sigs.k8s.io/job-index",
            },
        })
    });
    pod_sets.collect()
}

/// How many pods one Job of a replicated job has.
fn pods(replicated_job: &Value) -> i64 {
    let parallelism = number(replicated_job, "/template/spec/parallelism").unwrap_or(1);
    let completions = number(replicated_job, "/template/spec/completions").unwrap_or(parallelism);
    parallelism.min(completions)
}

/// Pods of Jobs that have succeeded.
pub(super) fn reclaimable(replicated_jobs: &[Value], statuses: &[Value]) -> Vec<Value> {
    let told = replicated_jobs.iter().filter_map(|job| {
        let status = statuses.iter().find(|it| it["name"] == job["name"])?;
        let succeeded = number(status, "/succeeded").unwrap_or_default();
        let all = number(job, "/replicas").unwrap_or(1);
        (succeeded > 0 && succeeded <= all)
            .then(|| json!({"name": job["name"], "count": succeeded * pods(job)}))
    });
    told.collect()
}

/// One write.
pub(super) fn start(job_set: &Object, infos: &[PodSetInfo]) -> Result<Plan, Failed> {
    let count = items(job_set, "/spec/replicatedJobs").len();
    if count != infos.len() {
        let why = format!("invalid podset infos: expecting {} podset, got {count}", infos.len());
        return Err(Failed::Permanently(why));
    }
    let mut started = job_set.clone();
    started["spec"]["suspend"] = false.into();
    let jobs = started["spec"]["replicatedJobs"].as_array_mut();
    for (job, info) in jobs.into_iter().flatten().zip(infos) {
        info.merge_into(&mut job["template"]["spec"]["template"])?;
    }
    Ok(Plan::one(merge_patch::strict(JOB_SET, job_set, &started), SOURCE))
}
