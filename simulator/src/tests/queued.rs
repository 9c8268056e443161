//! All components together, with a queue and a check that is played by hand.

use std::time::Duration;

use serde_json::{Value, json};

use super::cluster::{Cluster, admission as admission_of, new_train_job, pass, patches, runtime};
use crate::api::Request;
use crate::object::{is, is_terminating, is_true, items, name, text};
use crate::resource::{
    ADMISSION_CHECK, CLUSTER_QUEUE, EVENT, JOB, JOB_SET, LOCAL_QUEUE, POD, RESOURCE_FLAVOR,
    TRAIN_JOB, TRAINING_RUNTIME, WORKLOAD,
};

/// A cluster with a queue of 2 CPUs.
async fn queued(seed: u64) -> Cluster {
    let cluster = Cluster::new(seed).await;
    let flavor = json!({"metadata": {"name": "f"}, "spec": {"nodeLabels": {"virtual": "yes"}}});
    cluster.make(RESOURCE_FLAVOR, flavor).await;
    let check = json!({"metadata": {"name": "c"}, "spec": {"controllerName": "a.b/c"}});
    cluster.make(ADMISSION_CHECK, check).await;
    let active = json!({"status": {"conditions": [{
        "type": "Active", "status": "True", "reason": "Active", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]}});
    let request = Request::merge_patch(ADMISSION_CHECK, "", "c", active, "test").on("status");
    cluster.client.request(&request).await.unwrap();
    let queue = json!({"metadata": {"name": "cq"}, "spec": {
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [
            {"name": "f", "resources": [{"name": "cpu", "nominalQuota": "2"}]},
        ]}],
        "admissionChecksStrategy": {"admissionChecks": [{"name": "c"}]},
    }});
    cluster.make(CLUSTER_QUEUE, queue).await;
    let queue =
        json!({"metadata": {"name": "q", "namespace": "n"}, "spec": {"clusterQueue": "cq"}});
    cluster.make(LOCAL_QUEUE, queue).await;
    let mut job = new_train_job(true);
    job["metadata"]["labels"] = json!({"kueue.x-k8s.io/queue-name": "q"});
    cluster.make(TRAIN_JOB, job).await;
    cluster
}

/// Waits until the check waits for an answer, and says yes.
async fn admit(cluster: &Cluster) {
    let waits = |it: &Value| {
        is_true(it, "QuotaReserved")
            && !is_true(it, "Evicted")
            && text(it, "/status/admissionChecks/0/state") == "Pending"
    };
    let workload = cluster.until_any(WORKLOAD, waits).await;
    let mut ready = workload["status"]["admissionChecks"].clone();
    ready[0]["state"] = "Ready".into();
    let patch = json!({"status": {"admissionChecks": ready}});
    let request = Request::merge_patch(WORKLOAD, "n", name(&workload), patch, "test");
    cluster.client.request(&request.on("status")).await.unwrap();
}

/// Admits it, and waits until its pods run with this annotation.
async fn start(cluster: &Cluster, admission: &str) {
    admit(cluster).await;
    let pods = cluster.running(2).await;
    assert!(pods.iter().all(|it| admission_of(it) == admission));
    let active = |it: &Value| it["status"]["jobsStatus"][0]["active"] == 1;
    cluster.until_train_job("an active job", active).await;
}

#[tokio::test(start_paused = true)]
async fn an_evicted_train_job_starts_again_when_it_is_admitted_again() {
    let cluster = queued(1).await;
    start(&cluster, "1").await;
    let pod = &cluster.all(POD).await[0];
    assert_eq!(text(pod, "/metadata/labels/kueue.x-k8s.io~1podset"), "node");
    assert_eq!(text(pod, "/spec/nodeSelector/virtual"), "yes");
    assert_eq!(text(pod, "/metadata/labels/jobset.sigs.k8s.io~1priority"), "0");

    let workload = name(&cluster.all(WORKLOAD).await[0]).to_owned();
    cluster.patch(WORKLOAD, &workload, json!({"spec": {"active": false}})).await;
    cluster.until_any(WORKLOAD, |it| !is_true(it, "QuotaReserved")).await;
    let job = cluster.until_any(TRAIN_JOB, |it| is(it, "/spec/suspend")).await;
    assert_eq!(job["status"]["jobsStatus"][0]["active"], 0);
    assert!(cluster.all(POD).await.iter().all(is_terminating));

    cluster.until_any(JOB_SET, |it| is(it, "/spec/suspend")).await;
    let mut raised = patches("2");
    let kept = items(&job, "/spec/runtimePatches").iter();
    let kept = kept.filter(|it| it["manager"] == "kueue.x-k8s.io/manager").cloned();
    raised.as_array_mut().unwrap().extend(kept);
    cluster.patch(TRAIN_JOB, "a", json!({"spec": {"runtimePatches": raised}})).await;
    cluster.patch(WORKLOAD, &workload, json!({"spec": {"active": true}})).await;
    admit(&cluster).await;
    cluster.until_any(JOB, |it| !is(it, "/spec/suspend")).await;
    pass(Duration::from_secs(5)).await;
    assert!(cluster.all(POD).await.iter().all(is_terminating), "the old ones still run");
    cluster.every_pod("Failed").await;
    let pods = cluster.running(2).await;
    assert!(pods.iter().all(|it| admission_of(it) == "2"));
    cluster.every_pod("Succeeded").await;
    cluster.until_any(TRAIN_JOB, |it| is_true(it, "Complete")).await;
    cluster.until_any(WORKLOAD, |it| is_true(it, "Finished")).await;
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_is_edited_takes_a_running_job_off_the_books_and_its_pods_run_on() {
    let cluster = queued(2).await;
    start(&cluster, "1").await;
    let mut edited = runtime()["spec"].take();
    let pod = "/template/spec/replicatedJobs/0/template/spec/template/spec";
    edited.pointer_mut(pod).unwrap()["initContainers"] = json!([{"name": "first", "image": "i:1"}]);
    cluster.patch(TRAINING_RUNTIME, "r", json!({ "spec": edited })).await;
    // Kueue looks at the job when it changes.
    cluster.patch(TRAIN_JOB, "a", json!({"metadata": {"labels": {"touched": "yes"}}})).await;
    cluster.until_any(TRAIN_JOB, |it| is(it, "/spec/suspend") && is_true(it, "Suspended")).await;
    cluster
        .until_any(EVENT, |it| {
            text(it, "/reason") == "TrainJobResourcesCreationFailed"
                && text(it, "/message").contains("vjobset.kb.io")
        })
        .await;
    assert!(!is(&cluster.all(JOB_SET).await[0], "/spec/suspend"));
}

/// Everything that there is after a job that has run to its end.
async fn played(seed: u64) -> Vec<Value> {
    let cluster = queued(seed).await;
    start(&cluster, "1").await;
    cluster.every_pod("Succeeded").await;
    cluster.until_any(TRAIN_JOB, |it| is_true(it, "Complete")).await;
    let mut objects = Vec::new();
    for kind in [TRAIN_JOB, JOB_SET, JOB, POD, WORKLOAD, EVENT] {
        objects.extend(cluster.all(kind).await);
    }
    objects
}

#[test]
fn the_same_seed_gives_the_same_cluster() {
    // What runs when depends on what the runtime did before.
    let played = |seed| {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().start_paused(true).build().unwrap().block_on(played(seed))
    };
    let first = played(3);
    for (one, other) in first.iter().zip(&played(3)) {
        assert_eq!(one, other);
    }
    assert_ne!(first, played(4));
}
