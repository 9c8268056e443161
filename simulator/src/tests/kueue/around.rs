//! Ways around the gate and the check, and what is measured of them.

use rstest::rstest;

use super::*;
use crate::resource::TRAINING_RUNTIME;

#[rstest]
#[tokio::test(start_paused = true)]
async fn without_the_queue_of_its_train_job_a_job_set_gets_a_workload(#[values(1, 2)] seed: u64) {
    let cluster = cluster(seed).await;
    cluster.submit("train", "low").await;
    settle().await;
    let unlabelled = json!({"metadata": {"labels": {"kueue.x-k8s.io/queue-name": null}}});
    cluster.patch(TRAIN_JOB, "train", unlabelled).await;
    settle().await;
    let of_job_set = |it: &Value| it["metadata"]["ownerReferences"][0]["kind"] == "JobSet";
    assert!(!cluster.all(WORKLOAD).await.iter().any(of_job_set), "nobody looks at the JobSet");
    let touched = json!({"metadata": {"annotations": {"touched": "yes"}}});
    cluster.patch(JOB_SET, "train", touched).await;
    let second = cluster.until("a Workload of the JobSet", async || {
        let waits = |it: &Value| it["status"]["admissionChecks"][0]["state"] == "Pending";
        let ready = |it: &Value| of_job_set(it) && is_true(it, "QuotaReserved") && waits(it);
        cluster.all(WORKLOAD).await.into_iter().find(ready)
    });
    assert_eq!(annotation(&second.await, GATE), None, "no gate holds it");
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn a_workload_made_beforehand_starts_a_gated_job(#[values(102, 127)] seed: u64) {
    let cluster = cluster(seed).await;
    cluster.submit("train", "low").await;
    let own = cluster.workload("a Workload", "train", |_| true).await;
    let spec = json!({"podSets": own["spec"]["podSets"], "queueName": "q"});
    let like = json!({"metadata": {"name": "mine", "namespace": "n"}, "spec": spec});
    cluster.make(WORKLOAD, like).await;
    let mine = async |what, is_so: fn(&Value) -> bool| {
        cluster.until(what, async || cluster.get(WORKLOAD, "mine").await.filter(is_so)).await
    };
    let waits = |it: &Value| {
        is_true(it, "QuotaReserved") && it["status"]["admissionChecks"][0]["state"] == "Pending"
    };
    cluster.says(&mine("quota", waits).await, "Ready").await;
    let admitted = mine("the admission", |it| is_true(it, "Admitted")).await;
    let prebuilt =
        json!({"metadata": {"labels": {"kueue.x-k8s.io/prebuilt-workload-name": "mine"}}});
    cluster.patch(TRAIN_JOB, "train", prebuilt).await;
    let pod = cluster.runs("train", "0").await;
    let job = cluster.get(TRAIN_JOB, "train").await.unwrap();
    assert_eq!(annotation(&job, GATE), Some("a.b/gate"), "the gate is on it");
    let owned = mine("its owner", |it| crate::object::controller(it).is_some()).await;
    assert_eq!(crate::object::uid(&owned), crate::object::uid(&admitted));
    cluster.says(&owned, "Retry").await;
    cluster.until_terminating(&pod).await;
    mine("the release", |it| !is_true(it, "Admitted")).await;
    assert!(is(&cluster.get(TRAIN_JOB, "train").await.unwrap(), "/spec/suspend"));
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn without_its_check_a_job_is_started_beside_its_old_pod(#[values(1, 2)] seed: u64) {
    let cluster = cluster(seed).await;
    let mut runtime = cluster.get(TRAINING_RUNTIME, "r").await.unwrap();
    let job = &mut runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"];
    job.as_object_mut().unwrap().remove("podReplacementPolicy");
    let edit = Request::update(TRAINING_RUNTIME, runtime, "tests");
    cluster.client.request(&edit).await.unwrap();
    let first = cluster.first("train").await;
    let workload = cluster.workload("an admission", "train", |it| is_true(it, "Admitted")).await;
    cluster.says(&workload, "Retry").await;
    cluster.quota("train").await;
    cluster.until_terminating(&first).await;
    let off = json!({"spec": {"admissionChecksStrategy": null}});
    cluster.patch(CLUSTER_QUEUE, "cq", off).await;
    let second = cluster.runs("train", "1").await;
    assert_ne!(name(&second), name(&first));
    assert!(is_terminating(&cluster.get(POD, name(&first)).await.unwrap()), "both are there");
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn an_edited_runtime_leaves_a_pod_outside_the_quota(#[values(1, 2)] seed: u64) {
    let cluster = cluster(seed).await;
    let pod = cluster.first("train").await;
    let active = |it: &Value| it["status"]["jobsStatus"][0]["ready"] == 1;
    let seen = async || active(&cluster.get(TRAIN_JOB, "train").await?).then_some(());
    cluster.until("a pod that is ready", seen).await;
    let edit = async |image: &str| {
        let mut runtime = cluster.get(TRAINING_RUNTIME, "r").await.unwrap();
        let job = &mut runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"];
        job["spec"]["template"]["spec"]["containers"][0]["image"] = image.into();
        let edit = Request::update(TRAINING_RUNTIME, runtime, "tests");
        cluster.client.request(&edit).await.unwrap();
    };
    settle().await;
    edit("pause:3.9").await;
    let touched = json!({"metadata": {"annotations": {"team": "blue"}}});
    cluster.patch(TRAIN_JOB, "train", touched).await;
    let gone = async || cluster.all(WORKLOAD).await.is_empty().then_some(());
    cluster.until("the Workload's end", gone).await;
    assert!(is(&cluster.get(TRAIN_JOB, "train").await.unwrap(), "/spec/suspend"));
    assert!(cluster.get(POD, name(&pod)).await.is_some(), "its pod is there");
    edit("pause:3.10").await;
    let suspended =
        async || is(&cluster.get(JOB_SET, "train").await?, "/spec/suspend").then_some(());
    cluster.until("the JobSet's suspension", suspended).await;
    for pod in cluster.pods_of("train").await {
        cluster.until_terminating(&pod).await;
        cluster.let_go(&pod).await;
    }
    cluster.admit("train", "2").await;
    cluster.runs("train", "2").await;
}
