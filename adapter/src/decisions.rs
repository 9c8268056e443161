//! The decisions of the calls, by name: each is a pure function of what was read.

use dispatch_contract::resources::{TrainJob, Workload};
use dispatch_contract::{CallError, ObjectRef, PreflightAnswer, StartRequest, State, Violation};
use dispatch_kubernetes::owned::Owned;
use kube::api::DeleteParams;
use serde_json::Value;

use crate::preflight::{ProbeVerdict, Proofs, Sighting};
use crate::release::{Lifted, Resumption};
use crate::start::{Difference, Input, Runtime, WorkloadVerdict};
use crate::status::Observed;
use crate::stop::Left;
use crate::write::Step;
use crate::{Config, Preflight, hold, list, open, preflight, release, start, status, stop};

/// What an adapter decides. Every method is the contract's decision unless it is replaced, so that
/// somebody who wants to see what a broken adapter does replaces exactly one.
pub trait Decisions: Send + Sync {
    /// Whether an adapter may only observe, after its last preflight, when it is asked for a call
    /// that starts something: Start, Open or Release; and why (PF-02).
    fn observe_only(
        &self,
        _call: &str,
        last: Option<&PreflightAnswer>,
        policy: Preflight,
    ) -> Option<String> {
        preflight::observe_only(last, policy)
    }

    /// What is wrong with Start's input (CA-06).
    fn input(&self, request: &StartRequest, config: &Config) -> Result<(), CallError> {
        start::check_input(request, config)
    }

    /// What an earlier object of the name left behind, each thing by kind and name (SG-07).
    fn leftovers(&self, name: &str, workloads: &[Workload], below: &Owned) -> Vec<String> {
        start::leftovers(name, workloads, below)
    }

    /// The object that Start creates of its input and the runtime, closed (SG-01).
    fn object(&self, namespace: &str, input: &Input, runtime: &Runtime) -> Value {
        start::object(namespace, input, runtime)
    }

    /// What the caller is told of a call that failed: of an outcome that nobody knows that it is one
    /// (CA-05), of a right that is missing its name (RT-02).
    fn told(&self, failed: CallError) -> CallError {
        failed
    }

    /// Where the answer to the dry run differs from what Start is about to write (SG-08).
    fn rehearsed(&self, written: &Value, answer: &Value) -> Vec<Difference> {
        start::differences(written, answer)
    }

    /// Whether the object of the name is the one that this input makes, and if not why (SG-07).
    /// `digest` is that of the input.
    fn same_input(&self, trainjob: &TrainJob, digest: &str) -> Result<(), String> {
        start::same_input(trainjob, digest)
    }

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

    /// Whether Hold deactivates a Workload of the object (CA-01).
    fn deactivates(&self, workload: &Workload) -> bool {
        workload.is_active()
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

    /// What contradicts the contract and can be seen of an object (SG-02, EX-04, EX-05).
    fn violations(&self, observed: &Observed) -> Vec<Violation> {
        status::violations(observed)
    }

    /// Whether List names a `TrainJob` (CA-08).
    fn is_listed(&self, trainjob: &TrainJob) -> bool {
        list::is_listed(trainjob)
    }

    /// How an object is deleted: at this resourceVersion, where Start refuses it (SG-06), and in any
    /// version by Stop (CA-03).
    fn deletion(&self, object: &ObjectRef, version: Option<String>) -> DeleteParams {
        stop::deletion(object, version)
    }

    /// What of a stopped object is still there (CA-03).
    fn left(&self, object: &ObjectRef, named: Option<&TrainJob>, owned: &Owned) -> Left {
        stop::left(object, named, owned)
    }

    /// What the sightings of a probe prove (PF-01, PF-07).
    fn probe(&self, sightings: &[Sighting]) -> ProbeVerdict {
        preflight::judge_probe(sightings)
    }

    /// What preflight answers, of everything that it found (PF-01, PF-03 to PF-07).
    fn conclude(&self, proofs: &Proofs) -> PreflightAnswer {
        preflight::conclude(proofs)
    }
}

/// The decisions of the contract.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByContract;

impl Decisions for ByContract {}
