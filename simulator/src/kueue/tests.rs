//! Kueue at work on an API server. The Job controller is played by hand.

use std::sync::PoisonError;
use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, advance};
use tower::Service;

use super::*;
use crate::api::{Request, Server, Settings, User};
use crate::component::{Component, Running, Timing, Transport, run};
use crate::kueue::workload::{has_quota_reservation, is_admitted, is_evicted, is_finished};
use crate::object::{condition, is, is_true, items, name, text};
use crate::resource::{
    ADMISSION_CHECK, CLUSTER_QUEUE, JOB, LOCAL_QUEUE, NAMESPACE, RESOURCE_FLAVOR, Resource,
    WORKLOAD, WORKLOAD_PRIORITY_CLASS,
};

mod jobs;
mod train_jobs;

const GATE: &str = "kueue.x-k8s.io/admission-gated-by";

/// A cluster with Kueue, and a queue of 4 CPUs with a check that is played here.
struct Cluster {
    server: Server,
    client: Transport,
    features: Arc<Mutex<Features>>,
    seed: u64,
    now: Arc<dyn Fn() -> jiff::Timestamp + Send + Sync>,
    kueue: Option<Running>,
    /// Every version of every Workload.
    versions: Arc<Mutex<Vec<Value>>>,
    watch: JoinHandle<()>,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

impl Cluster {
    async fn new(seed: u64) -> Self {
        let began = Instant::now();
        let start: jiff::Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let now: Arc<dyn Fn() -> jiff::Timestamp + Send + Sync> =
            Arc::new(move || start + began.elapsed());
        let features = Arc::new(Mutex::new(Features::default()));
        let settings = Settings { seed, now: now.clone(), webhooks: webhooks(&features) };
        let server = Server::new(settings);
        let versions = Arc::new(Mutex::new(Vec::new()));
        let watch = tokio::spawn(follow(server.clone(), Arc::clone(&versions)));
        let client = server.transport(Component::KubeControllerManager);
        let mut cluster =
            Self { server, client, features, seed, now, kueue: None, versions, watch };
        cluster.restart(Features { admission_gated_by: true });
        cluster.fixture().await;
        cluster
    }

    /// Kueue starts, anew if it runs, with these features.
    fn restart(&mut self, features: Features) {
        self.kueue = None;
        *self.features.lock().unwrap_or_else(PoisonError::into_inner) = features;
        let transport = self.server.transport(Component::Kueue);
        let timing = Timing::of_seed(self.seed);
        let now = Arc::clone(&self.now);
        self.kueue = Some(run(Component::Kueue, controllers(&features), &transport, timing, now));
    }

