//! Kueue's administration: `AdmissionCheck`, `ClusterQueue`, `LocalQueue`, `ResourceFlavor`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

use super::Condition;

/// A check that Workloads pass before they are admitted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AdmissionCheck {
    /// Its name.
    pub metadata: ObjectMeta,
    /// Who serves it.
    #[serde(default)]
    pub spec: AdmissionCheckSpec,
    /// Whether it is served.
    #[serde(default)]
    pub status: Option<AdmissionCheckStatus>,
}
custom_resource!(
    AdmissionCheck,
    ClusterResourceScope,
    "kueue.x-k8s.io",
    "v1beta2",
    "admissionchecks"
);

/// Who serves an `AdmissionCheck`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AdmissionCheckSpec {
    /// The controller; immutable.
    pub controller_name: String,
}

/// Whether an `AdmissionCheck` is served.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AdmissionCheckStatus {
    /// `Active`; a `ClusterQueue` with a check that is not active reserves no quota.
    pub conditions: Vec<Condition>,
}

/// A pool of quota.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClusterQueue {
    /// Its name.
    pub metadata: ObjectMeta,
    /// Its quota and its checks.
    #[serde(default)]
    pub spec: ClusterQueueSpec,
    /// Whether it admits.
    #[serde(default)]
    pub status: Option<ClusterQueueStatus>,
}
custom_resource!(ClusterQueue, ClusterResourceScope, "kueue.x-k8s.io", "v1beta2", "clusterqueues");

/// Quota and checks of a `ClusterQueue`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterQueueSpec {
    /// The checks that its Workloads pass.
    pub admission_checks_strategy: Option<AdmissionChecksStrategy>,
    /// Its quota.
    pub resource_groups: Vec<ResourceGroup>,
    /// `None`, `Hold` or `HoldAndDrain`.
    pub stop_policy: Option<String>,
}

/// The checks of a `ClusterQueue`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AdmissionChecksStrategy {
    /// One line a check.
    pub admission_checks: Vec<AdmissionCheckStrategyRule>,
}

/// One check of a `ClusterQueue`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AdmissionCheckStrategyRule {
    /// The check's name.
    pub name: String,
    /// The flavors that it is for; all of them where it is empty (PF-06).
    pub on_flavors: Vec<String>,
}

/// Resources with the flavors they come in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceGroup {
    /// The flavors.
    pub flavors: Vec<FlavorQuotas>,
}

/// One flavor of a `ClusterQueue`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FlavorQuotas {
    /// The flavor's name.
    pub name: String,
}

/// Whether a `ClusterQueue` admits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterQueueStatus {
    /// `Active`.
    pub conditions: Vec<Condition>,
}

/// A namespace's door to a `ClusterQueue`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LocalQueue {
    /// Its name.
    pub metadata: ObjectMeta,
    /// Where it leads.
    #[serde(default)]
    pub spec: LocalQueueSpec,
    /// Whether it admits.
    #[serde(default)]
    pub status: Option<LocalQueueStatus>,
}
custom_resource!(LocalQueue, NamespaceResourceScope, "kueue.x-k8s.io", "v1beta2", "localqueues");

/// Where a `LocalQueue` leads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LocalQueueSpec {
    /// The `ClusterQueue`.
    pub cluster_queue: String,
    /// `None`, `Hold` or `HoldAndDrain`.
    pub stop_policy: Option<String>,
}

/// Whether a `LocalQueue` admits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LocalQueueStatus {
    /// `Active`.
    pub conditions: Vec<Condition>,
}

/// A kind of nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResourceFlavor {
    /// Its name.
    pub metadata: ObjectMeta,
    /// Its properties.
    #[serde(default)]
    pub spec: ResourceFlavorSpec,
}
custom_resource!(
    ResourceFlavor,
    ClusterResourceScope,
    "kueue.x-k8s.io",
    "v1beta2",
    "resourceflavors"
);

/// Properties of a flavor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceFlavorSpec {
    /// The topology by which Kueue places pods. Its second scheduling pass can undo an eviction, so
    /// preflight warns of it.
    pub topology_name: Option<String>,
}
