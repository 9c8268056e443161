//! A whole cluster: TrainJobs that Kueue admits, Trainer, `JobSet` and Kubernetes run, and Kueue evicts.
//! The controller of the check is played by hand.

mod around;
mod life;

use std::time::Duration;

use serde_json::{Value, json};

use super::cluster::{Cluster, admission, pass, patches};
use crate::api::{Delete, Request, Verb};
use crate::object::{annotation, is, is_terminating, is_true, label, name, text};
use crate::resource::{
    ADMISSION_CHECK, CLUSTER_QUEUE, JOB_SET, LOCAL_QUEUE, POD, RESOURCE_FLAVOR, Resource,
    TRAIN_JOB, WORKLOAD, WORKLOAD_PRIORITY_CLASS,
};

const GATE: &str = "kueue.x-k8s.io/admission-gated-by";

/// A cluster with a queue of 4 CPUs and a check.
async fn cluster(seed: u64) -> Cluster {
    let cluster = Cluster::new(seed).await;
    let flavor = json!({"metadata": {"name": "f"}, "spec": {"nodeLabels": {"virtual": "yes"}}});
    cluster.make(RESOURCE_FLAVOR, flavor).await;
    let check = json!({"metadata": {"name": "c"}, "spec": {"controllerName": "a.b/c"}});
    cluster.make(ADMISSION_CHECK, check).await;
    for (class, value) in [("low", 100), ("high", 1000)] {
        let class = json!({"metadata": {"name": class}, "value": value});
        cluster.make(WORKLOAD_PRIORITY_CLASS, class).await;
    }
    let queue = json!({"metadata": {"name": "cq"}, "spec": {
        "cohortName": "co",
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "n"}},
        "preemption": {"withinClusterQueue": "LowerPriority"},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [
            {"name": "f", "resources": [{"name": "cpu", "nominalQuota": "4"}]},
        ]}],
        "admissionChecksStrategy": {"admissionChecks": [{"name": "c"}]},
    }});
    cluster.make(CLUSTER_QUEUE, queue).await;
    let queue =
        json!({"metadata": {"name": "q", "namespace": "n"}, "spec": {"clusterQueue": "cq"}});
    cluster.make(LOCAL_QUEUE, queue).await;
    let active = json!([{
        "type": "Active", "status": "True", "reason": "Active", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]);
    let served = json!({"metadata": {"name": "c"}, "status": {"conditions": active}});
    cluster.apply(ADMISSION_CHECK, served, Some("status")).await;
    cluster
}

/// Lets the components do what they have to do.
async fn settle() {
    for _ in 0..500 {
        pass(Duration::from_millis(10)).await;
    }
}

impl Cluster {
    async fn apply(&self, resource: &'static Resource, mut object: Value, part: Option<&str>) {
        object["apiVersion"] = resource.api_version().into();
        object["kind"] = resource.kind.into();
        let mut request = Request::apply(resource, object, "tests");
        request.subresource = part.map(str::to_owned);
        self.client.request(&request).await.unwrap();
    }

    /// Submits a job that waits at its gate, for admission 0.
    async fn submit(&self, job: &str, class: &str) {
        let train_job = json!({
            "metadata": {
                "name": job,
                "namespace": "n",
                "labels": {"kueue.x-k8s.io/queue-name": "q", "kueue.x-k8s.io/priority-class": class},
                "annotations": { GATE: "a.b/gate" },
            },
            "spec": {
                "runtimeRef": {"kind": "TrainingRuntime", "name": "r"},
                "runtimePatches": patches("0"),
                "trainer": {"resourcesPerNode": {"requests": {"cpu": "4"}}},
            },
        });
        self.make(TRAIN_JOB, train_job).await;
        self.until("a suspended JobSet", async || {
            is_true(&self.get(JOB_SET, job).await?, "Suspended").then_some(())
        })
        .await;
    }

