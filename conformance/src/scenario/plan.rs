//! The check of a scenario before any cluster is touched: what its file means, and everything in
//! it that cannot be.
//!
//! Steps are gone through in their order with what is known by then: the jobs that were started,
//! the calls that were made, the replicas that are stopped.

use std::collections::{BTreeMap, BTreeSet};

use dispatch_contract::rules::{RULES, RuleId};
use serde_saphyr::Spanned;

use super::file::{ScenarioFile, Text};
use super::problem::{Problem, did_you_mean};
use super::{AdapterCall, FaultName, Given, JobName, Need, Place, ProcessIs, Scenario, SubmitKind};
use crate::history::{Subject, Verb};

mod calls;
mod expectations;
mod facts;
mod faults;
mod processes;
mod steps;
mod text;
mod under_way;

#[cfg(test)]
pub(super) use facts::SUBJECTS;

/// The most CPUs and replicas that a scenario asks for; a slip of the finger is refused here and
/// not by a cluster.
const CPU_GREATEST: u32 = 64;
const REPLICAS_GREATEST: u32 = 5;

/// What the file means, or everything that is wrong with it. The id and the digest are left empty.
pub(super) fn check(file: &ScenarioFile, text: &str) -> Result<Scenario, Vec<Problem>> {
    let mut plan = Plan::new(file, text);
    plan.words(file);
    let proves = plan.proves(&file.proves);
    let broken_by_the_cluster = plan.broken_by_the_cluster(file, &proves);
    let given = plan.given(file);
    plan.rights_over_the_cluster(file);
    let steps = plan.steps(&file.steps);
    plan.leading_is_said(&file.needs);
    plan.steps_are_read = true;
    let then = plan.expectations(&file.then);
    let witness = plan.witness(&file.witness);
    if !plan.problems.is_empty() {
        return Err(without_echoes(plan.problems));
    }
    Ok(Scenario {
        id: String::new(),
        title: file.title.value.trim().to_owned(),
        why: file.why.value.trim().to_owned(),
        proves,
        broken_by_the_cluster,
        needs: file.needs.iter().map(|need| need.value).collect(),
        alone: file.alone,
        given,
        steps,
        then,
        witness,
        digest: String::new(),
    })
}

/// The problems in the order of the file, each said once: a name that is wrong where a job is
/// started is wrong in every line that speaks of it.
fn without_echoes(mut problems: Vec<Problem>) -> Vec<Problem> {
    problems.sort_by_key(|problem| problem.place);
    let mut said = BTreeSet::new();
    problems.retain(|problem| said.insert(problem.message.clone()));
    problems
}

/// Who made a job.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Maker {
    Dispatch,
    Somebody(SubmitKind),
    /// Of a Workload that no job owns.
    Nobody,
}

/// A scenario as far as it was gone through.
struct Plan<'a> {
    text: &'a str,
    problems: Vec<Problem>,
    /// The jobs so far.
    jobs: BTreeMap<JobName, Maker>,
    /// The jobs of the whole file, with the line of the step that makes them.
    jobs_to_come: BTreeMap<String, usize>,
    /// The calls so far, and the jobs they were for.
    calls: BTreeSet<(Verb, Option<JobName>)>,
    queue_cpu: u32,
    foreign_check: bool,
    /// Jobs whose Start has no answer so far.
    unanswered: BTreeSet<JobName>,
    replicas: u32,
    /// Calls that were begun and not finished, and where.
    under_way: BTreeMap<Verb, (AdapterCall, Place)>,
    /// Subjects that have ended now.
    stopped: BTreeSet<Subject>,
    /// Subjects and components that stand still now.
    frozen: BTreeSet<Subject>,
    /// What subjects were at any time.
    ever: BTreeSet<(Subject, ProcessIs)>,
    lingering: BTreeSet<JobName>,
    /// The faults so far.
    faults: BTreeSet<FaultName>,
    /// Where a component's requests are first to meet a fault.
    leads: Option<Place>,
    /// Where each request is gone through in turn.
    in_turn: Option<Place>,
    /// Whether every step was gone through.
    steps_are_read: bool,
}

