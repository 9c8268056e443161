//! From a gate to the end.

use rstest::rstest;

use super::*;
use crate::api::Propagation;
use crate::object::condition;

#[rstest]
#[tokio::test(start_paused = true)]
async fn a_job_waits_at_its_gate_and_at_its_check(#[values(1, 2)] seed: u64) {
    let cluster = cluster(seed).await;
    cluster.submit("train", "low").await;
    let gated = |it: &Value| {
        condition(it, "QuotaReserved").is_some_and(|it| it["reason"] == "AdmissionGated")
            && it["status"]["admissionChecks"][0]["state"] == "Pending"
    };
    cluster.workload("a gated Workload", "train", gated).await;
    settle().await;
    cluster.open("train").await;
    cluster.quota("train").await;
    settle().await;
    assert!(cluster.pods_of("train").await.is_empty());
    cluster.admit("train", "1").await;
    let pod = cluster.runs("train", "1").await;
    assert_eq!(pod["spec"]["nodeSelector"], json!({"virtual": "yes"}));
    assert_eq!(label(&pod, "kueue.x-k8s.io/cluster-queue-name"), Some("cq"));
    cluster.kubelet(&pod, "Succeeded").await;
    cluster.until_complete("train").await;
    cluster.workload("its end", "train", |it| is_true(it, "Finished")).await;
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn a_preempted_job_gets_quota_again_while_its_old_pod_is_still_there(
    #[values(1, 2, 3, 4)] seed: u64,
) {
    let cluster = cluster(seed).await;
    let first = cluster.first("train").await;
    cluster.submit("urgent", "high").await;
    cluster.open("urgent").await;
    let released = |it: &Value| is_true(it, "Evicted") && !is_true(it, "QuotaReserved");
    cluster.workload("the release", "train", released).await;
    let old = cluster.get(POD, name(&first)).await.unwrap();
    assert!(is_terminating(&old), "quota is free, and the pod is there");
    cluster.admit("urgent", "1").await;
    let other = cluster.runs("urgent", "1").await;
    cluster.kubelet(&other, "Succeeded").await;
    cluster.until_complete("urgent").await;
    cluster.admit("train", "2").await;
    cluster.workload("the admission", "train", |it| is_true(it, "Admitted")).await;
    assert!(cluster.get(POD, name(&first)).await.is_some(), "it is still there");
    cluster.let_go(&first).await;
    let second = cluster.runs("train", "2").await;
    cluster.kubelet(&second, "Succeeded").await;
    cluster.until_complete("train").await;
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn a_deleted_job_takes_everything_with_it(#[values(1, 2)] seed: u64) {
    let cluster = cluster(seed).await;
    let pod = cluster.first("train").await;
    cluster.delete(TRAIN_JOB, "train", Propagation::Background).await;
    cluster.until_terminating(&pod).await;
    cluster.let_go(&pod).await;
    let nothing = async || {
        for resource in [TRAIN_JOB, WORKLOAD, JOB_SET, POD] {
            if !cluster.all(resource).await.is_empty() {
                return None;
            }
        }
        let queue = cluster.get(CLUSTER_QUEUE, "cq").await?;
        (queue["status"]["reservingWorkloads"] == 0).then_some(())
    };
    cluster.until("nothing", nothing).await;
}
