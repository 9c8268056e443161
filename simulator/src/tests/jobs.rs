//! Trainer, `JobSet` and Kubernetes' controllers at work on an API server, from a `TrainJob` to its
//! pods and back. The kubelet is played by hand.

use std::sync::Arc;
use std::time::Duration;

use crate::api::{Delete, List, Propagation, Request, Server, Settings, Verb, Webhook};
use crate::component::{Component, Controller, Running, Timing, Transport, run};
use crate::object::{condition, is, is_terminating, is_true, items, name, text};
use crate::resource::{
    JOB, JOB_SET, NAMESPACE, NODE, POD, Resource, SERVICE, SERVICE_ACCOUNT, TRAIN_JOB,
    TRAINING_RUNTIME,
};
use crate::{jobset, kubernetes, trainer};
use rstest::rstest;
use serde_json::{Value, json};
use tokio::time::{Instant, advance};

/// A cluster with everything but Kueue, a node, and a runtime.
struct Cluster {
    client: Transport,
    components: Vec<(Component, Running)>,
}

fn webhooks() -> Vec<Box<dyn Webhook>> {
    let mut all = kubernetes::rules();
    all.extend(trainer::webhooks());
    all.extend(jobset::webhooks());
    all
}

fn controllers() -> Vec<(Component, Vec<Box<dyn Controller>>)> {
    vec![
        (Component::Trainer, trainer::controllers()),
        (Component::JobSet, jobset::controllers()),
        (Component::KubeControllerManager, kubernetes::controllers()),
        (Component::KubeScheduler, kubernetes::scheduler()),
    ]
}

impl Cluster {
    async fn new(seed: u64) -> Self {
        let began = Instant::now();
        let start: jiff::Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let now = Arc::new(move || start + began.elapsed());
        let server = Server::new(Settings { seed, now: now.clone(), webhooks: webhooks() });
        let components = controllers().into_iter().map(|(component, controllers)| {
            let transport = server.transport(component);
            let timing = Timing::of_seed(seed);
            (component, run(component, controllers, &transport, timing, now.clone()))
        });
        let components = components.collect();
        let client = server.transport(Component::Kueue);
        let cluster = Self { client, components };
        cluster.make(NAMESPACE, json!({"metadata": {"name": "n"}})).await;
        let node = json!({
            "metadata": {"name": "node"},
            "status": {"allocatable": {"cpu": "8", "pods": "100"}},
        });
        cluster.make(NODE, node).await;
        cluster.make(TRAINING_RUNTIME, runtime()).await;
        cluster
    }

    async fn make(&self, resource: &'static Resource, mut object: Value) -> Value {
        object["apiVersion"] = resource.api_version().into();
        object["kind"] = resource.kind.into();
        self.client.request(&Request::create(resource, object, "test")).await.unwrap()
    }

    async fn get(&self, resource: &'static Resource, named: &str) -> Option<Value> {
        self.client.request(&Request::get(resource, "n", named)).await.ok()
    }

    async fn all(&self, resource: &'static Resource) -> Vec<Value> {
        let mut request = Request::get(resource, "n", "");
        request.name = None;
        request.verb = Verb::List(List::default());
        items(&self.client.request(&request).await.unwrap(), "/items").to_vec()
    }

    async fn patch(&self, resource: &'static Resource, named: &str, patch: Value) {
        let request = Request::merge_patch(resource, "n", named, patch, "test");
        self.client.request(&request).await.unwrap();
    }

    async fn delete(&self, resource: &'static Resource, named: &str, how: Propagation) {
        let mut request = Request::get(resource, "n", named);
        request.verb = Verb::Delete(Delete { propagation: Some(how), ..Delete::default() });
        self.client.request(&request).await.unwrap();
    }

