//! `batch/v1` Jobs (Kueue `pkg/controller/jobs/job/job_controller.go`).

use serde_json::{Map, Value, json};

use super::merge_patch;
use super::pod_set::{Failed, PodSetInfo};
use super::stop::Stop;
use crate::component::Plan;
use crate::kueue::names::STOPPING;
use crate::object::{Object, number};
use crate::resource::JOB;

const SOURCE: &str = "Kueue pkg/controller/jobs/job/job_controller.go";

/// Labels that the Job controller puts on the template, and that are its own.
const MANAGED_LABELS: [&str; 4] = [
    "job-name",
    "controller-uid",
    "batch.kubernetes.io/job-name",
    "batch.kubernetes.io/controller-uid",
];

/// The pod set of a Job: one.
pub(super) fn pod_sets(job: &Object) -> Result<Vec<Value>, Failed> {
    let mut template = job["spec"]["template"].clone();
    let labels = template.pointer_mut("/metadata/labels").and_then(Value::as_object_mut);
    if let Some(labels) = labels {
        labels.retain(|key, _| key == MANAGED_LABELS[2] || !MANAGED_LABELS.contains(&key.as_str()));
    }
    let Some(parallelism) = number(job, "/spec/parallelism") else {
        return Err(Failed::ForNow("the Job was not given a parallelism".to_owned()));
    };
    let completions = number(job, "/spec/completions").unwrap_or(parallelism);
    Ok(vec![json!({
        "name": "main",
        "count": parallelism.min(completions),
        "template": template,
        "topologyRequest": { "podIndexLabel": "batch.kubernetes.io/job-completion-index" },
    })])
}

/// Pods that are not needed any more.
pub(super) fn reclaimable(job: &Object) -> Vec<Value> {
    let parallelism = number(job, "/spec/parallelism").unwrap_or(1);
    let succeeded = number(job, "/status/succeeded").unwrap_or_default();
    let remaining = number(job, "/spec/completions").unwrap_or(parallelism) - succeeded;
    if parallelism == 1 || succeeded == 0 || remaining >= parallelism {
        return Vec::new();
    }
    vec![json!({"name": "main", "count": parallelism - remaining})]
}

/// Kueue `RunWithPodSetsInfo`: one write.
pub(super) fn start(job: &Object, infos: &[PodSetInfo]) -> Result<Plan, Failed> {
    let [info] = infos else {
        let why = format!("invalid podset infos: expecting {} podset, got 1", infos.len());
        return Err(Failed::Permanently(why));
    };
    let mut started = job.clone();
    started["spec"]["suspend"] = false.into();
    info.merge_into(&mut started["spec"]["template"])?;
    Ok(Plan::one(merge_patch::strict(JOB, job, &started), SOURCE))
}

/// Kueue `Stop`: suspended and marked; the start time taken back, without which its template could
/// not be changed; and its template as it was.
pub(super) fn stop(job: &Object, infos: &[PodSetInfo]) -> Stop {
    let mut plan = Plan::nothing();
    let mut at = job.clone();
    if !super::Integration::Job.is_suspended(job) {
        let mut suspended = at.clone();
        suspended["spec"]["suspend"] = true.into();
        suspended["metadata"]["annotations"][STOPPING] = "true".into();
        plan = plan.and(merge_patch::strict(JOB, &at, &suspended), SOURCE);
        at = suspended;
    }
    if at.pointer("/status/startTime").is_some_and(|it| !it.is_null()) {
        let mut reset = at.clone();
        reset["status"].as_object_mut().map(|it| it.remove("startTime"));
        plan = plan.then(merge_patch::strict(JOB, &at, &reset).on("status"), SOURCE);
        at = reset;
    }
    let mut restored = at.clone();
    if let Some(info) = infos.first() {
        let mut info = info.clone();
        info.labels.extend(managed_labels(job));
        info.put_into(&mut restored["spec"]["template"]);
    }
    let annotations = restored.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
    if let Some(annotations) = annotations {
        annotations.remove(STOPPING);
    }
    Stop { plan: plan.then(merge_patch::strict(JOB, &at, &restored), SOURCE), done: true }
}

fn managed_labels(job: &Object) -> Map<String, Value> {
    let labels = job.pointer("/spec/template/metadata/labels").and_then(Value::as_object);
    let managed = labels.into_iter().flatten();
    managed
        .filter(|(key, _)| MANAGED_LABELS.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Verb;

    fn job(suspended: bool) -> Object {
        json!({
            "metadata": {"name": "j", "namespace": "n", "resourceVersion": "3"},
            "spec": {"suspend": suspended, "parallelism": 2, "completions": 3, "template": {
                "metadata": {"labels": {
                    "a": "b", "controller-uid": "u", "batch.kubernetes.io/job-name": "j",
                }},
                "spec": {"containers": [{"name": "c"}]},
            }},
            "status": {"startTime": "t"},
        })
    }

    fn patches(plan: &Plan) -> Vec<Value> {
        let body = |it: &crate::component::Planned| match &it.request.verb {
            Verb::MergePatch(body, _) => body.clone(),
            other => panic!("{other:?}"),
        };
        plan.requests.iter().map(body).collect()
    }

    #[test]
    fn the_pod_set_is_without_the_labels_of_the_job_controller() {
        let pod_sets = pod_sets(&job(true)).unwrap();
        assert_eq!(pod_sets[0]["count"], 2);
        let labels = json!({"a": "b", "batch.kubernetes.io/job-name": "j"});
        assert_eq!(pod_sets[0]["template"]["metadata"]["labels"], labels);
    }

    #[test]
    fn a_start_is_one_write_and_a_stop_is_three() {
        let mut info = PodSetInfo::default();
        info.node_selector.insert("node".to_owned(), "x".into());
        let started = start(&job(true), std::slice::from_ref(&info)).unwrap();
        assert_eq!(
            patches(&started),
            [json!({
                "metadata": {"resourceVersion": "3"},
                "spec": {"suspend": false, "template": {"spec": {"nodeSelector": {"node": "x"}}}},
            })]
        );
        let mut running = job(false);
        info.merge_into(&mut running["spec"]["template"]).unwrap();
        let before = PodSetInfo::of_template(&pod_sets(&job(true)).unwrap()[0]["template"]);
        let stopped = patches(&stop(&running, &[before]).plan);
        assert_eq!(stopped.len(), 3);
        assert_eq!(stopped[0]["spec"]["suspend"], true);
        assert_eq!(stopped[1]["status"], json!({"startTime": null}));
        assert_eq!(stopped[2]["spec"], json!({"template": {"spec": {"nodeSelector": null}}}));
        assert_eq!(stopped[2]["metadata"]["annotations"], json!({STOPPING: null}));
    }
}
