//! What can be read, in the few states of each that matter, and the snapshot of it.

use std::collections::BTreeSet;

use dispatch_contract::{AdmissionCount, names};
use dispatch_kubernetes::owned::Owned;
use dispatch_kubernetes::raise::RaisedFor;
use dispatch_kubernetes::runtime::RuntimeState;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::raise::{Raise, Raised};
use crate::snapshot::{At, Object, Owner, Snapshot};

/// A of the object, in the count and in dispatch's runtime patch.
pub(super) const COUNT: u64 = 7;

/// The generation of the object, before and after.
pub(super) const GENERATION: i64 = 9;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    NotOurs,
    Pending,
    Ready,
    Retry,
    Rejected,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnerIs {
    NotRead,
    Foreign,
    Prebuilt,
    Unreadable,
    Indirect,
    Dispatch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    None,
    Ours,
    Others,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    No,
    Condition,
    Marked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runtime {
    Same,
    Differs,
    Missing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobSetIs {
    Absent,
    ShowsA,
    ShowsOld,
    Running,
    Stranger,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Jobs {
    AtRest,
    NotSuspended,
    Terminating,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pods {
    None,
    Over,
    Terminating,
    OwnNumber,
    OtherNumber,
    /// One that somebody else made, with the label of the object's pods and without a number.
    Strange,
}

/// One combination.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    pub(super) check: Check,
    pub(super) retries: i32,
    pub(super) quota: bool,
    pub(super) admitted: bool,
    pub(super) evicted: bool,
    pub(super) finished: bool,
    pub(super) active: bool,
    pub(super) deleted: bool,
    pub(super) owner: OwnerIs,
    pub(super) gate: Gate,
    pub(super) opened: bool,
    pub(super) ended: Ended,
    pub(super) held: bool,
    pub(super) runtime: Runtime,
    pub(super) kueue_patch: bool,
    pub(super) suspended: bool,
    pub(super) jobset: JobSetIs,
    pub(super) jobs: Jobs,
    pub(super) pods: Pods,
    pub(super) raised: bool,
}

impl Default for Facts {
    /// Everything is as it has to be, and the `JobSet` shows A.
    fn default() -> Self {
        Self {
            check: Check::Pending,
            retries: 0,
            quota: true,
            admitted: false,
            evicted: false,
            finished: false,
            active: true,
            deleted: false,
            owner: OwnerIs::Dispatch,
            gate: Gate::None,
            opened: true,
            ended: Ended::No,
            held: false,
            runtime: Runtime::Same,
            kueue_patch: true,
            suspended: true,
            jobset: JobSetIs::ShowsA,
            jobs: Jobs::AtRest,
            pods: Pods::None,
            raised: false,
        }
    }
}

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn condition(type_: &str, on: bool) -> Value {
    json!({"type": type_, "status": if on { "True" } else { "False" }})
}

fn owned_by(uid: &str) -> Value {
    json!([{"apiVersion": "x/v1", "kind": "X", "name": "x", "uid": uid, "controller": true}])
}

fn replicated(a: u64) -> Value {
    json!([{"name": "node", "template": {"spec": {"template": {"metadata": {
        "annotations": {names::POD_ADMISSION: a.to_string()}}}}}}])
}

impl Facts {
    pub(super) fn snapshot(&self) -> Snapshot {
        let name = if self.check == Check::NotOurs { "another" } else { "ours" };
        let state = match self.check {
            Check::NotOurs | Check::Pending => "Pending",
            Check::Ready => "Ready",
            Check::Retry => "Retry",
            Check::Rejected => "Rejected",
        };
        let deletion = self.deleted.then_some("2026-01-01T00:00:00Z");
        let workload = read(json!({
            "metadata": {"name": "w", "namespace": "n", "uid": "wu", "resourceVersion": "5",
                "deletionTimestamp": deletion},
            "spec": {"active": self.active},
            "status": {
                "conditions": [
                    condition("QuotaReserved", self.quota), condition("Admitted", self.admitted),
                    condition("Evicted", self.evicted), condition("Finished", self.finished),
                ],
                "admissionChecks": [
                    {"name": name, "state": state, "message": "", "retryCount": self.retries},
                ],
            },
        }));
        let checks = if self.check == Check::NotOurs { vec![] } else { vec!["ours".to_owned()] };
        let raise = || Raise {
            to: AdmissionCount::new(COUNT).unwrap(),
            jobs: BTreeSet::from(["node".to_owned()]),
            raised_for: RaisedFor::default(),
            unreadable: vec![],
        };
        Snapshot {
            workload: At::read(workload).unwrap(),
            checks,
            owner: self.owner(),
            raised: self.raised.then(|| Raised { raise: raise(), generation: GENERATION }),
        }
    }

    fn owner(&self) -> Owner {
        let trainjob = || "t".to_owned();
        match self.owner {
            OwnerIs::NotRead => Owner::NotRead,
            OwnerIs::Foreign => Owner::Foreign,
            OwnerIs::Prebuilt => Owner::Prebuilt { trainjob: trainjob() },
            OwnerIs::Unreadable => Owner::Unreadable { why: "gone".to_owned() },
            OwnerIs::Indirect => {
                Owner::Indirect { trainjob: trainjob(), through: "the JobSet t".to_owned() }
            }
            OwnerIs::Dispatch => Owner::Dispatch(Box::new(Object {
                trainjob: At::read(read(self.trainjob())).unwrap(),
                runtime: Some(match self.runtime {
                    Runtime::Same => RuntimeState::Same,
                    Runtime::Differs => RuntimeState::Differs,
                    Runtime::Missing => RuntimeState::Missing,
                }),
                owned: Owned { jobset: self.jobset(), jobs: self.jobs(), pods: self.pods() },
            })),
        }
    }

    fn trainjob(&self) -> Value {
        let mut annotations = json!({names::ADMISSION_COUNT: COUNT.to_string()});
        let mut set = |key: &str, value: &str| annotations[key] = json!(value);
        match self.gate {
            Gate::None => {}
            Gate::Ours => set(names::ADMISSION_GATED_BY, names::GATE),
            Gate::Others => set(names::ADMISSION_GATED_BY, "a.io/x"),
        }
        if self.opened {
            set(names::OPENED, names::TRUE);
        }
        if self.held {
            set(names::HELD, "token");
        }
        if self.ended == Ended::Marked {
            set(names::ENDED, "Failed");
        }
        let mut patches = vec![json!({
            "manager": names::RUNTIME_PATCH_MANAGER,
            "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": replicated(COUNT)}}},
        })];
        if self.kueue_patch {
            patches.push(json!({"manager": names::KUEUE_RUNTIME_PATCH_MANAGER}));
        }
        json!({
            "metadata": {"name": "t", "namespace": "n", "uid": "tu", "resourceVersion": "6",
                "generation": GENERATION,
                "annotations": annotations},
            "spec": {"suspend": self.suspended, "runtimeRef": {"name": "r"},
                "runtimePatches": patches},
            "status": {"conditions": [condition("Failed", self.ended == Ended::Condition)]},
        })
    }

    fn jobset<T: DeserializeOwned>(&self) -> Option<T> {
        let (suspend, owner, a) = match self.jobset {
            JobSetIs::Absent => return None,
            JobSetIs::ShowsA => (true, "tu", COUNT),
            JobSetIs::ShowsOld => (true, "tu", COUNT - 1),
            JobSetIs::Running => (false, "tu", COUNT),
            JobSetIs::Stranger => (true, "other", COUNT),
        };
        Some(read(json!({
            "metadata": {"name": "t", "namespace": "n", "uid": "ju",
                "ownerReferences": owned_by(owner)},
            "spec": {"suspend": suspend, "replicatedJobs": replicated(a)},
        })))
    }

    fn jobs<T: DeserializeOwned>(&self) -> Vec<T> {
        let (suspend, terminating) = match self.jobs {
            Jobs::AtRest => (true, 0),
            Jobs::NotSuspended => (false, 0),
            Jobs::Terminating => (true, 1),
        };
        vec![read(json!({
            "metadata": {"name": "t-node-0", "uid": "bu", "ownerReferences": owned_by("ju")},
            "spec": {"suspend": suspend, "template": {}},
            "status": {"conditions": [condition("Suspended", true)], "terminating": terminating},
        }))]
    }

    fn pods<T: DeserializeOwned>(&self) -> Vec<T> {
        let (phase, terminating, a) = match self.pods {
            Pods::None => return vec![],
            Pods::Over => ("Succeeded", false, COUNT - 1),
            Pods::Terminating => ("Running", true, COUNT),
            Pods::OwnNumber => ("Running", false, COUNT),
            Pods::OtherNumber => ("Running", false, COUNT - 1),
            Pods::Strange => {
                return vec![read(json!({
                    "metadata": {"name": "p", "uid": "pu", "labels": {names::JOBSET_NAME: "t"}},
                    "status": {"phase": "Running"},
                }))];
            }
        };
        let deletion = terminating.then_some("2026-01-01T00:00:00Z");
        vec![read(json!({
            "metadata": {"name": "p", "uid": "pu", "deletionTimestamp": deletion,
                "annotations": {names::POD_ADMISSION: a.to_string()},
                "ownerReferences": owned_by("bu")},
            "status": {"phase": phase},
        }))]
    }
}