    /// What a kubelet does with a pod that is bound: it runs, or ends; one that was deleted goes.
    async fn kubelet(&self, pod: &Value, phase: &str) {
        let ready = if phase == "Running" { "True" } else { "False" };
        let status = json!({"status": {"phase": phase, "conditions": [
            {"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": ready},
        ]}});
        let request = Request::merge_patch(POD, "n", name(pod), status, "kubelet").on("status");
        self.client.request(&request).await.unwrap();
        if is_terminating(pod) && phase != "Running" {
            let mut request = Request::get(POD, "n", name(pod));
            let now = Delete { grace_period_seconds: Some(0), ..Delete::default() };
            request.verb = Verb::Delete(now);
            self.client.request(&request).await.unwrap();
        }
    }

    async fn every_pod(&self, phase: &str) {
        for pod in self.all(POD).await {
            if !matches!(text(&pod, "/status/phase"), "Succeeded" | "Failed") {
                self.kubelet(&pod, phase).await;
            }
        }
    }

    /// Waits until there are so many pods that are bound and not going, and runs them.
    async fn running(&self, count: usize) -> Vec<Value> {
        let pods = self.until("pods that are bound", async || {
            let pods = self.all(POD).await;
            let ended = |it: &Value| matches!(text(it, "/status/phase"), "Succeeded" | "Failed");
            let live = pods.into_iter().filter(|it| !is_terminating(it) && !ended(it));
            let bound: Vec<Value> =
                live.filter(|it| text(it, "/spec/nodeName") == "node").collect();
            (bound.len() == count).then_some(bound)
        });
        let pods = pods.await;
        for pod in &pods {
            self.kubelet(pod, "Running").await;
        }
        pods
    }

    /// Lets time pass until something is there.
    async fn until<T>(&self, what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
        for _ in 0..3000 {
            if let Some(found) = look().await {
                return found;
            }
            pass(Duration::from_millis(10)).await;
        }
        for resource in [TRAIN_JOB, JOB_SET, JOB, POD] {
            for object in self.all(resource).await {
                println!("{} {}\n{}", resource.kind, name(&object), object["metadata"]);
                println!("{}\n{}", object["spec"], object["status"]);
            }
        }
        panic!("{what} did not come");
    }

    async fn train_job(&self) -> Value {
        self.get(TRAIN_JOB, "a").await.unwrap()
    }

    async fn until_train_job(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        self.until(what, async || Some(self.train_job().await).filter(|it| holds(it))).await
    }

    fn freeze(&self, component: Component, frozen: bool) {
        for (of, running) in &self.components {
            if *of == component {
                running.freeze(frozen);
            }
        }
    }
}

async fn pass(duration: Duration) {
    advance(duration).await;
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

fn runtime() -> Value {
    json!({
        "metadata": {"name": "r", "namespace": "n"},
        "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [{
            "name": "node",
            "template": {
                "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                "spec": {"backoffLimit": 0, "podReplacementPolicy": "Failed", "template": {"spec": {
                    "containers": [{"name": "node", "image": "pause:3.10"}],
                    "restartPolicy": "Never",
                }}},
            },
        }]}}},
    })
}

fn patches(admission: &str) -> Value {
    json!([{"manager": "x.y/z", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [
        {"name": "node", "template": {"spec": {"template": {"metadata": {
            "annotations": {"admission": admission}}}}}},
    ]}}}}])
}

fn new_train_job(suspend: bool) -> Value {
    json!({
        "metadata": {"name": "a", "namespace": "n"},
        "spec": {
            "suspend": suspend, "runtimePatches": patches("1"),
            "runtimeRef": {"kind": "TrainingRuntime", "name": "r"},
            "trainer": {"numNodes": 2, "resourcesPerNode": {"requests": {"cpu": "1000m"}}},
        },
    })
}

fn admission(pod: &Value) -> &str {
    text(pod, "/metadata/annotations/admission")
}

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
    cluster.running(2).await;
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
    let again = cluster.running(2).await;
    assert!(again.iter().all(|it| admission(it) == "1"));
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
    assert!(cluster.get(SERVICE_ACCOUNT, "default").await.is_some());
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
