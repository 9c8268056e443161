//! All components together, with a queue and a check that is played by hand.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::cluster::{new_train_job, pass, patches, runtime};
use crate::api::{List, Request, User, Verb};
use crate::cluster::Cluster;
use crate::component::Transport;
use crate::object::{is, is_terminating, is_true, items, name, text};
use crate::resource::{
    ADMISSION_CHECK, CLUSTER_QUEUE, EVENT, JOB, JOB_SET, LOCAL_QUEUE, NAMESPACE, NODE, POD,
    RESOURCE_FLAVOR, Resource, TRAIN_JOB, TRAINING_RUNTIME, WORKLOAD,
};

/// A cluster with a queue of 2 CPUs.
struct Queued {
    client: Transport,
    _cluster: Cluster,
}

impl Queued {
    async fn new(seed: u64) -> Self {
        let began = tokio::time::Instant::now();
        let start: jiff::Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let cluster = Cluster::start(seed, Arc::new(move || start + began.elapsed()));
        let client = Transport::new("administrator", cluster.sender(User::Administrator));
        let this = Self { client, _cluster: cluster };
        this.fixture().await;
        this
    }

    async fn fixture(&self) {
        self.make(NAMESPACE, json!({"metadata": {"name": "n"}})).await;
        let taint = json!({"key": "virtual", "value": "yes", "effect": "NoSchedule"});
        let node = json!({
            "metadata": {"name": "node", "labels": {"virtual": "yes"}},
            "spec": {"taints": [taint]},
            "status": {"allocatable": {"cpu": "100", "pods": "100"}},
        });
        self.make(NODE, node).await;
        self.make(TRAINING_RUNTIME, runtime()).await;
        let flavor = json!({"metadata": {"name": "f"}, "spec": {
            "nodeLabels": {"virtual": "yes"},
            "tolerations": [{"key": "virtual", "operator": "Equal", "value": "yes"}],
        }});
        self.make(RESOURCE_FLAVOR, flavor).await;
        let check = json!({"metadata": {"name": "c"}, "spec": {"controllerName": "a.b/c"}});
        self.make(ADMISSION_CHECK, check).await;
        let active = json!({"status": {"conditions": [{
            "type": "Active", "status": "True", "reason": "Active", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]}});
        let request = Request::merge_patch(ADMISSION_CHECK, "", "c", active, "test").on("status");
        self.client.request(&request).await.unwrap();
        let queue = json!({"metadata": {"name": "cq"}, "spec": {
            "namespaceSelector": {},
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [
                {"name": "f", "resources": [{"name": "cpu", "nominalQuota": "2"}]},
            ]}],
            "admissionChecksStrategy": {"admissionChecks": [{"name": "c"}]},
        }});
        self.make(CLUSTER_QUEUE, queue).await;
        let queue = json!({
            "metadata": {"name": "q", "namespace": "n"}, "spec": {"clusterQueue": "cq"},
        });
        self.make(LOCAL_QUEUE, queue).await;
    }

    async fn make(&self, resource: &'static Resource, mut object: Value) {
        object["apiVersion"] = resource.api_version().into();
        object["kind"] = resource.kind.into();
        self.client.request(&Request::create(resource, object, "test")).await.unwrap();
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

    /// Waits until the one object of a kind is so.
    async fn until(&self, resource: &'static Resource, is_so: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..3000 {
            let all = self.all(resource).await;
            if let Some(found) = all.into_iter().find(|it| is_so(it)) {
                return found;
            }
            pass(Duration::from_millis(10)).await;
        }
        for kind in [TRAIN_JOB, WORKLOAD, JOB_SET, JOB, POD] {
            for object in self.all(kind).await {
                println!("{} {}", kind.kind, name(&object));
                println!("{}\n{}", object["spec"], object["status"]);
            }
        }
        panic!("no {} became so", resource.kind);
    }

    /// Makes a TrainJob in the queue.
    async fn submit(&self) {
        let mut job = new_train_job(true);
        job["metadata"]["labels"] = json!({"kueue.x-k8s.io/queue-name": "q"});
        self.make(TRAIN_JOB, job).await;
    }

    /// Waits until the check waits for an answer, and says yes.
    async fn admit(&self) {
        let waits = |it: &Value| {
            is_true(it, "QuotaReserved")
                && !is_true(it, "Evicted")
                && text(it, "/status/admissionChecks/0/state") == "Pending"
        };
        let workload = self.until(WORKLOAD, waits).await;
        let mut ready = workload["status"]["admissionChecks"].clone();
        ready[0]["state"] = "Ready".into();
        let patch = json!({"status": {"admissionChecks": ready}});
        let request = Request::merge_patch(WORKLOAD, "n", name(&workload), patch, "test");
        self.client.request(&request.on("status")).await.unwrap();
    }

    async fn running(&self, admission: &str) {
        for _ in 0..2 {
            let pod = self.until(POD, |it| {
                text(it, "/spec/nodeName") == "node"
                    && text(it, "/status/phase") == "Pending"
                    && text(it, "/metadata/annotations/admission") == admission
            });
            let named = name(&pod.await).to_owned();
            let status = json!({"status": {"phase": "Running", "conditions": [
                {"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True"},
            ]}});
            let request = Request::merge_patch(POD, "n", &named, status, "kubelet").on("status");
            self.client.request(&request).await.unwrap();
        }
    }

    /// Ends all pods; those that were deleted go.
    async fn end_pods(&self, phase: &str) {
        for pod in self.all(POD).await {
            let status = json!({"status": {"phase": phase}});
            let request = Request::merge_patch(POD, "n", name(&pod), status, "kubelet");
            self.client.request(&request.on("status")).await.unwrap();
            if is_terminating(&pod) {
                let mut request = Request::get(POD, "n", name(&pod));
                request.verb = Verb::Delete(crate::api::Delete {
                    grace_period_seconds: Some(0),
                    ..crate::api::Delete::default()
                });
                self.client.request(&request).await.unwrap();
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_evicted_train_job_starts_again_when_it_is_admitted_again() {
    let queued = Queued::new(1).await;
    queued.submit().await;
    queued.admit().await;
    queued.running("1").await;
    let pod = &queued.all(POD).await[0];
    assert_eq!(text(pod, "/metadata/labels/kueue.x-k8s.io~1podset"), "node");
    assert_eq!(text(pod, "/spec/nodeSelector/virtual"), "yes");
    assert_eq!(text(pod, "/metadata/labels/jobset.sigs.k8s.io~1priority"), "0");
    queued.until(TRAIN_JOB, |it| it["status"]["jobsStatus"][0]["active"] == 1).await;

    let workload = name(&queued.all(WORKLOAD).await[0]).to_owned();
    queued.patch(WORKLOAD, &workload, json!({"spec": {"active": false}})).await;
    queued.until(WORKLOAD, |it| !is_true(it, "QuotaReserved")).await;
    let job = queued.until(TRAIN_JOB, |it| is(it, "/spec/suspend")).await;
    assert_eq!(job["status"]["jobsStatus"][0]["active"], 0);
    assert!(queued.all(POD).await.iter().all(is_terminating));

    queued.until(JOB_SET, |it| is(it, "/spec/suspend")).await;
    let mut raised = patches("2");
    let kept = items(&job, "/spec/runtimePatches").iter();
    let kept = kept.filter(|it| it["manager"] == "kueue.x-k8s.io/manager").cloned();
    raised.as_array_mut().unwrap().extend(kept);
    queued.patch(TRAIN_JOB, "a", json!({"spec": {"runtimePatches": raised}})).await;
    queued.patch(WORKLOAD, &workload, json!({"spec": {"active": true}})).await;
    queued.admit().await;
    queued.until(JOB, |it| !is(it, "/spec/suspend")).await;
    pass(Duration::from_secs(5)).await;
    assert!(queued.all(POD).await.iter().all(is_terminating), "the old ones still run");
    queued.end_pods("Failed").await;
    queued.running("2").await;
    queued.end_pods("Succeeded").await;
    queued.until(TRAIN_JOB, |it| is_true(it, "Complete")).await;
    queued.until(WORKLOAD, |it| is_true(it, "Finished")).await;
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_is_edited_takes_a_running_job_off_the_books_and_its_pods_run_on() {
    let queued = Queued::new(2).await;
    queued.submit().await;
    queued.admit().await;
    queued.running("1").await;
    queued.until(TRAIN_JOB, |it| it["status"]["jobsStatus"][0]["active"] == 1).await;
    let mut edited = runtime()["spec"].take();
    edited["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"]
        [0]["resources"] = json!({"requests": {"memory": "1Gi"}});
    edited["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] =
        5.into();
    edited["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["initContainers"] =
        json!([{"name": "first", "image": "i:1"}]);
    queued.patch(TRAINING_RUNTIME, "r", json!({ "spec": edited })).await;
    // Kueue looks at the job when it changes.
    queued.patch(TRAIN_JOB, "a", json!({"metadata": {"labels": {"touched": "yes"}}})).await;
    queued.until(TRAIN_JOB, |it| is(it, "/spec/suspend") && is_true(it, "Suspended")).await;
    queued
        .until(EVENT, |it| {
            text(it, "/reason") == "TrainJobResourcesCreationFailed"
                && text(it, "/message").contains("vjobset.kb.io")
        })
        .await;
    assert!(!is(&queued.all(JOB_SET).await[0], "/spec/suspend"));
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_cluster() {
    let mut all = Vec::new();
    for seed in [3, 3, 4] {
        let queued = Queued::new(seed).await;
        queued.submit().await;
        queued.admit().await;
        queued.running("1").await;
        queued.end_pods("Succeeded").await;
        queued.until(TRAIN_JOB, |it| is_true(it, "Complete")).await;
        let mut objects = Vec::new();
        for kind in [TRAIN_JOB, JOB_SET, JOB, POD, WORKLOAD, EVENT] {
            objects.extend(queued.all(kind).await);
        }
        all.push(objects);
    }
    assert_eq!(all[0], all[1]);
    assert_ne!(all[0], all[2]);
}
