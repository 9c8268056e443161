//! A whole cluster, of which requests are held back. The kubelet is played by hand.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::{Instant, advance, sleep_until};

use crate::api::{Delete, List, Propagation, Request, User, Verb};
use crate::component::{Component, SendRequest, Transport};
use crate::object::{is_terminating, items, name, text};
use crate::resource::{JOB, JOB_SET, NAMESPACE, NODE, POD, Resource, TRAIN_JOB, TRAINING_RUNTIME};

/// A cluster with a node and a runtime.
pub(super) struct Cluster {
    pub(super) client: Transport,
    pub(super) held: Held,
    whole: crate::cluster::Cluster,
}

impl Cluster {
    pub(super) async fn new(seed: u64) -> Self {
        let began = Instant::now();
        let start: jiff::Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let now = Arc::new(move || start + began.elapsed());
        let (cluster, held) = (crate::cluster::Cluster::start(seed, now), Held::default());
        for component in [Component::Trainer, Component::JobSet, Component::KubeControllerManager] {
            let way = cluster.sender(User::Component(component));
            cluster.lead(component, held.in_front_of(way));
        }
        let client = Transport::new("administrator", cluster.sender(User::Administrator));
        let this = Self { client, held, whole: cluster };
        this.make(NAMESPACE, json!({"metadata": {"name": "n"}})).await;
        let node = json!({
            "metadata": {"name": "node", "labels": {"virtual": "yes"}},
            "status": {"allocatable": {"cpu": "8", "pods": "100"}},
        });
        this.make(NODE, node).await;
        this.make(TRAINING_RUNTIME, runtime()).await;
        this
    }

    pub(super) async fn make(&self, resource: &'static Resource, mut object: Value) -> Arc<Value> {
        object["apiVersion"] = resource.api_version().into();
        object["kind"] = resource.kind.into();
        self.client.request(&Request::create(resource, object, "test")).await.unwrap()
    }

    pub(super) async fn get(&self, resource: &'static Resource, named: &str) -> Option<Value> {
        let found = self.client.request(&Request::get(resource, "n", named)).await.ok()?;
        Some(Value::clone(&found))
    }

    pub(super) async fn all(&self, resource: &'static Resource) -> Vec<Value> {
        let mut request = Request::get(resource, "n", "");
        request.name = None;
        request.verb = Verb::List(List::default());
        items(&self.client.request(&request).await.unwrap(), "/items").to_vec()
    }

    pub(super) async fn patch(&self, resource: &'static Resource, named: &str, patch: Value) {
        let request = Request::merge_patch(resource, "n", named, patch, "test");
        self.client.request(&request).await.unwrap();
    }

    pub(super) async fn delete(&self, resource: &'static Resource, named: &str, how: Propagation) {
        let mut request = Request::get(resource, "n", named);
        request.verb = Verb::Delete(Delete { propagation: Some(how), ..Delete::default() });
        self.client.request(&request).await.unwrap();
    }