impl<'a> Plan<'a> {
    fn new(file: &ScenarioFile, text: &'a str) -> Self {
        Self {
            text,
            problems: Vec::new(),
            jobs: BTreeMap::new(),
            jobs_to_come: steps::jobs_made(&file.steps.value),
            calls: BTreeSet::new(),
            queue_cpu: file.given.queue.cpu.value,
            foreign_check: file.given.queue.foreign_check,
            replicas: file.given.controller.replicas.value,
            unanswered: BTreeSet::new(),
            under_way: BTreeMap::new(),
            stopped: BTreeSet::new(),
            frozen: BTreeSet::new(),
            ever: BTreeSet::new(),
            lingering: BTreeSet::new(),
            faults: BTreeSet::new(),
            leads: None,
            in_turn: None,
            steps_are_read: false,
        }
    }

    fn refuse(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Title and reason, which people read.
    fn words(&mut self, file: &ScenarioFile) {
        for (what, text) in [("title", &file.title), ("why", &file.why)] {
            if text.value.trim().is_empty() {
                let problem = Problem::new(place(text), format!("the {what} is empty"));
                self.refuse(problem.hint("write it for a reader who knows Kueue"));
            }
        }
    }

    fn broken_by_the_cluster(&mut self, file: &ScenarioFile, proves: &[RuleId]) -> Vec<RuleId> {
        let Some(written) = &file.broken_by_the_cluster else { return Vec::new() };
        let mut rules = Vec::new();
        for text in &written.value {
            let Some(rule) = self.rule(text) else { continue };
            if proves.contains(&rule) {
                let problem =
                    Problem::new(place(text), format!("{rule} is to be proved and broken"));
                self.refuse(problem.hint("a scenario proves how the break is found and healed"));
            }
            rules.push(rule);
        }
        rules
    }

    fn proves(&mut self, written: &Spanned<Vec<Text>>) -> Vec<RuleId> {
        if written.value.is_empty() {
            let problem = Problem::new(place(written), "the scenario proves no rule");
            self.refuse(problem.hint("name the rules that it proves, such as `proves: [EX-01]`"));
        }
        let mut rules = Vec::new();
        for text in &written.value {
            let Some(rule) = self.rule(text) else { continue };
            if rules.contains(&rule) {
                let problem = Problem::new(place(text), format!("{rule} is named twice"));
                self.refuse(problem.hint("keep one of them"));
            }
            rules.push(rule);
        }
        rules
    }

    /// A rule of the contract.
    fn rule(&mut self, text: &Text) -> Option<RuleId> {
        let parsed = text.value.parse::<RuleId>();
        if let Err(unknown) = &parsed {
            let ids = RULES.iter().map(|rule| rule.id);
            let message = unknown.to_string();
            let (what, group) = message.split_once("; ").unwrap_or((&message, ""));
            let hint = match did_you_mean(&text.value, ids) {
                Some(near) => format!("{near} {group}"),
                None => group.to_owned(),
            };
            self.refuse(Problem::new(place(text), what).hint(hint));
        }
        parsed.ok()
    }

    fn given(&mut self, file: &ScenarioFile) -> Given {
        let given = &file.given;
        self.within(&given.queue.cpu, "cpu", CPU_GREATEST);
        self.within(&given.controller.replicas, "replicas", REPLICAS_GREATEST);
        let gates = given.kueue.as_ref().map(|kueue| kueue.value.feature_gates.clone());
        Given {
            mode: given.mode,
            queue_cpu: self.queue_cpu,
            foreign_check: self.foreign_check,
            controller_replicas: self.replicas,
            adapter_preflight: given.adapter.preflight,
            kueue_feature_gates: gates.unwrap_or_default(),
        }
    }

    fn within(&mut self, number: &Spanned<u32>, what: &str, greatest: u32) {
        if !(1..=greatest).contains(&number.value) {
            let message = format!("{what} is {}; expected 1 to {greatest}", number.value);
            self.refuse(Problem::new(place(number), message));
        }
    }

    /// Restarting Kueue, or making a component stand still, needs a cluster that allows it, and
    /// nobody else on it.
    fn rights_over_the_cluster(&mut self, file: &ScenarioFile) {
        if let Some(at) = steps::restarts_kueue(file) {
            let (set, restarted) = ("Kueue's feature gates are set", "Kueue is restarted");
            self.right(file, at, (Need::KueueFeatureGates, "kueue-feature-gates"), set, restarted);
        }
        if let Some(at) = processes::freezes(file) {
            let frozen = "a component is frozen";
            self.right(file, at, (Need::FreezeComponents, "freeze-components"), frozen, frozen);
        }
    }

    fn right(
        &mut self,
        file: &ScenarioFile,
        at: Place,
        (need, word): (Need, &str),
        what: &str,
        meanwhile: &str,
    ) {
        if !file.needs.iter().any(|written| written.value == need) {
            let problem = Problem::new(at, format!("{what} without saying so"));
            self.refuse(problem.hint(format!("add `needs: [{word}]`")));
        }
        if !file.alone {
            let problem = Problem::new(at, format!("{meanwhile} under other scenarios' feet"));
            self.refuse(problem.hint("add `alone: true`"));
        }
    }

    /// A job's name, by its grammar.
    fn name(&mut self, text: &str, at: Place) -> Option<JobName> {
        let name = JobName::new(text);
        if name.is_none() {
            let problem = Problem::new(at, format!("`{text}` is not a job's name"));
            self.refuse(
                problem.hint(
                    "1 to 20 lower-case letters, digits and hyphens, beginning with a letter",
                ),
            );
        }
        name
    }

    /// A job that is there by now.
    fn job(&mut self, text: &str, at: Place) -> Option<JobName> {
        let name = self.name(text, at)?;
        if name.is_probe() {
            if !self.calls.contains(&(Verb::Preflight, None)) {
                let problem = Problem::new(at, "there is no probe before a preflight");
                self.refuse(problem.hint("add the step `preflight: { observe-only: false }`"));
                return None;
            }
            return Some(name);
        }
        if !self.jobs.contains_key(&name) {
            let yet = if self.steps_are_read { "" } else { " yet" };
            let problem = Problem::new(at, format!("there is no job `{name}`{yet}"));
            let hint = self.hint_for_job(name.as_str());
            self.refuse(problem.hint(hint));
            return None;
        }
        Some(name)
    }

    fn hint_for_job(&self, name: &str) -> String {
        if let Some(line) = self.jobs_to_come.get(name) {
            return format!("it is started on line {line}");
        }
        let known = self.jobs_to_come.keys().map(String::as_str);
        did_you_mean(name, known.clone()).unwrap_or_else(|| {
            let known: Vec<_> = known.collect();
            match known.as_slice() {
                [] => "no step starts a job".to_owned(),
                known => format!("the jobs are {}", known.join(", ")),
            }
        })
    }

    /// A job of dispatch's that is there by now: the adapter knows no other.
    fn dispatch_job(&mut self, text: &Text) -> Option<JobName> {
        let name = self.job(&text.value, place(text))?;
        if self.jobs.get(&name) == Some(&Maker::Dispatch) {
            return Some(name);
        }
        let problem = Problem::new(place(text), format!("`{name}` is not an object of dispatch's"));
        self.refuse(problem.hint("the adapter is called for jobs that a `start` step made"));
        None
    }
}

/// Where a value stands.
fn place<T>(value: &Spanned<T>) -> Place {
    value.referenced.into()
}
