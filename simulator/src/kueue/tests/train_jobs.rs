//! TrainJobs. Trainer, too, is played by hand.

use super::*;
use crate::kueue::names::PATCH_MANAGER;
use crate::resource::{TRAIN_JOB, TRAINING_RUNTIME};

impl Cluster {
    async fn runtime(&self) {
        self.make(TRAINING_RUNTIME, json!({
            "metadata": {"name": "r", "namespace": "n"},
            "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [{
                "name": "node",
                "template": {
                    "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                    "spec": {"template": {"spec": {"containers": [{"name": "node", "image": "i"}]}}},
                },
            }]}}},
        })).await;
    }

    async fn train(&self, annotations: Value) {
        self.make(
            TRAIN_JOB,
            json!({
                "metadata": {
                    "name": "train",
                    "namespace": "n",
                    "labels": {"kueue.x-k8s.io/queue-name": "q"},
                    "annotations": annotations,
                },
                "spec": {
                    "runtimeRef": {
                        "apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": "r",
                    },
                    "trainer": {"resourcesPerNode": {"requests": {"cpu": "4"}}},
                },
            }),
        )
        .await;
    }

    async fn active(&self, count: i64) {
        let status = json!({"jobsStatus": [{"name": "node", "active": count}]});
        let patch = json!({ "status": status });
        let request = Request::merge_patch(TRAIN_JOB, "n", "train", patch, "tests").on("status");
        self.client.request(&request).await.unwrap();
    }

    async fn says(&self, job: &str, state: &str) {
        let workload = self.versions_of(job).pop().unwrap();
        self.apply(
            WORKLOAD,
            json!({
                "metadata": {"name": name(&workload), "namespace": "n"},
                "status": {"admissionChecks": [{
                    "name": "c", "state": state, "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }]},
            }),
        )
        .await;
    }
}

/// What Kueue's entry says of the pods of `node`.
fn kueues_pods(train_job: &Value) -> Option<&Value> {
    let mut patches = items(train_job, "/spec/runtimePatches").iter();
    let own = patches.find(|it| it["manager"] == PATCH_MANAGER)?;
    let jobs = own.pointer("/trainingRuntimeSpec/template/spec/replicatedJobs/0")?;
    jobs.pointer("/template/spec/template")
}

#[tokio::test(start_paused = true)]
async fn a_train_job_is_started_with_its_pods_patched_and_stopped_without() {
    let cluster = Cluster::new(1).await;
    cluster.runtime().await;
    cluster.train(json!({ GATE: "a.b/gate" })).await;
    let made = cluster.get(TRAIN_JOB, "train").await.unwrap();
    assert!(is(&made, "/spec/suspend") && kueues_pods(&made).is_none());
    cluster.workload("train", |it| condition(it, "QuotaReserved").is_some()).await;
    cluster.patch(TRAIN_JOB, "train", json!({"metadata": {"annotations": { GATE: null }}})).await;
    cluster.workload("train", waits_at_check).await;
    cluster.ready("train").await;
    let started = cluster.until(TRAIN_JOB, "train", |it| !is(it, "/spec/suspend")).await;
    assert_eq!(kueues_pods(&started).unwrap()["spec"]["nodeSelector"], json!({"node": "virtual"}));
    cluster.active(1).await;
    cluster.says("train", "Retry").await;
    cluster.workload("train", is_evicted).await;
    let stopped = cluster.until(TRAIN_JOB, "train", |it| is(it, "/spec/suspend")).await;
    assert!(kueues_pods(&stopped).is_some(), "a pod is active");
    cluster.settled().await;
    assert!(has_quota_reservation(&cluster.workload("train", |_| true).await));
    cluster.active(0).await;
    cluster.workload("train", waits_at_check).await;
    assert!(kueues_pods(&cluster.get(TRAIN_JOB, "train").await.unwrap()).is_none());
    assert_eq!(
        cluster.versions_of("train").last().unwrap()["status"]["admissionChecks"][0]["retryCount"],
        1
    );
}

#[tokio::test(start_paused = true)]
async fn a_rejected_one_is_deactivated_and_not_started() {
    let cluster = Cluster::new(1).await;
    cluster.runtime().await;
    cluster.train(json!({})).await;
    cluster.workload("train", waits_at_check).await;
    cluster.says("train", "Rejected").await;
    let held = cluster.workload("train", |it| !has_quota_reservation(it) && is_evicted(it)).await;
    assert_eq!(held["spec"]["active"], false);
    assert_eq!(condition(&held, "Evicted").unwrap()["reason"], "DeactivatedDueToAdmissionCheck");
    cluster.settled().await;
    assert!(is(&cluster.get(TRAIN_JOB, "train").await.unwrap(), "/spec/suspend"));
}

#[tokio::test(start_paused = true)]
async fn with_the_feature_off_the_gate_holds_nothing() {
    let mut cluster = Cluster::new(1).await;
    cluster.runtime().await;
    cluster.restart(Features { admission_gated_by: false });
    cluster.train(json!({ GATE: "a.b/gate" })).await;
    let leaked = cluster.workload("train", waits_at_check).await;
    assert_eq!(crate::object::annotation(&leaked, GATE), None);
    cluster.restart(Features { admission_gated_by: true });
    // Kueue tries to add the gate, and its own webhook refuses.
    cluster.ready("train").await;
    cluster.workload("train", is_admitted).await;
    cluster.settled().await;
    assert!(is(&cluster.get(TRAIN_JOB, "train").await.unwrap(), "/spec/suspend"));
}

#[tokio::test(start_paused = true)]
async fn an_edited_runtime_takes_a_running_job_off_kueues_books() {
    let cluster = Cluster::new(1).await;
    cluster.runtime().await;
    cluster.train(json!({})).await;
    let first = cluster.workload("train", waits_at_check).await;
    cluster.ready("train").await;
    cluster.until(TRAIN_JOB, "train", |it| !is(it, "/spec/suspend")).await;
    cluster.active(1).await;
    cluster.settled().await;
    let at = "/spec/template/spec/replicatedJobs/0/template/spec/template/spec/containers/0/image";
    let mut runtime = cluster.get(TRAINING_RUNTIME, "r").await.unwrap();
    *runtime.pointer_mut(at).unwrap() = "other".into();
    let edit = Request::update(TRAINING_RUNTIME, runtime, "tests");
    cluster.client.request(&edit).await.unwrap();
    cluster.settled().await;
    assert!(!is(&cluster.get(TRAIN_JOB, "train").await.unwrap(), "/spec/suspend"), "not looked at");
    cluster.patch(TRAIN_JOB, "train", json!({"metadata": {"annotations": {"team": "blue"}}})).await;
    cluster.until(TRAIN_JOB, "train", |it| is(it, "/spec/suspend")).await;
    cluster.settled().await;
    assert_eq!(cluster.get(WORKLOAD, name(&first)).await, None, "its quota is free");
    cluster.active(0).await;
    let second = cluster.until(WORKLOAD, name(&first), waits_at_check).await;
    assert_ne!(crate::object::uid(&second), crate::object::uid(&first));
}
