//! A whole cluster: TrainJobs that Kueue admits, Trainer, `JobSet` and Kubernetes run, and Kueue evicts.
//! The kubelet and the controller of the check are played by hand.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use tokio::time::{Instant, advance};

use crate::api::{Delete, List, Propagation, Request, Server, Settings, Verb, Webhook};
use crate::component::{Component, Controller, Running, Timing, Transport, run};
use crate::kueue::{self, Features};
use crate::object::{annotation, condition, is, is_terminating, is_true, items, name, text};
use crate::resource::{
    ADMISSION_CHECK, CLUSTER_QUEUE, JOB_SET, LOCAL_QUEUE, NAMESPACE, NODE, POD, RESOURCE_FLAVOR,
    Resource, TRAIN_JOB, TRAINING_RUNTIME, WORKLOAD, WORKLOAD_PRIORITY_CLASS,
};
use crate::{jobset, kubernetes, trainer};

const GATE: &str = "kueue.x-k8s.io/admission-gated-by";

/// The annotation of pods that says which admission they are of.
const ADMISSION: &str = "admission";

/// A cluster with a node of 8 CPUs and a queue of 4.
struct Cluster {
    client: Transport,
    _components: Vec<Running>,
}

fn webhooks(features: &Arc<Mutex<Features>>) -> Vec<Box<dyn Webhook>> {
    let mut all = kubernetes::rules();
    all.extend(trainer::webhooks());
    all.extend(jobset::webhooks());
    all.extend(kueue::webhooks(features));
    all
}

