//! Trainer, `JobSet` and Kubernetes' controllers at work on an API server, from a `TrainJob` to its
//! pods and back.

use std::time::Duration;

use http::Method;
use rstest::rstest;
use serde_json::{Value, json};

use super::cluster::{Cluster, admission, new_train_job, pass, patches};
use crate::api::{Delete, Propagation, Request, Verb};
use crate::component::Component;
use crate::object::{condition, is, is_terminating, is_true, items, name, text, uid};
use crate::resource::{
    JOB, JOB_SET, NAMESPACE, POD, SERVICE, SERVICE_ACCOUNT, TRAIN_JOB, TRAINING_RUNTIME,
};

#[rstest]
#[case::all_succeed("Succeeded", "Complete")]
#[case::all_fail("Failed", "Failed")]
#[tokio::test(start_paused = true)]
async fn a_train_job_runs_to_its_end(#[case] phase: &str, #[case] ends: &str) {
    let cluster = Cluster::new(1).await;
    cluster.make(TRAIN_JOB, new_train_job(false)).await;
    let pods = cluster.running(2).await;
    assert!(pods.iter().all(|it| admission(it) == "1"));
    assert_eq!(text(&pods[0], "/spec/containers/0/resources/requests/cpu"), "1");
    let active = |it: &Value| it["status"]["jobsStatus"][0]["active"] == 1;
    cluster.until_train_job("an active job", active).await;
    cluster.every_pod(phase).await;
    let ended = cluster.until_train_job("the end", |it| is_true(it, ends)).await;
    assert!(condition(&ended, "Suspended").is_none());
    let job = cluster.get(JOB, "a-node-0").await.unwrap();
    assert!(is_true(&job, ends));
    assert_eq!(job["status"]["uncountedTerminatedPods"], json!({}));
    let made = cluster.get(JOB_SET, "a").await.unwrap();
    assert!(!text(&made, "/status/terminalState").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_suspended_train_job_has_a_suspended_job_and_no_pods() {
    let cluster = Cluster::new(2).await;
    cluster.make(TRAIN_JOB, new_train_job(true)).await;
    let suspended = |it: &Value| it["status"]["jobsStatus"][0]["suspended"] == 1;
    let job = cluster.until_train_job("a suspended job", suspended).await;
    assert!(is_true(&job, "Suspended"));
    assert!(cluster.get(SERVICE, "a").await.is_some());
    assert!(is(&cluster.get(JOB, "a-node-0").await.unwrap(), "/spec/suspend"));
    assert!(cluster.all(POD).await.is_empty());
    let kept = async || {
        let runtime = cluster.get(TRAINING_RUNTIME, "r").await?;
        (!items(&runtime, "/metadata/finalizers").is_empty()).then_some(())
    };
    cluster.until("the runtime's finalizer", kept).await;
}

#[tokio::test(start_paused = true)]
async fn a_resumed_train_job_runs_with_what_its_patches_say_then() {
    let cluster = Cluster::new(3).await;
    cluster.make(TRAIN_JOB, new_train_job(true)).await;
    cluster.until_train_job("suspension", |it| is_true(it, "Suspended")).await;
    cluster.patch(TRAIN_JOB, "a", json!({"spec": {"suspend": false}})).await;
    let first = cluster.running(2).await;
    cluster.until_train_job("active", |it| it["status"]["jobsStatus"][0]["active"] == 1).await;

    cluster.patch(TRAIN_JOB, "a", json!({"spec": {"suspend": true}})).await;
    let idle = |it: &Value| it["status"]["jobsStatus"][0]["active"] == 0;
    cluster.until_train_job("no active job", idle).await;
    let going = cluster.all(POD).await;
    assert_eq!(going.len(), 2, "they are Terminating, and not gone");
    assert!(going.iter().all(is_terminating));

    cluster.patch(TRAIN_JOB, "a", json!({"spec": {"runtimePatches": patches("2")}})).await;
    let raised = async || {
        let made = cluster.get(JOB_SET, "a").await?;
        let pointer =
            "/spec/replicatedJobs/0/template/spec/template/metadata/annotations/admission";
        (text(&made, pointer) == "2" && is(&made, "/spec/suspend")).then_some(())
    };
    cluster.until("the raise in the JobSet", raised).await;
    cluster.patch(TRAIN_JOB, "a", json!({"spec": {"suspend": false}})).await;
    pass(Duration::from_secs(5)).await;
    let old = cluster.all(POD).await;
    assert!(old.iter().all(is_terminating), "they are replaced only when they have ended");
    cluster.every_pod("Failed").await;
    let second = cluster.running(2).await;
    assert!(second.iter().all(|it| admission(it) == "2"));
    assert!(first.iter().all(|it| admission(it) == "1"));
    cluster.every_pod("Succeeded").await;
    let end = cluster.until_train_job("the end", |it| is_true(it, "Complete")).await;
    assert_eq!(condition(&end, "Suspended").unwrap()["reason"], "Resumed");
}

#[tokio::test(start_paused = true)]
async fn what_a_train_job_owns_goes_after_it_in_the_background() {
    let cluster = Cluster::new(4).await;
    cluster.make(TRAIN_JOB, new_train_job(false)).await;
    cluster.running(2).await;
    cluster.delete(TRAIN_JOB, "a", Propagation::Background).await;
    assert!(cluster.get(TRAIN_JOB, "a").await.is_none());
    cluster.until("the pods' end", async || gone(&cluster).await).await;
}

/// Ends the pods that were deleted, until nothing is left.
async fn gone(cluster: &Cluster) -> Option<()> {
    for pod in cluster.all(POD).await.iter().filter(|it| is_terminating(it)) {
        cluster.kubelet(pod, "Failed").await;
    }
    for resource in [TRAIN_JOB, JOB_SET, JOB, POD, SERVICE] {
        if !cluster.all(resource).await.is_empty() {
            return None;
        }
    }
    Some(())
}

#[tokio::test(start_paused = true)]
async fn a_train_job_that_goes_in_the_foreground_gets_a_new_job_set_again_and_again() {
    let cluster = Cluster::new(5).await;
    // Otherwise it is a matter of luck whether the object is there for long enough (measured).
    let mut kept = new_train_job(false);
    kept["metadata"]["finalizers"] = json!(["x.y/keep"]);
    cluster.make(TRAIN_JOB, kept).await;
    let pods = cluster.running(2).await;
    let first = cluster.get(JOB_SET, "a").await.unwrap();
    cluster.delete(TRAIN_JOB, "a", Propagation::Foreground).await;
    let made_anew = async || {
        for pod in cluster.all(POD).await.iter().filter(|it| is_terminating(it)) {
            cluster.kubelet(pod, "Failed").await;
        }
        let made = cluster.get(JOB_SET, "a").await?;
        (made["metadata"]["uid"] != first["metadata"]["uid"]).then_some(())
    };
    cluster.until("another JobSet", made_anew).await;
    assert!(is_terminating(&cluster.train_job().await));
    let another = |pod: &Value| admission(pod) == "1" && !pods.iter().any(|it| uid(it) == uid(pod));
    cluster.until_any(POD, another).await;
    cluster.delete(TRAIN_JOB, "a", Propagation::Background).await;
    cluster.patch(TRAIN_JOB, "a", json!({"metadata": {"finalizers": null}})).await;
    cluster.until("the end", async || gone(&cluster).await).await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_train_job_runs_again_without_its_job_set() {
    let cluster = Cluster::new(6).await;
    cluster.make(TRAIN_JOB, new_train_job(false)).await;
    cluster.running(2).await;
    cluster.every_pod("Failed").await;
    cluster.until_train_job("failure", |it| is_true(it, "Failed")).await;
    cluster.delete(JOB_SET, "a", Propagation::Background).await;
    cluster.running(2).await;
    assert!(!is_true(&cluster.train_job().await, "Failed"));
}

#[tokio::test(start_paused = true)]
async fn a_train_job_that_runs_out_of_time_loses_its_job_set() {
    let cluster = Cluster::new(7).await;
    let mut job = new_train_job(false);
    job["spec"]["activeDeadlineSeconds"] = 5.into();
    cluster.make(TRAIN_JOB, job).await;
    cluster.running(2).await;
    let failed = cluster.until_train_job("failure", |it| is_true(it, "Failed")).await;
    assert_eq!(condition(&failed, "Failed").unwrap()["reason"], "DeadlineExceeded");
    let end = async || {
        for pod in cluster.all(POD).await.iter().filter(|it| is_terminating(it)) {
            cluster.kubelet(pod, "Failed").await;
        }
        cluster.all(POD).await.is_empty().then_some(())
    };
    cluster.until("the pods' end", end).await;
    assert!(is_true(&cluster.train_job().await, "Failed"));
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_deleted_is_emptied_and_goes() {
    let cluster = Cluster::new(8).await;
    cluster.make(TRAIN_JOB, new_train_job(false)).await;
    cluster.running(2).await;
    cluster.until_any(SERVICE_ACCOUNT, |it| name(it) == "default").await;
    let mut request = Request::get(NAMESPACE, "", "n");
    request.verb = Verb::Delete(Delete::default());
    cluster.client.request(&request).await.unwrap();
    let end = async || {
        for pod in cluster.all(POD).await.iter().filter(|it| is_terminating(it)) {
            cluster.kubelet(pod, "Failed").await;
        }
        let there = cluster.client.request(&Request::get(NAMESPACE, "", "n")).await;
        there.is_err().then_some(())
    };
    cluster.until("the namespace's end", end).await;
}

#[tokio::test(start_paused = true)]
async fn suspension_waits_for_a_job_controller_that_stands_still() {
    let cluster = Cluster::new(9).await;
    cluster.make(TRAIN_JOB, new_train_job(false)).await;
    cluster.running(2).await;
    cluster.until_train_job("active", |it| it["status"]["jobsStatus"][0]["active"] == 1).await;
    cluster.freeze(Component::KubeControllerManager, true);
    cluster.patch(TRAIN_JOB, "a", json!({"spec": {"suspend": true}})).await;
    let suspended = async || {
        let job = cluster.get(JOB, "a-node-0").await?;
        is(&job, "/spec/suspend").then_some(())
    };
    cluster.until("a suspended Job", suspended).await;
    pass(Duration::from_secs(10)).await;
    assert!(!cluster.all(POD).await.iter().any(is_terminating));
    cluster.freeze(Component::KubeControllerManager, false);
    let idle = |it: &Value| it["status"]["jobsStatus"][0]["active"] == 0;
    cluster.until_train_job("no active job", idle).await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_was_held_back_lands_in_the_next_execution_with_the_old_annotation() {
    let cluster = Cluster::new(10).await;
    let (mut is_met, let_go) = cluster.held.hold(Method::POST, "/pods", 1);
    cluster.make(TRAIN_JOB, new_train_job(true)).await;
    cluster.until_train_job("suspension", |it| is_true(it, "Suspended")).await;
    cluster.patch(TRAIN_JOB, "a", json!({"spec": {"suspend": false}})).await;
    cluster.until("the held pod", async || is_met.try_recv().ok()).await;
    let first = cluster.running(1).await;
    cluster.kubelet(&first[0], "Succeeded").await;

    cluster.patch(TRAIN_JOB, "a", json!({"spec": {"suspend": true}})).await;
    let suspended = async || {
        let job = cluster.get(JOB, "a-node-0").await?;
        is(&job, "/spec/suspend").then_some(job)
    };
    let job = cluster.until("a suspended Job", suspended).await;
    // Its status is that of before the pods: it does not know of any.
    assert!(job["status"]["active"].is_null());
    assert!(is_true(&job, "Suspended"));
    cluster.patch(TRAIN_JOB, "a", json!({"spec": {"runtimePatches": patches("2")}})).await;
    pass(Duration::from_secs(1)).await;
    cluster.patch(TRAIN_JOB, "a", json!({"spec": {"suspend": false}})).await;
    let resumed = async || {
        let job = cluster.get(JOB, "a-node-0").await?;
        let template = "/spec/template/metadata/annotations/admission";
        (!is(&job, "/spec/suspend") && text(&job, template) == "2").then_some(())
    };
    cluster.until("a resumed Job", resumed).await;

    let_go.send(()).unwrap();
    let late = cluster.running(1).await;
    assert_eq!(admission(&late[0]), "1");
    let counted = async || {
        let job = cluster.get(JOB, "a-node-0").await?;
        (job["status"]["active"] == 1 && job["status"]["completedIndexes"] == "0").then_some(())
    };
    cluster.until("the late pod among the active ones", counted).await;
}

#[tokio::test(start_paused = true)]
async fn an_apply_that_was_held_back_wins_over_a_later_raise() {
    let cluster = Cluster::new(11).await;
    cluster.make(TRAIN_JOB, new_train_job(true)).await;
    let suspended = |it: &Value| it["status"]["jobsStatus"][0]["suspended"] == 1;
    cluster.until_train_job("a suspended job", suspended).await;
    let (mut is_met, let_go) = cluster.held.hold(Method::PATCH, "/jobsets/a", 0);
    cluster.patch(TRAIN_JOB, "a", json!({"spec": {"suspend": false}})).await;
    cluster.until("the held apply", async || is_met.try_recv().ok()).await;
    for patch in [json!({"suspend": true}), json!({"runtimePatches": patches("2")})] {
        cluster.patch(TRAIN_JOB, "a", json!({ "spec": patch })).await;
    }
    pass(Duration::from_secs(1)).await;
    assert!(is(&cluster.get(JOB_SET, "a").await.unwrap(), "/spec/suspend"));
    cluster.patch(TRAIN_JOB, "a", json!({"spec": {"suspend": false}})).await;
    let_go.send(()).unwrap();
    let pods = cluster.running(2).await;
    assert!(pods.iter().all(|it| admission(it) == "1"));
    pass(Duration::from_secs(5)).await;
    let made = cluster.get(JOB_SET, "a").await.unwrap();
    let pointer = "/spec/replicatedJobs/0/template/spec/template/metadata/annotations/admission";
    assert_eq!(text(&made, pointer), "1", "both run, so it is not corrected");
}
