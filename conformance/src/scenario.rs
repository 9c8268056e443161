//! The scenario language: what a scenario says, how its file is read, and what it means.
//!
//! A scenario is a YAML file under `scenarios/`. Its steps act or wait, one thing at a time; its
//! expectations (`then`) are about the whole history; its witness names what must be found in the
//! history for the verdict to count. Steps, expectations and witness share one small language of
//! [facts](Fact), and one evaluator decides them.

mod action;
mod adapter_call;
mod embedded;
mod evaluate;
mod expectation;
mod fact;
mod fault;
mod file;
mod given;
mod judge;
mod load;
mod plan;
mod problem;
mod words;

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod told;

pub use action::{
    Action, Deadline, EditPatch, EndAs, JobDeadline, Priority, Propagation, Step, SubmitKind,
};
pub use adapter_call::{AdapterCall, CallEnd, Expected};
pub use embedded::{embedded, embedded_sources};
pub use evaluate::{Point, Truth};
pub use expectation::{Claim, Expectation, Scope, Witness};
pub use fact::{
    AdmissionIs, CalledFact, Fact, JobSetFact, PodFact, PreflightVerdict, ProcessFact, ProcessIs,
    RunningFact, TrainJobFact, WorkloadFact,
};
pub use fault::{
    Deed, Fault, FaultEffect, FaultName, FaultTimes, InTurn, Mark, Party, RefusedAs,
    RequestPattern, Setting, When,
};
pub use given::{Given, Mode, Need, PreflightPolicy};
pub use judge::{Finding, Sighting};
pub use load::{LoadError, load_folder, parse};
pub(crate) use problem::did_you_mean;
pub use problem::{Problem, Refusal};
pub use words::{Component, JobName, OwnThing, Place, Target, TargetKind, Thing};

use dispatch_contract::rules::RuleId;

/// A scenario whose file was read and checked: every job that it names exists by then, every rule
/// is in the contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Its path under `scenarios/`, without extension, such as `readmission/foreign-workload`.
    pub id: String,
    /// What it shows, as a sentence.
    pub title: String,
    /// Why it is worth showing.
    pub why: String,
    /// The rules that it proves.
    pub proves: Vec<RuleId>,
    /// The rules that the cluster itself breaks in it, so that what is judged is how that is found
    /// and healed. Where one of them is not broken, the scenario did not show what it is for.
    pub broken_by_the_cluster: Vec<RuleId>,
    /// What a cluster must be able to do for it.
    pub needs: Vec<Need>,
    /// Whether nothing else may run on the cluster meanwhile.
    pub alone: bool,
    /// What is there before the first step.
    pub given: Given,
    /// What is done, in order.
    pub steps: Vec<Step>,
    /// What must be so in the history.
    pub then: Vec<Expectation>,
    /// What must be found in the history for the verdict to count; never empty.
    pub witness: Vec<Witness>,
    /// SHA-256 of the file's bytes, in lower-case hexadecimal.
    pub digest: String,
}

impl Scenario {
    /// Whether it is played as cases, which come of a reference run of it.
    pub fn has_cases(&self) -> bool {
        self.in_turn().is_some()
    }

    /// The step that goes through requests in turn, with its place among the steps.
    pub(crate) fn in_turn(&self) -> Option<(usize, &InTurn)> {
        self.steps.iter().enumerate().find_map(|(index, step)| match &step.action {
            Action::InTurn(in_turn) => Some((index, &**in_turn)),
            _ => None,
        })
    }
}
