//! How Kueue, JobSet and Trainer are configured, wherever they run.

use super::local::FeatureGates;
use serde_json::{Value, json};

/// Requests a second that a controller may send before it throttles itself. Their own limits
/// would be the bottleneck of a loaded cluster, not the API server.
pub(super) const QPS: u32 = 1000;
/// How many of them may come at once.
pub(super) const BURST: u32 = 2000;

/// Where a manager listens.
pub(super) struct Serving {
    /// `webhook` of its configuration.
    pub(super) webhook: Value,
    /// The address of its probes; `0` for none.
    pub(super) probes: &'static str,
}

impl Serving {
    /// What is the same for all: one replica, no metrics, certificates from elsewhere.
    fn common(&self) -> Value {
        json!({
            "health": { "healthProbeBindAddress": self.probes },
            "metrics": { "bindAddress": "0" },
            "webhook": self.webhook,
            "leaderElection": { "leaderElect": false },
            "clientConnection": { "qps": QPS, "burst": BURST },
        })
    }

    /// JobSet's configuration.
    pub(super) fn jobset(&self) -> Value {
        let own = json!({
            "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
            "kind": "Configuration",
            "internalCertManagement": { "enable": false },
        });
        joined(self.common(), own)
    }

    /// Trainer's configuration.
    pub(super) fn trainer(&self) -> Value {
        let own = json!({
            "apiVersion": "config.trainer.kubeflow.org/v1alpha1",
            "kind": "Configuration",
            "certManagement": { "enable": false },
            // As Trainer's own manifests have it.
            "controller": { "groupKindConcurrency": {
                "TrainJob.trainer.kubeflow.org": 5,
                "TrainingRuntime.trainer.kubeflow.org": 1,
                "ClusterTrainingRuntime.trainer.kubeflow.org": 1,
            } },
        });
        joined(self.common(), own)
    }

    /// Kueue's configuration.
    pub(super) fn kueue(&self, gates: &FeatureGates) -> Value {
        let own = json!({
            "apiVersion": "config.kueue.x-k8s.io/v1beta2",
            "kind": "Configuration",
            "namespace": "kueue-system",
            "internalCertManagement": { "enable": false },
            // As Kueue's own manifests have it.
            "controller": { "groupKindConcurrency": {
                "Job.batch": 5,
                "Pod": 5,
                "Workload.kueue.x-k8s.io": 5,
                "LocalQueue.kueue.x-k8s.io": 1,
                "Cohort.kueue.x-k8s.io": 1,
                "ClusterQueue.kueue.x-k8s.io": 1,
                "ResourceFlavor.kueue.x-k8s.io": 1,
            } },
            "manageJobsWithoutQueueName": false,
            "integrations": { "frameworks": [
                "batch/job", "jobset.x-k8s.io/jobset", "trainer.kubeflow.org/trainjob",
            ] },
            "featureGates": gates,
        });
        joined(self.common(), own)
    }
}

fn joined(mut all: Value, more: Value) -> Value {
    if let (Some(all), Value::Object(more)) = (all.as_object_mut(), more) {
        all.extend(more);
    }
    all
}