    /// What a kubelet does with a pod that is bound: it runs, or ends; one that was deleted goes.
    pub(super) async fn kubelet(&self, pod: &Value, phase: &str) {
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

    pub(super) async fn every_pod(&self, phase: &str) {
        for pod in self.all(POD).await {
            if !matches!(text(&pod, "/status/phase"), "Succeeded" | "Failed") {
                self.kubelet(&pod, phase).await;
            }
        }
    }

    /// Waits until there are so many pods that are bound and not going, and runs them.
    pub(super) async fn running(&self, count: usize) -> Vec<Value> {
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
    pub(super) async fn until<T>(&self, what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
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

    pub(super) async fn train_job(&self) -> Value {
        self.get(TRAIN_JOB, "a").await.unwrap()
    }

    pub(super) async fn until_train_job(
        &self,
        what: &str,
        holds: impl Fn(&Value) -> bool,
    ) -> Value {
        self.until(what, async || Some(self.train_job().await).filter(|it| holds(it))).await
    }

    /// Waits until an object of a kind is so.
    pub(super) async fn until_any(
        &self,
        resource: &'static Resource,
        is_so: impl Fn(&Value) -> bool,
    ) -> Value {
        self.until(resource.plural, async || self.all(resource).await.into_iter().find(&is_so))
            .await
    }

    pub(super) fn freeze(&self, component: Component, frozen: bool) {
        self.whole.freeze(component, frozen);
    }
}

/// Holds back requests of components.
#[derive(Clone, Default)]
pub(super) struct Held {
    hold: Arc<Mutex<Option<Hold>>>,
    slow: Arc<Mutex<Option<fastrand::Rng>>>,
}

/// The request to hold back.
struct Hold {
    method: Method,
    /// What its path ends in.
    path: &'static str,
    /// How many of its kind pass before.
    pass: usize,
    /// Told when it is held.
    met: Option<oneshot::Sender<()>>,
    /// Lets it go.
    go: Option<oneshot::Receiver<()>>,
}

impl Held {
    /// Holds back the one after `pass` requests; gives what tells that it is held, and what lets it
    /// go.
    pub(super) fn hold(
        &self,
        method: Method,
        path: &'static str,
        pass: usize,
    ) -> (oneshot::Receiver<()>, oneshot::Sender<()>) {
        let ((met, is_met), (let_go, go)) = (oneshot::channel(), oneshot::channel());
        let hold = Hold { method, path, pass, met: Some(met), go: Some(go) };
        *self.hold.lock().unwrap() = Some(hold);
        (is_met, let_go)
    }

    /// From now on every write takes up to half a second, by chance.
    pub(super) fn slow(&self, seed: u64) {
        *self.slow.lock().unwrap() = Some(fastrand::Rng::with_seed(seed));
    }

    fn delay(&self, request: &http::Request<Bytes>) -> Duration {
        let mut slow = self.slow.lock().unwrap();
        match slow.as_mut().filter(|_| *request.method() != Method::GET) {
            Some(random) => Duration::from_millis(random.u64(0..500)),
            None => Duration::ZERO,
        }
    }

    fn wait(&self, request: &http::Request<Bytes>) -> Option<oneshot::Receiver<()>> {
        let mut wanted = self.hold.lock().unwrap();
        let hold = wanted.as_mut()?;
        if *request.method() != hold.method || !request.uri().path().ends_with(hold.path) {
            return None;
        }
        if hold.pass > 0 {
            hold.pass -= 1;
            return None;
        }
        hold.met.take().map(|met| met.send(()));
        hold.go.take()
    }

    fn in_front_of(&self, way: Arc<SendRequest>) -> Arc<SendRequest> {
        let held = self.clone();
        Arc::new(move |request: http::Request<Bytes>| {
            let (way, wait) = (Arc::clone(&way), held.wait(&request));
            let until = Instant::now() + held.delay(&request);
            Box::pin(async move {
                sleep_until(until).await;
                if let Some(wait) = wait {
                    let _ = wait.await;
                }
                way(request).await
            })
        })
    }
}

pub(super) async fn pass(duration: Duration) {
    advance(duration).await;
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

pub(super) fn runtime() -> Value {
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

pub(super) fn patches(admission: &str) -> Value {
    json!([{"manager": "x.y/z", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [
        {"name": "node", "template": {"spec": {"template": {"metadata": {
            "annotations": {"admission": admission}}}}}},
    ]}}}}])
}

pub(super) fn new_train_job(suspend: bool) -> Value {
    json!({
        "metadata": {"name": "a", "namespace": "n"},
        "spec": {
            "suspend": suspend, "runtimePatches": patches("1"),
            "runtimeRef": {"kind": "TrainingRuntime", "name": "r"},
            "trainer": {"numNodes": 2, "resourcesPerNode": {"requests": {"cpu": "1000m"}}},
        },
    })
}

pub(super) fn admission(pod: &Value) -> &str {
    text(pod, "/metadata/annotations/admission")
}