    async fn fixture(&self) {
        self.make(NAMESPACE, json!({"metadata": {"name": "n"}})).await;
        let flavor =
            json!({"metadata": {"name": "f"}, "spec": {"nodeLabels": {"node": "virtual"}}});
        self.make(RESOURCE_FLAVOR, flavor).await;
        let check = json!({"metadata": {"name": "c"}, "spec": {"controllerName": "a.b/c"}});
        self.make(ADMISSION_CHECK, check).await;
        for (class, value) in [("low", 100), ("high", 1000)] {
            let class = json!({"metadata": {"name": class}, "value": value});
            self.make(WORKLOAD_PRIORITY_CLASS, class).await;
        }
        self.make(
            CLUSTER_QUEUE,
            json!({"metadata": {"name": "cq"}, "spec": {
                "cohortName": "co",
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "n"}},
                "preemption": {"withinClusterQueue": "LowerPriority"},
                "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [
                    {"name": "f", "resources": [{"name": "cpu", "nominalQuota": "4"}]},
                ]}],
                "admissionChecksStrategy": {"admissionChecks": [{"name": "c"}]},
            }}),
        )
        .await;
        let queue = json!({
            "metadata": {"name": "q", "namespace": "n"}, "spec": {"clusterQueue": "cq"},
        });
        self.make(LOCAL_QUEUE, queue).await;
        let inactive = |it: &Value| {
            condition(it, "Active").is_some_and(|it| it["reason"] == "AdmissionCheckInactive")
        };
        self.until(CLUSTER_QUEUE, "cq", inactive).await;
        self.serve_check().await;
        self.until(CLUSTER_QUEUE, "cq", |it| is_true(it, "Active")).await;
    }

    async fn serve_check(&self) {
        let active = json!({
            "type": "Active", "status": "True", "reason": "Active", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        self.apply(
            ADMISSION_CHECK,
            json!({
                "metadata": {"name": "c"}, "status": {"conditions": [active]},
            }),
        )
        .await;
    }

    async fn make(&self, resource: &'static Resource, mut object: Value) {
        object["apiVersion"] = resource.api_version().into();
        object["kind"] = resource.kind.into();
        self.client.request(&Request::create(resource, object, "tests")).await.unwrap();
    }

    async fn apply(&self, resource: &'static Resource, mut object: Value) {
        object["apiVersion"] = resource.api_version().into();
        object["kind"] = resource.kind.into();
        let request = Request::apply(resource, object, "tests").on("status");
        self.client.request(&request).await.unwrap();
    }

    async fn patch(&self, resource: &'static Resource, name: &str, patch: Value) {
        let request = Request::merge_patch(resource, "n", name, patch, "tests");
        self.client.request(&request).await.unwrap();
    }

    async fn pods(&self, job: &str, active: i64) {
        let patch = json!({"status": {"active": active}});
        let request = Request::merge_patch(JOB, "n", job, patch, "tests").on("status");
        self.client.request(&request).await.unwrap();
    }

    async fn end(&self, job: &str) {
        let complete = json!({"type": "Complete", "status": "True", "message": "done"});
        let patch = json!({"status": {"active": 0, "conditions": [complete]}});
        let request = Request::merge_patch(JOB, "n", job, patch, "tests").on("status");
        self.client.request(&request).await.unwrap();
    }

    async fn submit(&self, job: &str, class: &str, gated: bool) {
        let annotations = if gated { json!({ GATE: "a.b/gate" }) } else { json!({}) };
        let container = json!({
            "name": "main", "image": "i", "resources": {"requests": {"cpu": "4"}},
        });
        self.make(JOB, json!({
            "metadata": {
                "name": job,
                "namespace": "n",
                "labels": {"kueue.x-k8s.io/queue-name": "q", "kueue.x-k8s.io/priority-class": class},
                "annotations": annotations,
            },
            "spec": {
                "parallelism": 1,
                "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
            },
        })).await;
    }

    async fn get(&self, resource: &'static Resource, name: &str) -> Option<Value> {
        let found = self.client.request(&Request::get(resource, "n", name)).await.ok()?;
        Some(Value::clone(&found))
    }

    async fn job(&self, job: &str) -> Value {
        self.get(JOB, job).await.unwrap()
    }

    /// Waits until an object is so.
    async fn until(
        &self,
        resource: &'static Resource,
        name: &str,
        is_so: impl Fn(&Value) -> bool,
    ) -> Value {
        let mut last = None;
        for _ in 0..20_000 {
            last = self.get(resource, name).await;
            if let Some(object) = last.take_if(|it| is_so(it)) {
                return object;
            }
            advance(Duration::from_millis(1)).await;
        }
        panic!("{name} did not become so: {last:?}");
    }

    /// Waits until the Workload of a job is so.
    async fn workload(&self, job: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..20_000 {
            let latest = self.versions_of(job).pop();
            if let Some(object) = latest.filter(|it| is_so(it)) {
                return object;
            }
            advance(Duration::from_millis(1)).await;
        }
        panic!("the Workload of {job} did not become so: {:#?}", self.versions_of(job).pop());
    }

    fn versions_of(&self, job: &str) -> Vec<Value> {
        let all = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        let of =
            |it: &&Value| items(it, "/metadata/ownerReferences").iter().any(|it| it["name"] == job);
        all.iter().filter(of).cloned().collect()
    }

    /// The check's controller says that it may run.
    async fn ready(&self, job: &str) {
        let workload = self.versions_of(job).pop().unwrap();
        self.apply(
            WORKLOAD,
            json!({
                "metadata": {
                    "name": name(&workload),
                    "namespace": "n",
                    "resourceVersion": workload["metadata"]["resourceVersion"],
                },
                "status": {"admissionChecks": [{
                    "name": "c", "state": "Ready", "message": "go",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }]},
            }),
        )
        .await;
    }

    /// Brings a job to run, with a pod.
    async fn running(&self, job: &str, class: &str) {
        self.submit(job, class, false).await;
        self.workload(job, waits_at_check).await;
        self.ready(job).await;
        self.until(JOB, job, |it| !is(it, "/spec/suspend")).await;
        self.pods(job, 1).await;
    }

    async fn settled(&self) {
        advance(Duration::from_secs(2)).await;
        for _ in 0..300 {
            advance(Duration::from_millis(1)).await;
        }
    }
}

fn waits_at_check(workload: &Value) -> bool {
    has_quota_reservation(workload)
        && !is_admitted(workload)
        && workload["status"]["admissionChecks"][0]["state"] == "Pending"
}

async fn follow(server: Server, versions: Arc<Mutex<Vec<Value>>>) {
    let path = "/apis/kueue.x-k8s.io/v1beta2/workloads?watch=true&resourceVersion=0";
    let request = http::Request::builder().uri(path).body(Empty::<bytes::Bytes>::new()).unwrap();
    let answer = server.service(User::Administrator).call(request).await.unwrap();
    let mut body = answer.into_body();
    while let Some(frame) = body.frame().await {
        let data = frame.unwrap().into_data().unwrap();
        for line in data.split(|it| *it == b'\n').filter(|it| !it.is_empty()) {
            let mut event: Value = serde_json::from_slice(line).unwrap();
            let object = event["object"].take();
            versions.lock().unwrap_or_else(PoisonError::into_inner).push(object);
        }
    }
}