fn controllers(features: Features) -> Vec<(Component, Vec<Box<dyn Controller>>)> {
    vec![
        (Component::Kueue, kueue::controllers(&features)),
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
        let features = Features { admission_gated_by: true };
        let webhooks = webhooks(&Arc::new(Mutex::new(features)));
        let server = Server::new(Settings { seed, now: now.clone(), webhooks });
        let timing = Timing::of_seed(seed);
        let components = controllers(features).into_iter().map(|(component, controllers)| {
            let transport = server.transport(component);
            run(component, controllers, &transport, timing.clone(), now.clone())
        });
        let components = components.collect();
        // Its requests are an administrator's.
        let client = server.transport(Component::KubeScheduler);
        let cluster = Self { client, _components: components };
        cluster.fixture().await;
        cluster
    }

    async fn fixture(&self) {
        self.make(NAMESPACE, json!({"metadata": {"name": "n"}})).await;
        self.make(
            NODE,
            json!({
                "metadata": {"name": "node", "labels": {"virtual": "yes"}},
                "status": {"allocatable": {"cpu": "8", "pods": "100"}},
            }),
        )
        .await;
        self.make(
            RESOURCE_FLAVOR,
            json!({
                "metadata": {"name": "f"}, "spec": {"nodeLabels": {"virtual": "yes"}},
            }),
        )
        .await;
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
        self.make(
            LOCAL_QUEUE,
            json!({
                "metadata": {"name": "q", "namespace": "n"}, "spec": {"clusterQueue": "cq"},
            }),
        )
        .await;
        self.make(TRAINING_RUNTIME, runtime()).await;
        let active = json!([{
            "type": "Active", "status": "True", "reason": "Active", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]);
        let served = json!({"metadata": {"name": "c"}, "status": {"conditions": active}});
        self.apply(ADMISSION_CHECK, served, "status").await;
    }

    async fn make(&self, resource: &'static Resource, mut object: Value) {
        object["apiVersion"] = resource.api_version().into();
        object["kind"] = resource.kind.into();
        self.client.request(&Request::create(resource, object, "tests")).await.unwrap();
    }

    async fn apply(&self, resource: &'static Resource, mut object: Value, part: &str) {
        object["apiVersion"] = resource.api_version().into();
        object["kind"] = resource.kind.into();
        let request = Request::apply(resource, object, "tests");
        let request = if part.is_empty() { request } else { request.on(part) };
        self.client.request(&request).await.unwrap();
    }

    async fn patch(&self, resource: &'static Resource, named: &str, patch: Value) {
        let request = Request::merge_patch(resource, "n", named, patch, "tests");
        self.client.request(&request).await.unwrap();
    }

    async fn get(&self, resource: &'static Resource, named: &str) -> Option<Value> {
        self.client.request(&Request::get(resource, "n", named)).await.ok()
    }

    async fn all(&self, resource: &'static Resource) -> Vec<Value> {
        let mut request = Request::get(resource, "n", "");
        (request.name, request.verb) = (None, Verb::List(List::default()));
        items(&self.client.request(&request).await.unwrap(), "/items").to_vec()
    }

    /// Submits a job that waits at its gate, for admission 0.
    async fn submit(&self, job: &str, class: &str) {
        self.make(TRAIN_JOB, json!({
            "metadata": {
                "name": job,
                "namespace": "n",
                "labels": {"kueue.x-k8s.io/queue-name": "q", "kueue.x-k8s.io/priority-class": class},
                "annotations": { GATE: "a.b/gate" },
            },
            "spec": {
                "runtimeRef": {"kind": "TrainingRuntime", "name": "r"},
                "runtimePatches": [patch_of("0")],
                "trainer": {"resourcesPerNode": {"requests": {"cpu": "4"}}},
            },
        })).await;
    }

    async fn open(&self, job: &str) {
        self.patch(TRAIN_JOB, job, json!({"metadata": {"annotations": { GATE: null }}})).await;
    }

    /// Raises the admission of a job that is not to run, and lets it run.
    async fn admit(&self, job: &str, admission: &str) {
        self.workload("quota", job, |it| {
            is_true(it, "QuotaReserved") && !is_true(it, "Evicted") && !is_true(it, "Admitted")
        })
        .await;
        let raised = json!({
            "metadata": {"name": job, "namespace": "n"},
            "spec": {"runtimePatches": [patch_of(admission)]},
        });
        self.apply(TRAIN_JOB, raised, "").await;
        self.until("the raise in the JobSet", async || {
            let made = self.get(JOB_SET, job).await?;
            let of = &made["spec"]["replicatedJobs"][0]["template"]["spec"]["template"];
            (annotation(of, ADMISSION) == Some(admission) && is(&made, "/spec/suspend"))
                .then_some(())
        })
        .await;
        self.says(job, "Ready").await;
    }

    /// The check's controller says what it thinks.
    async fn says(&self, job: &str, state: &str) {
        let workload = self.workload("a Workload", job, |_| true).await;
        self.apply(
            WORKLOAD,
            json!({
                "metadata": {
                    "name": name(&workload),
                    "namespace": "n",
                    "resourceVersion": workload["metadata"]["resourceVersion"],
                },
                "status": {"admissionChecks": [{
                    "name": "c", "state": state, "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }]},
            }),
            "status",
        )
        .await;
    }

    async fn workload(&self, what: &str, job: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        self.until(what, async || {
            let all = self.all(WORKLOAD).await;
            let owned = |it: &Value| {
                let owner = &it["metadata"]["ownerReferences"][0];
                owner["kind"] == "TrainJob" && owner["name"] == job
            };
            all.into_iter().find(|it| owned(it) && is_so(it))
        })
        .await
    }

    async fn pods_of(&self, job: &str) -> Vec<Value> {
        let all = self.all(POD).await;
        let of =
            |it: &Value| crate::object::label(it, "jobset.sigs.k8s.io/jobset-name") == Some(job);
        all.into_iter().filter(of).collect()
    }

    /// Waits for a pod of this admission that is bound, and runs it.
    async fn running(&self, job: &str, admission: &str) -> Value {
        let pod = self
            .until("a pod that is bound", async || {
                let bound =
                    |it: &Value| !text(it, "/spec/nodeName").is_empty() && !is_terminating(it);
                let of = |it: &Value| annotation(it, ADMISSION) == Some(admission);
                self.pods_of(job).await.into_iter().find(|it| bound(it) && of(it))
            })
            .await;
        self.kubelet(&pod, "Running").await;
        pod
    }

    async fn kubelet(&self, pod: &Value, phase: &str) {
        let ready = if phase == "Running" { "True" } else { "False" };
        let status = json!({"status": {"phase": phase, "conditions": [
            {"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": ready},
        ]}});
        let request = Request::merge_patch(POD, "n", name(pod), status, "kubelet").on("status");
        self.client.request(&request).await.unwrap();
    }

    /// A pod that was deleted ends, and goes.
    async fn let_go(&self, pod: &Value) {
        self.kubelet(pod, "Failed").await;
        let mut request = Request::get(POD, "n", name(pod));
        request.verb = Verb::Delete(Delete { grace_period_seconds: Some(0), ..Delete::default() });
        self.client.request(&request).await.unwrap();
    }

    /// Lets time pass until something is there.
    async fn until<T>(&self, what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
        for _ in 0..6000 {
            if let Some(found) = look().await {
                return found;
            }
            pass(Duration::from_millis(5)).await;
        }
        for resource in [TRAIN_JOB, WORKLOAD, JOB_SET, crate::resource::JOB, POD] {
            for object in self.all(resource).await {
                println!("{} {}\n{}", resource.kind, name(&object), object["metadata"]);
                println!("{}\n{}", object["spec"], object["status"]);
            }
        }
        panic!("{what} did not come");
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

fn patch_of(admission: &str) -> Value {
    json!({"manager": "x.y/z", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [
        {"name": "node", "template": {"spec": {"template": {"metadata": {
            "annotations": { ADMISSION: admission }}}}}},
    ]}}}})
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn a_preempted_job_gets_quota_again_while_its_old_pod_is_still_there(
    #[values(1, 2, 3, 4)] seed: u64,
) {
    let cluster = Cluster::new(seed).await;
    cluster.submit("train", "low").await;
    cluster
        .workload("a gated Workload", "train", |it| {
            condition(it, "QuotaReserved").is_some_and(|it| it["reason"] == "AdmissionGated")
                && it["status"]["admissionChecks"][0]["state"] == "Pending"
        })
        .await;
    let suspended = async || {
        let made = cluster.get(JOB_SET, "train").await?;
        is_true(&made, "Suspended").then_some(())
    };
    cluster.until("a suspended JobSet", suspended).await;
    assert!(cluster.pods_of("train").await.is_empty());
    cluster.open("train").await;
    cluster.admit("train", "1").await;
    let first = cluster.running("train", "1").await;
    assert_eq!(first["spec"]["nodeSelector"], json!({"virtual": "yes"}));
    let label = "kueue.x-k8s.io/cluster-queue-name";
    assert_eq!(crate::object::label(&first, label), Some("cq"));

    cluster.submit("urgent", "high").await;
    cluster.open("urgent").await;
    cluster
        .workload("the release", "train", |it| {
            is_true(it, "Evicted") && !is_true(it, "QuotaReserved")
        })
        .await;
    let old = cluster.get(POD, name(&first)).await.unwrap();
    assert!(is_terminating(&old), "quota is free, and the pod is there");
    cluster.admit("urgent", "1").await;
    let other = cluster.running("urgent", "1").await;
    cluster.kubelet(&other, "Succeeded").await;
    let ended =
        async || is_true(&cluster.get(TRAIN_JOB, "urgent").await?, "Complete").then_some(());
    cluster.until("the end", ended).await;
    cluster.workload("the end of the Workload", "urgent", |it| is_true(it, "Finished")).await;
    cluster.admit("train", "2").await;
    cluster.workload("the admission", "train", |it| is_true(it, "Admitted")).await;
    assert!(cluster.get(POD, name(&first)).await.is_some(), "it is still there");
    cluster.let_go(&first).await;
    let second = cluster.running("train", "2").await;
    cluster.kubelet(&second, "Succeeded").await;
    let ended = async || is_true(&cluster.get(TRAIN_JOB, "train").await?, "Complete").then_some(());
    cluster.until("the end", ended).await;
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn a_deleted_job_takes_everything_with_it(#[values(1, 2)] seed: u64) {
    let cluster = Cluster::new(seed).await;
    cluster.submit("train", "low").await;
    cluster.open("train").await;
    cluster.admit("train", "1").await;
    let pod = cluster.running("train", "1").await;
    let mut request = Request::get(TRAIN_JOB, "n", "train");
    let background = Some(Propagation::Background);
    request.verb = Verb::Delete(Delete { propagation: background, ..Delete::default() });
    cluster.client.request(&request).await.unwrap();
    cluster
        .until("the pod's deletion", async || {
            is_terminating(&cluster.get(POD, name(&pod)).await?).then_some(())
        })
        .await;
    cluster.let_go(&pod).await;
    cluster
        .until("nothing", async || {
            for resource in [TRAIN_JOB, WORKLOAD, JOB_SET, POD] {
                if !cluster.all(resource).await.is_empty() {
                    return None;
                }
            }
            Some(())
        })
        .await;
    let free = async || {
        let queue = cluster.client.request(&Request::get(CLUSTER_QUEUE, "", "cq")).await.ok()?;
        (queue["status"]["reservingWorkloads"] == 0).then_some(())
    };
    cluster.until("free quota", free).await;
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn without_the_queue_of_its_train_job_a_job_set_gets_a_workload(#[values(1, 2)] seed: u64) {
    let cluster = Cluster::new(seed).await;
    cluster.submit("train", "low").await;
    let suspended = async || {
        let made = cluster.get(JOB_SET, "train").await?;
        is_true(&made, "Suspended").then_some(())
    };
    cluster.until("a suspended JobSet", suspended).await;
    let label = "kueue.x-k8s.io/queue-name";
    cluster.patch(TRAIN_JOB, "train", json!({"metadata": {"labels": { label: null }}})).await;
    pass(Duration::from_mins(1)).await;
    let touched = json!({"metadata": {"annotations": {"touched": "yes"}}});
    cluster.patch(JOB_SET, "train", touched).await;
    let second = cluster
        .until("a Workload of the JobSet", async || {
            let all = cluster.all(WORKLOAD).await;
            let of = |it: &Value| it["metadata"]["ownerReferences"][0]["kind"] == "JobSet";
            let waits = |it: &Value| it["status"]["admissionChecks"][0]["state"] == "Pending";
            all.into_iter().find(|it| of(it) && is_true(it, "QuotaReserved") && waits(it))
        })
        .await;
    assert_eq!(annotation(&second, GATE), None, "no gate holds it");
}
