//! The calls of an adapter and what they answer, the same for a library, a command line and the
//! driver protocol.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An object, as every call after Start names it: another UID is another object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectRef {
    /// The name, `dj-<ulid>-s<N>`. A text and not an [`crate::ObjectName`], since an answer has to
    /// name an object of dispatch by RG-03 that has another name too.
    pub name: String,
    /// The UID that Start gave.
    pub uid: String,
}

/// The runtime that a job is made from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RuntimeRef {
    /// `ClusterTrainingRuntime` (the default) or `TrainingRuntime`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its name.
    pub name: String,
}

/// What Start is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StartRequest {
    /// The name to be, by the grammar of [`crate::ObjectName`]; a text, so that a wrong one is
    /// refused with the field's name (CA-06).
    pub name: String,
    /// The runtime.
    pub runtime_ref: RuntimeRef,
    /// The `LocalQueue`, in Kueue mode; the adapter's configured one unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// The `WorkloadPriorityClass`, in Kueue mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority_class: Option<String>,
    /// Labels for the `TrainJob`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations for the `TrainJob`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// As `spec.trainer` of a `TrainJob`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trainer: Option<Value>,
    /// As `spec.initializer` of a `TrainJob`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initializer: Option<Value>,
    /// For how long the job may run, in seconds, from each resumption.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_deadline_seconds: Option<i64>,
}

/// What Start answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StartAnswer {
    /// The name of the object, which is closed.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// What the caller should know of, though nothing was refused (SG-09).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// What Open is asked for.
pub type OpenRequest = ObjectRef;

/// What List is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListRequest {}

/// One object of List (CA-08).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListEntry {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Its state.
    pub state: State,
}

/// What Status answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StatusAnswer {
    /// The first state that applies (CA-04).
    pub state: State,
    /// A, as the annotation has it; absent where the annotation is, or where it is unreadable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admission: Option<crate::AdmissionCount>,
    /// What contradicts the contract, whoever caused it (EX-04, EX-05).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<Violation>,
}

/// The state of an object, in the order in which Status looks for them: the first that applies
/// (CA-04).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum State {
    /// There is no object of this name and UID.
    NotFound,
    /// It ended, and never runs again.
    Ended {
        /// `Complete`, `Failed`, or what the ended mark says.
        how: String,
        /// Whether it was ever opened.
        opened: bool,
        /// Pods of it that still live.
        pods_left: Vec<PodOfObject>,
    },
    /// Dispatch holds it.
    Held {
        /// Pods of it that still live.
        pods_left: Vec<PodOfObject>,
    },
    /// Somebody else deactivated its Workload.
    DeactivatedByAnother,
    /// It was never opened.
    Gated,
    /// Dispatch opened it; others' gates are left.
    HeldByAdministrator {
        /// The gates that are left; empty when the annotation has a value without any entry.
        gates: Vec<String>,
    },
    /// It runs.
    Running {
        /// R of the execution, as the pods carry it; absent where no pod has a readable one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        identity: Option<crate::ExecutionIdentity>,
        /// Its live pods.
        pods: Vec<PodOfObject>,
    },
    /// It was suspended, and pods of the execution still live.
    Draining {
        /// Those pods.
        pods_left: Vec<PodOfObject>,
    },
    /// Somebody else suspended it.
    SuspendedByAnother,
    /// It has quota and waits at the `AdmissionCheck`.
    WaitingAtCheck {
        /// The check's name.
        check: String,
        /// Its state.
        check_state: String,
        /// Its message.
        message: String,
        /// Since when the controller's Lease has not been renewed, by the Lease's own time; absent
        /// while it is renewed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        controller_silent_since: Option<Timestamp>,
    },
    /// It is admitted and has no pod yet.
    Starting {
        /// What refuses to start, where that can be read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refused_by: Option<String>,
    },
    /// The gate is gone, and dispatch did not open it; Open mends it (OP-09).
    GateGone,
    /// It waits for quota.
    Queued {
        /// Why, as Kueue says it.
        reason: String,
    },
}

impl State {
    /// The state's name, as scenarios and messages spell it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NotFound => "not-found",
            Self::Ended { .. } => "ended",
            Self::Held { .. } => "held",
            Self::DeactivatedByAnother => "deactivated-by-another",
            Self::Gated => "gated",
            Self::HeldByAdministrator { .. } => "held-by-administrator",
            Self::Running { .. } => "running",
            Self::Draining { .. } => "draining",
            Self::SuspendedByAnother => "suspended-by-another",
            Self::WaitingAtCheck { .. } => "waiting-at-check",
            Self::Starting { .. } => "starting",
            Self::GateGone => "gate-gone",
            Self::Queued { .. } => "queued",
        }
    }
}

/// A pod of an object, as answers name it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodOfObject {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`.
    pub phase: String,
    /// Whether its deletion was asked for. Such a pod still lives.
    pub terminating: bool,
    /// The node it is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// A as its annotation has it, readable or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admission: Option<String>,
}

/// Something that contradicts the contract and was caused outside of dispatch's reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Violation {
    /// The rule, by id.
    pub rule: String,
    /// What is so, and what should be.
    pub message: String,
}

/// What Release answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReleaseAnswer {
    /// Whether a hold was taken away; false when there was none.
    pub released: bool,
    /// Why the object was not set going, where it was not (CA-02).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_resumed: Option<String>,
}

/// What Stop answers once no pod is left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StopAnswer {
    /// Whether there was an object to delete; false when it was gone already.
    pub deleted: bool,
}

/// What Preflight answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PreflightAnswer {
    /// Whether the adapter may only observe (PF-02).
    pub observe_only: bool,
    /// Why, one reason a line, each with its rule; empty when the gate is proved.
    pub reasons: Vec<Violation>,
    /// Whether there is a readmission gate (PF-03).
    pub readmission_gate: ReadmissionGate,
    /// What the operator should know of, though the gate is proved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Whether a readmission gate runs (PF-03).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ReadmissionGate {
    /// The controller behind the `AdmissionCheck` serves.
    Yes,
    /// There is none, for this reason.
    No(String),
}
