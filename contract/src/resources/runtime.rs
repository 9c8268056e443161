//! `TrainingRuntime` and `ClusterTrainingRuntime`, of Trainer.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

use super::JobSetSpec;

/// A runtime for the `TrainJobs` of one namespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainingRuntime {
    /// Its name.
    pub metadata: ObjectMeta,
    /// What it is made of.
    #[serde(default)]
    pub spec: TrainingRuntimeSpec,
}
custom_resource!(
    TrainingRuntime,
    NamespaceResourceScope,
    "trainer.kubeflow.org",
    "v1alpha1",
    "trainingruntimes"
);

/// A runtime for the `TrainJobs` of all namespaces.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClusterTrainingRuntime {
    /// Its name.
    pub metadata: ObjectMeta,
    /// What it is made of.
    #[serde(default)]
    pub spec: TrainingRuntimeSpec,
}
custom_resource!(
    ClusterTrainingRuntime,
    ClusterResourceScope,
    "trainer.kubeflow.org",
    "v1alpha1",
    "clustertrainingruntimes"
);

/// What a runtime is made of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TrainingRuntimeSpec {
    /// The template of the `JobSet`.
    pub template: JobSetTemplate,
}

/// The template of a `JobSet`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobSetTemplate {
    /// What the `JobSet` asks for.
    pub spec: JobSetSpec,
}
