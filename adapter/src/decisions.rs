//! The decisions of the calls, by name: each is a pure function of what was read.

use dispatch_contract::resources::{TrainJob, Workload};
use dispatch_contract::{ObjectRef, State};
use dispatch_kubernetes::owned::Owned;
use serde_json::Value;

use crate::preflight::{ProbeVerdict, Sighting};
use crate::release::{Lifted, Resumption};
use crate::start::{Difference, WorkloadVerdict};
use crate::status::Observed;
use crate::stop::Left;
use crate::write::Step;
use crate::{hold, open, preflight, release, start, status, stop};

/// What an adapter decides. Every method is the contract's decision unless it is replaced, so that
/// somebody who wants to see what a broken adapter does replaces exactly one.
pub trait Decisions: Send + Sync {
    /// Where the object that was read differs from what Start wrote (SG-03, SG-04).
    fn differences(&self, written: &Value, found: &Value) -> Vec<Difference> {
        start::differences(written, found)
    }

    /// Whether a Workload is as Start needs it: gated, and listing the check (SG-05).
    fn workload(&self, workload: &Workload, check: &str) -> WorkloadVerdict {
        start::judge_workload(workload, check)
    }

    /// What Open does with an object (OP-01 to OP-10).
    fn open(&self, trainjob: &TrainJob) -> Step<()> {
        open::decide(trainjob)
    }

    /// What Hold does with an object, for a fresh token (CA-01).
    fn hold(&self, trainjob: &TrainJob, token: &str) -> Step<()> {
        hold::decide(trainjob, token)
    }

    /// What Release does with an object whose first read had this token (CA-02).
    fn release(
        &self,
        trainjob: &TrainJob,
        workload: Option<&Workload>,
        first: Option<&str>,
    ) -> Step<Lifted> {
        release::decide(trainjob, workload, first)
    }

    /// What Release does with the Workload of an object that is not held any more (CA-02).
    fn resume(&self, workload: &Workload) -> Resumption {
        release::resume(workload)
    }

    /// The state of an object (CA-04).
    fn state(&self, observed: &Observed) -> State {
        status::state(observed)
    }

    /// What of a stopped object is still there (CA-03).
    fn left(&self, object: &ObjectRef, named: Option<&TrainJob>, owned: &Owned) -> Left {
        stop::left(object, named, owned)
    }

    /// What the sightings of a probe prove (PF-01, PF-07).
    fn probe(&self, sightings: &[Sighting]) -> ProbeVerdict {
        preflight::judge_probe(sightings)
    }
}

/// The decisions of the contract.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByContract;

impl Decisions for ByContract {}
