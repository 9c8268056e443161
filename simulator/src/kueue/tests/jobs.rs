//! Batch jobs, from their gate to their end.

use rstest::rstest;

use super::*;

#[rstest]
#[tokio::test(start_paused = true)]
async fn a_gated_job_waits_for_its_gate_and_then_for_its_check(#[values(1, 2, 3)] seed: u64) {
    let cluster = Cluster::new(seed).await;
    cluster.submit("train", "low", true).await;
    assert!(is(&cluster.job("train").await, "/spec/suspend"));
    let told = |it: &Value| !items(it, "/status/admissionChecks").is_empty();
    let gated = cluster.workload("train", told).await;
    let reserved = condition(&gated, "QuotaReserved").unwrap();
    assert_eq!(reserved["reason"], "AdmissionGated");
    assert_eq!(reserved["message"], "Admission is gated by: a.b/gate");
    let first = &cluster.versions_of("train")[0];
    assert_eq!(crate::object::annotation(first, GATE), Some("a.b/gate"), "it was born with it");
    cluster.settled().await;
    assert!(!has_quota_reservation(&cluster.workload("train", |_| true).await));
    cluster.patch(JOB, "train", json!({"metadata": {"annotations": { GATE: null }}})).await;
    cluster.workload("train", waits_at_check).await;
    cluster.settled().await;
    assert!(is(&cluster.job("train").await, "/spec/suspend"));
    cluster.ready("train").await;
    let job = cluster.until(JOB, "train", |it| !is(it, "/spec/suspend")).await;
    let pod = &job["spec"]["template"];
    assert_eq!(pod["spec"]["nodeSelector"], json!({"node": "virtual"}));
    assert_eq!(pod["metadata"]["labels"]["kueue.x-k8s.io/cluster-queue-name"], "cq");
    let generation = cluster.workload("train", is_admitted).await;
    assert_eq!(crate::object::annotation(&generation, GATE), None);
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn a_preempted_job_passes_through_the_window_of_its_eviction(#[values(1, 2, 3)] seed: u64) {
    let cluster = Cluster::new(seed).await;
    cluster.running("train", "low").await;
    cluster.submit("urgent", "high", false).await;
    let window = cluster.workload("train", is_evicted).await;
    assert!(has_quota_reservation(&window) && is_admitted(&window), "{window:#}");
    let check = &window["status"]["admissionChecks"][0];
    assert_eq!(check["state"], "Pending");
    assert_eq!(check["message"], "Reset to Pending after eviction. Previously: Ready");
    let why = text(condition(&window, "Preempted").unwrap(), "/message");
    assert!(why.contains("preemptor path: /co/cq; preemptee path: /co/cq"), "{why}");
    cluster.until(JOB, "train", |it| is(it, "/spec/suspend")).await;
    cluster.settled().await;
    assert!(has_quota_reservation(&cluster.workload("train", |_| true).await), "a pod is active");
    let waits = cluster.workload("urgent", |_| true).await;
    let why = text(condition(&waits, "QuotaReserved").unwrap(), "/message");
    assert!(why.ends_with("4 more needed. Pending the preemption of 1 workload(s)"), "{why}");
    cluster.pods("train", 0).await;
    let released = cluster.workload("train", |it| !has_quota_reservation(it)).await;
    assert_eq!(released["status"].get("admission"), None);
    assert!(is_true(&released, "Requeued"));
    cluster.workload("urgent", waits_at_check).await;
    let job = cluster.job("train").await;
    assert_eq!(job.pointer("/spec/template/spec/nodeSelector"), None, "its pods are as before");
    cluster.ready("urgent").await;
    cluster.until(JOB, "urgent", |it| !is(it, "/spec/suspend")).await;
    cluster.end("urgent").await;
    cluster.workload("urgent", is_finished).await;
    let again = cluster.workload("train", waits_at_check).await;
    assert!(!is_evicted(&again));
    assert!(text(condition(&again, "Evicted").unwrap(), "/message").starts_with("Previously: "));
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn a_held_job_gives_its_quota_back_and_waits_until_it_is_released(#[values(1, 2)] seed: u64) {
    let cluster = Cluster::new(seed).await;
    cluster.running("train", "low").await;
    let workload = cluster.workload("train", is_admitted).await;
    let hold = |active: bool| json!({"spec": {"active": active}});
    cluster.patch(WORKLOAD, name(&workload), hold(false)).await;
    let window = cluster.workload("train", is_evicted).await;
    assert!(has_quota_reservation(&window) && is_admitted(&window));
    cluster.pods("train", 0).await;
    let released = cluster.workload("train", |it| !has_quota_reservation(it)).await;
    assert_eq!(condition(&released, "Evicted").unwrap()["reason"], "Deactivated");
    assert_eq!(condition(&released, "Requeued").unwrap()["status"], "False");
    cluster.settled().await;
    assert!(!has_quota_reservation(&cluster.workload("train", |_| true).await));
    cluster.patch(WORKLOAD, name(&workload), hold(true)).await;
    cluster.workload("train", waits_at_check).await;
    assert!(is_true(&cluster.workload("train", |_| true).await, "Requeued"));
}

#[tokio::test(start_paused = true)]
async fn a_ready_that_was_banked_admits_with_the_quota() {
    let cluster = Cluster::new(1).await;
    cluster.submit("train", "low", true).await;
    cluster.workload("train", |it| !items(it, "/status/admissionChecks").is_empty()).await;
    cluster.ready("train").await;
    cluster.patch(JOB, "train", json!({"metadata": {"annotations": { GATE: null }}})).await;
    cluster.workload("train", is_admitted).await;
    let versions = cluster.versions_of("train");
    assert!(versions.iter().all(|it| has_quota_reservation(it) == is_admitted(it)));
}

#[tokio::test(start_paused = true)]
async fn what_is_in_use_goes_after_what_uses_it() {
    let cluster = Cluster::new(1).await;
    cluster.running("train", "low").await;
    let delete = async |resource: &'static Resource, called: &str| {
        let object = cluster.get(resource, called).await.unwrap();
        cluster.client.request(&Request::delete(resource, &object, None)).await.unwrap();
    };
    delete(ADMISSION_CHECK, "c").await;
    delete(RESOURCE_FLAVOR, "f").await;
    delete(CLUSTER_QUEUE, "cq").await;
    cluster.settled().await;
    for (resource, called) in
        [(ADMISSION_CHECK, "c"), (RESOURCE_FLAVOR, "f"), (CLUSTER_QUEUE, "cq")]
    {
        assert!(cluster.get(resource, called).await.is_some(), "{called} is in use");
    }
    let workload = cluster.workload("train", is_admitted).await;
    delete(JOB, "train").await;
    cluster
        .until(WORKLOAD, name(&workload), |it| items(it, "/metadata/finalizers").is_empty())
        .await;
    delete(WORKLOAD, name(&workload)).await;
    cluster.settled().await;
    for (resource, called) in
        [(ADMISSION_CHECK, "c"), (RESOURCE_FLAVOR, "f"), (CLUSTER_QUEUE, "cq")]
    {
        assert!(cluster.get(resource, called).await.is_none(), "{called} is free");
    }
}

#[tokio::test(start_paused = true)]
async fn while_kueue_does_not_run_its_kinds_cannot_be_written() {
    let cluster = Cluster::new(1).await;
    cluster.server.set_running(Component::Kueue, false);
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "n"},
        "spec": {"parallelism": 1, "template": {"spec": {"restartPolicy": "Never", "containers": [
            {"name": "c", "image": "i"},
        ]}}},
    });
    let refused = cluster.client.request(&Request::create(JOB, job, "tests")).await.unwrap_err();
    assert!(refused.message.contains("failed calling webhook"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_status_that_is_applied_from_an_old_copy_does_not_bring_the_gate_back() {
    let cluster = Cluster::new(1).await;
    cluster.submit("train", "low", false).await;
    let workload = cluster.workload("train", waits_at_check).await;
    cluster
        .apply(
            WORKLOAD,
            json!({
                "metadata": {
                    "name": name(&workload), "namespace": "n", "annotations": { GATE: "a.b/gate" },
                },
                "status": {},
            }),
        )
        .await;
    let workload = cluster.get(WORKLOAD, name(&workload)).await.unwrap();
    assert_eq!(crate::object::annotation(&workload, GATE), None);
}