    async fn until_terminating(&self, pod: &Value) {
        self.until("the pod's deletion", async || {
            is_terminating(&self.get(POD, name(pod)).await?).then_some(())
        })
        .await;
    }

    async fn open(&self, job: &str) {
        self.patch(TRAIN_JOB, job, json!({"metadata": {"annotations": { GATE: null }}})).await;
    }

    /// Waits until a job has quota and is not admitted.
    async fn quota(&self, job: &str) -> Value {
        let waits = |it: &Value| {
            is_true(it, "QuotaReserved") && !is_true(it, "Evicted") && !is_true(it, "Admitted")
        };
        self.workload("quota", job, waits).await
    }

    /// Raises the admission of a job that does not run.
    async fn raise(&self, job: &str, admission: &str) {
        let raised = json!({
            "metadata": {"name": job, "namespace": "n"},
            "spec": {"runtimePatches": patches(admission)},
        });
        self.apply(TRAIN_JOB, raised, None).await;
    }

    /// Raises the admission of a job that has quota and does not run, and lets it run.
    async fn admit(&self, job: &str, admission: &str) {
        self.quota(job).await;
        self.raise(job, admission).await;
        self.until("the raise in the JobSet", async || {
            let made = self.get(JOB_SET, job).await?;
            let of = &made["spec"]["replicatedJobs"][0]["template"]["spec"]["template"];
            let raised = annotation(of, "admission") == Some(admission);
            (raised && is(&made, "/spec/suspend")).then_some(())
        })
        .await;
        self.says(&self.quota(job).await, "Ready").await;
    }

    /// The check's controller says what it thinks.
    async fn says(&self, workload: &Value, state: &str) {
        let said = json!({
            "metadata": {
                "name": name(workload),
                "namespace": "n",
                "resourceVersion": workload["metadata"]["resourceVersion"],
            },
            "status": {"admissionChecks": [{
                "name": "c", "state": state, "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }]},
        });
        self.apply(WORKLOAD, said, Some("status")).await;
    }

    async fn workload(&self, what: &str, job: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        self.until(what, async || {
            let owned = |it: &Value| {
                let owner = &it["metadata"]["ownerReferences"][0];
                owner["kind"] == "TrainJob" && owner["name"] == job
            };
            self.all(WORKLOAD).await.into_iter().find(|it| owned(it) && is_so(it))
        })
        .await
    }

    async fn pods_of(&self, job: &str) -> Vec<Value> {
        let of = |it: &Value| label(it, "jobset.sigs.k8s.io/jobset-name") == Some(job);
        self.all(POD).await.into_iter().filter(of).collect()
    }

    /// Waits for a pod of this admission that is bound, and runs it.
    async fn runs(&self, job: &str, of: &str) -> Value {
        let pod = self.until("a pod that is bound", async || {
            let bound = |it: &Value| !text(it, "/spec/nodeName").is_empty() && !is_terminating(it);
            self.pods_of(job).await.into_iter().find(|it| bound(it) && admission(it) == of)
        });
        let pod = pod.await;
        self.kubelet(&pod, "Running").await;
        pod
    }

    /// A pod that was deleted ends, and goes.
    async fn let_go(&self, pod: &Value) {
        self.kubelet(pod, "Failed").await;
        let mut request = Request::get(POD, "n", name(pod));
        request.verb = Verb::Delete(Delete { grace_period_seconds: Some(0), ..Delete::default() });
        self.client.request(&request).await.unwrap();
    }

    async fn until_complete(&self, job: &str) {
        self.until("the end", async || {
            is_true(&self.get(TRAIN_JOB, job).await?, "Complete").then_some(())
        })
        .await;
    }

    /// Brings a job to its first admission, with a pod that runs.
    async fn first(&self, job: &str) -> Value {
        self.submit(job, "low").await;
        self.open(job).await;
        self.admit(job, "1").await;
        self.runs(job, "1").await
    }
}
