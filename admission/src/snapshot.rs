//! What one pass read: the only thing that a decision is made from.

use dispatch_contract::resources::{AdmissionCheckState, CheckState, TrainJob, Workload};
use dispatch_contract::{AdmissionCount, names};
use dispatch_kubernetes::owned::Owned;
use dispatch_kubernetes::runtime::RuntimeState;
use kube::{Resource, ResourceExt};
use thiserror::Error;

use crate::raise::Raised;

/// The name of a Workload, as triggers hand it on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkloadKey {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl std::fmt::Display for WorkloadKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// An object as a live read gave it, with the version of that read.
///
/// Every write takes its precondition from one of these, and only an object that was read makes
/// one, so that no write can be built without the version it was decided from (RG-06).
#[derive(Clone, Debug, PartialEq)]
pub struct At<T> {
    /// The object.
    pub object: T,
    uid: String,
    version: String,
}

/// An object without UID or resourceVersion, which no API server gives.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the {kind} {name} was read without a UID or a resourceVersion")]
pub struct Unversioned {
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
}

impl<T: Resource<DynamicType = ()>> At<T> {
    /// The object of a live read.
    pub fn read(object: T) -> Result<Self, Unversioned> {
        match (object.uid(), object.resource_version()) {
            (Some(uid), Some(version)) => Ok(Self { object, uid, version }),
            _ => Err(Unversioned { kind: T::kind(&()).into_owned(), name: object.name_any() }),
        }
    }
}

impl<T> At<T> {
    /// The UID of the object.
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// The resourceVersion of the read.
    pub fn version(&self) -> &str {
        &self.version
    }
}

/// What one pass read about one Workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The Workload; its version is the precondition of every check write of the pass.
    pub workload: At<Workload>,
    /// Those of its checks that name this controller, by whatever name (RG-14).
    pub checks: Vec<String>,
    /// Whose it is.
    pub owner: Owner,
    /// The raise that this pass made; `None` before it.
    pub raised: Option<Raised>,
}

/// Whose Workload it is (RG-02, RG-03).
#[derive(Clone, Debug, PartialEq)]
pub enum Owner {
    /// Not read, since nothing can depend on it: no check of this controller, or neither quota nor
    /// an end.
    NotRead,
    /// No `TrainJob` of dispatch's is above it.
    Foreign,
    /// It has no controller owner, and a `TrainJob` of dispatch's names it as prebuilt.
    Prebuilt {
        /// The `TrainJob`.
        trainjob: String,
    },
    /// An owner above it cannot be read, or is no longer the one that it names.
    Unreadable {
        /// Which, and why.
        why: String,
    },
    /// A `TrainJob` of dispatch's is above it, but does not own it directly.
    Indirect {
        /// The `TrainJob`.
        trainjob: String,
        /// What stands between, as kind and name.
        through: String,
    },
    /// A `TrainJob` of dispatch's owns it.
    Dispatch(Box<Object>),
}

/// An object of dispatch's, with what is below it.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// The `TrainJob`; its version is the precondition of the raise and of the ended mark.
    pub trainjob: At<TrainJob>,
    /// How its runtime stands to the one that Start resolved (SG-09); `None` where it was not read,
    /// since nothing can depend on it.
    pub runtime: Option<RuntimeState>,
    /// Its `JobSet`, Jobs and pods, read after the `TrainJob`, in this order (RG-04). Not read for
    /// a finished Workload.
    pub owned: Owned,
}

impl Snapshot {
    /// The entries of this controller on the Workload, in the Workload's order.
    pub fn own_checks(&self) -> impl Iterator<Item = &AdmissionCheckState> {
        let is_own = |check: &&AdmissionCheckState| self.checks.contains(&check.name);
        self.workload.object.checks().iter().filter(is_own)
    }

    /// Whether any entry of this controller is in this state.
    pub fn has_own(&self, state: &CheckState) -> bool {
        self.own_checks().any(|check| check.state == *state)
    }

    /// The object of dispatch's that directly owns the Workload.
    pub fn object(&self) -> Option<&Object> {
        match &self.owner {
            Owner::Dispatch(object) => Some(object),
            _ => None,
        }
    }
}

impl Object {
    /// A of the object as its annotation has it, where it can be read.
    pub fn count(&self) -> Option<AdmissionCount> {
        self.trainjob.object.admission_count().and_then(Result::ok)
    }

    /// Whether the start gate is shut: dispatch's entry, or no opened mark (RG-12, EX-05).
    pub fn is_gated(&self) -> bool {
        let trainjob = &self.trainjob.object;
        trainjob.gates().has_dispatch() || trainjob.annotation(names::OPENED) != Some(names::TRUE)
    }
}
