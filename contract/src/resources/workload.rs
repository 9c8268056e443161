//! Workload, of Kueue.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use serde::{Deserialize, Serialize};

use super::{Condition, Conditions};
use crate::{GateList, names};

/// What Kueue queues and admits, one for each job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Name, UID, owner, the copy of the gate.
    pub metadata: ObjectMeta,
    /// What was asked for.
    #[serde(default)]
    pub spec: WorkloadSpec,
    /// What was decided.
    #[serde(default)]
    pub status: Option<WorkloadStatus>,
}
custom_resource!(Workload, NamespaceResourceScope, "kueue.x-k8s.io", "v1beta2", "workloads");

/// What a Workload asks for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkloadSpec {
    /// Whether Kueue may admit it; true where it is absent.
    pub active: Option<bool>,
    /// The `LocalQueue` it waits in.
    pub queue_name: Option<String>,
    /// Its priority, as a number.
    pub priority: Option<i32>,
}

/// What was decided about a Workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkloadStatus {
    /// `QuotaReserved`, `Admitted`, `Evicted`, `Finished`, `PodsReady`, `Requeued` and others.
    pub conditions: Vec<Condition>,
    /// The quota it was given.
    pub admission: Option<Admission>,
    /// A line for each `AdmissionCheck` of its `ClusterQueue`.
    pub admission_checks: Vec<AdmissionCheckState>,
}

/// The quota that a Workload was given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Admission {
    /// By which `ClusterQueue`.
    pub cluster_queue: String,
}

/// One check's state on a Workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AdmissionCheckState {
    /// The name of the `AdmissionCheck`.
    pub name: String,
    /// The state.
    pub state: CheckState,
    /// Why, for people. Kueue takes at most 32,768 characters.
    pub message: String,
    /// Since when it is in this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// How often Kueue has reset the entry after a `Retry`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_count: Option<i32>,
}

/// The states of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum CheckState {
    /// Not decided: the Workload keeps its quota and waits.
    #[default]
    Pending,
    /// Nothing stands against admission.
    Ready,
    /// Kueue is to evict the Workload and to try again.
    Retry,
    /// Kueue is to evict and deactivate the Workload.
    Rejected,
    /// A state that this version does not know.
    Other(String),
}

impl From<String> for CheckState {
    fn from(text: String) -> Self {
        match text.as_str() {
            "Pending" => Self::Pending,
            "Ready" => Self::Ready,
            "Retry" => Self::Retry,
            "Rejected" => Self::Rejected,
            _ => Self::Other(text),
        }
    }
}

impl From<CheckState> for String {
    fn from(state: CheckState) -> Self {
        state.to_string()
    }
}

impl fmt::Display for CheckState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pending => "Pending",
            Self::Ready => "Ready",
            Self::Retry => "Retry",
            Self::Rejected => "Rejected",
            Self::Other(text) => text,
        })
    }
}

impl Workload {
    /// Its conditions.
    pub fn conditions(&self) -> &[Condition] {
        self.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default()
    }

    /// Whether a condition is there with status `True`.
    pub fn is(&self, type_: &str) -> bool {
        self.conditions().is_true(type_)
    }

    /// Whether Kueue may admit it (`spec.active`, true where absent).
    pub fn is_active(&self) -> bool {
        self.spec.active != Some(false)
    }

    /// The states of its checks.
    pub fn checks(&self) -> &[AdmissionCheckState] {
        self.status.as_ref().map(|status| status.admission_checks.as_slice()).unwrap_or_default()
    }

    /// The state of the check of this name, if the Workload lists it.
    pub fn check(&self, name: &str) -> Option<&AdmissionCheckState> {
        self.checks().iter().find(|check| check.name == name)
    }

    /// The owner that controls it. An owner is to be matched by UID, never by name (RG-03).
    pub fn controller_owner(&self) -> Option<&OwnerReference> {
        let owners = self.metadata.owner_references.as_deref().unwrap_or_default();
        owners.iter().find(|owner| owner.controller == Some(true))
    }

    /// Kueue's copy of the gates. Whether dispatch's gate is open is read from the `TrainJob`
    /// (OP-05).
    pub fn gates(&self) -> GateList<'_> {
        let annotations = self.metadata.annotations.as_ref();
        GateList::new(
            annotations.and_then(|all| all.get(names::ADMISSION_GATED_BY)).map(String::as_str),
        )
    }
}
