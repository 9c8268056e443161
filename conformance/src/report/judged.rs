//! From a scenario and its history to everything that is said of them.

use dispatch_contract::rules::RuleId;

use super::timeline::{Entry, timeline};
use crate::history::{EndedBy, History, StepFailed, What};
use crate::rules::{self, Judgement, Outcome, Overall, Verdict};
use crate::scenario::{Action, Finding, Scenario, Sighting};

/// A scenario whose history was judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The verdict.
    pub overall: Overall,
    /// The verdict about each rule of the contract, in the contract's order.
    pub judgements: Vec<Judgement>,
    /// What is broken, the likely cause first.
    pub failures: Vec<Failure>,
}

/// Something that is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The rule, where it is one.
    pub rule: Option<RuleId>,
    /// What is broken: the rule's title, or the scenario's own line with its place in the file.
    pub what: String,
    /// What contradicts it.
    pub because: String,
    /// The events that show it.
    pub timeline: Vec<Entry>,
}

/// Judges a history: every rule, the scenario's expectations and its witness.
pub fn judge(scenario: &Scenario, history: &History) -> Judged {
    let mut judgements = rules::judge(history);
    let mut failures = Vec::new();
    let mut outcomes = Vec::new();
    if let Some((event, step)) = failed_step(history) {
        let outcome = step_outcome(scenario, &step, &mut judgements, event);
        if let (Outcome::Broken { because }, None) = (&outcome, step.rule) {
            let what = line(scenario.steps.get(step.index).map(|it| (it.place.line, &it.text)));
            failures.push(failure(history, what, because, &[event]));
        }
        outcomes.push(outcome);
    }
    if history.end().is_none_or(|end| end.why == EndedBy::Interrupted) {
        outcomes.push(Outcome::Open { why: "the scenario was not played to its end".to_owned() });
    }
    for expectation in &scenario.then {
        let what = line(Some((expectation.place.line, &expectation.text)));
        outcomes.push(match expectation.judge(history) {
            Finding::Held => Outcome::Held,
            Finding::Broken { because, events } => {
                failures.push(failure(history, what.clone(), &because, &events));
                Outcome::Broken { because: format!("{what}: {because}") }
            }
            Finding::CannotBeSaid { why } => Outcome::Open { why: format!("{what}: {why}") },
        });
    }
    let witnesses: Vec<_> = scenario
        .witness
        .iter()
        .map(|witness| match witness.find(history) {
            Sighting::Seen { .. } => Outcome::Held,
            Sighting::NotSeen { why } => {
                let what = line(Some((witness.place.line, &witness.text)));
                Outcome::Open { why: format!("the witness was not seen: {what}: {why}") }
            }
        })
        .collect();
    let overall = rules::overall(&scenario.proves, &judgements, &outcomes, &witnesses);
    let broken = rules::causes_first(&judgements);
    let mut all: Vec<_> = broken.iter().filter_map(|it| broken_rule(history, it)).collect();
    all.append(&mut failures);
    Judged { overall, judgements, failures: all }
}

/// The step that failed, if one did, with the number of its event.
fn failed_step(history: &History) -> Option<(u64, StepFailed)> {
    history.events().iter().find_map(|event| match &event.what {
        What::StepFailed(step) => Some((event.seq, step.clone())),
        _ => None,
    })
}

/// What a failed step means. One that names a rule breaks it; a call of the adapter that answered
/// otherwise breaks the scenario; a wait in vain, or an administrator's act that failed, leaves the
/// scenario open.
fn step_outcome(
    scenario: &Scenario,
    step: &StepFailed,
    judgements: &mut Vec<Judgement>,
    event: u64,
) -> Outcome {
    let place = line(scenario.steps.get(step.index).map(|it| (it.place.line, &it.text)));
    if let Some(rule) = step.rule {
        let because = format!("{place}: {}", step.why);
        let verdict = Verdict::Fail { because, events: vec![event] };
        match judgements.iter_mut().find(|judgement| judgement.rule == rule) {
            // The judge's own proof says more than a deadline.
            Some(judgement) if judgement.verdict.is_fail() => {}
            Some(judgement) => judgement.verdict = verdict,
            None => judgements.push(Judgement { rule, verdict }),
        }
        return Outcome::Open { why: format!("the scenario stopped at {place}") };
    }
    match scenario.steps.get(step.index).map(|step| &step.action) {
        Some(Action::Call(_) | Action::AtOnce(_)) => Outcome::Broken { because: step.why.clone() },
        _ => Outcome::Open { why: format!("{place}: {}", step.why) },
    }
}

/// A line of the scenario, with its number.
fn line(line: Option<(usize, &String)>) -> String {
    match line {
        Some((number, text)) => format!("line {number}, `{text}`"),
        None => "a step that the scenario does not have".to_owned(),
    }
}

fn broken_rule(history: &History, judgement: &Judgement) -> Option<Failure> {
    let Verdict::Fail { because, events } = &judgement.verdict else { return None };
    let title = judgement.rule.rule().map_or("", |rule| rule.title);
    let mut failure = failure(history, title.to_owned(), because, events);
    failure.rule = Some(judgement.rule);
    Some(failure)
}

fn failure(history: &History, what: String, because: &str, events: &[u64]) -> Failure {
    Failure { rule: None, what, because: because.to_owned(), timeline: timeline(history, events) }
}
