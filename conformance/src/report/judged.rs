//! From a scenario and its history to everything that is said of them.

use dispatch_contract::rules::RuleId;

use super::timeline::{Entry, timeline};
use crate::history::{EndedBy, History, StepFailed, What};
use crate::rules::{self, Judgement, Outcome, Overall, Verdict};
use crate::run::Case;
use crate::scenario::{Action, Fact, Finding, Scenario, Sighting};

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
    let mut outcomes = expected_breaks(scenario, &mut judgements);
    if let Some((event, step)) = failed_step(history) {
        let outcome = if let Some(why) = missing(history) {
            Outcome::Open { why: format!("step {} failed, and {why}", step.index + 1) }
        } else {
            step_outcome(scenario, &step, &mut judgements, event)
        };
        if let (Outcome::Broken { because }, None) = (&outcome, step.rule) {
            let what = line(scenario.steps.get(step.index).map(|it| (it.place.line, &it.text)));
            failures.push(failure(history, what, because, &[event]));
        }
        outcomes.push(outcome);
    }
    let broken_off = history.end().is_none_or(|end| end.why == EndedBy::Interrupted);
    if broken_off {
        outcomes.push(Outcome::Open { why: "the scenario was not played to its end".to_owned() });
    }
    for expectation in &scenario.then {
        let what = line(Some((expectation.place.line, &expectation.text)));
        outcomes.push(match expectation.judge(history) {
            Finding::Held => Outcome::Held,
            // The subjects were stopped in the middle of it, which is no part of what it expects.
            Finding::Broken { because, .. } if broken_off => {
                Outcome::Open { why: format!("{what}: {because}") }
            }
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
        .filter(|witness| !is_of_a_case_to_come(scenario, history, &witness.fact))
        .map(|witness| match witness.find(history) {
            Sighting::Seen { .. } => Outcome::Held,
            Sighting::NotSeen { why } => {
                let what = line(Some((witness.place.line, &witness.text)));
                Outcome::Open { why: format!("the witness was not seen: {what}: {why}") }
            }
        })
        .collect();
    // The reference run of a scenario's cases shows what there is to prove, and proves nothing yet.
    let proves: &[RuleId] = if is_reference(scenario, history) { &[] } else { &scenario.proves };
    let overall = rules::overall(proves, &judgements, &outcomes, &witnesses);
    let broken = rules::causes_first(&judgements);
    let mut all: Vec<_> = broken.iter().filter_map(|it| broken_rule(history, it)).collect();
    all.append(&mut failures);
    Judged { overall, judgements, failures: all }
}

/// Takes out what the cluster itself is to break; leaves open a scenario in which it did not.
fn expected_breaks(scenario: &Scenario, judgements: &mut [Judgement]) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for rule in &scenario.broken_by_the_cluster {
        let Some(judgement) = judgements.iter_mut().find(|it| it.rule == *rule) else { continue };
        if let Verdict::Fail { because, .. } = &judgement.verdict {
            let why = format!("the cluster broke it, as the scenario has it: {because}");
            judgement.verdict = Verdict::not_applicable(why);
        } else {
            let why = format!("the cluster was to break {rule}, and did not");
            outcomes.push(Outcome::Open { why });
        }
    }
    outcomes
}

/// Whether a fact is about a fault that is in place only in the cases that come of this run.
fn is_of_a_case_to_come(scenario: &Scenario, history: &History, fact: &Fact) -> bool {
    let of_fault = scenario.in_turn().is_some_and(|(_, it)| fact.is_of_fault(&it.name));
    of_fault && is_reference(scenario, history)
}

/// Whether it is the run of a scenario with cases from which the others are made.
fn is_reference(scenario: &Scenario, history: &History) -> bool {
    let case = history.begin().and_then(|begin| begin.case.as_deref());
    scenario.has_cases() && case == Some(Case::reference().id.as_str())
}

/// The step that failed, if one did, with the number of its event.
fn failed_step(history: &History) -> Option<(u64, StepFailed)> {
    history.events().iter().find_map(|event| match &event.what {
        What::StepFailed(step) => Some((event.seq, step.clone())),
        _ => None,
    })
}

/// What is missing of the whole record: a step may have failed for what is not in it.
fn missing(history: &History) -> Option<&str> {
    history.gaps().map(|(_, gap)| gap).find(|gap| gap.kind.is_none()).map(|gap| gap.why.as_str())
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
        let verdict = Verdict::fail(because, [event]);
        match judgements.iter_mut().find(|judgement| judgement.rule == rule) {
            // The judge's own proof says more than a deadline.
            Some(judgement) if judgement.verdict.is_fail() => {}
            Some(judgement) => judgement.verdict = verdict,
            None => judgements.push(Judgement { rule, verdict }),
        }
        return Outcome::Open { why: format!("the scenario stopped at {place}") };
    }
    match scenario.steps.get(step.index).map(|step| &step.action) {
        Some(Action::Call(_) | Action::AtOnce(_) | Action::Begin(_) | Action::Finish(_)) => {
            Outcome::Broken { because: step.why.clone() }
        }
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
    let Verdict::Fail { because, events, .. } = &judgement.verdict else { return None };
    let title = judgement.rule.rule().map_or("", |rule| rule.title);
    let mut failure = failure(history, title.to_owned(), because, events);
    failure.rule = Some(judgement.rule);
    Some(failure)
}

fn failure(history: &History, what: String, because: &str, events: &[u64]) -> Failure {
    Failure { rule: None, what, because: because.to_owned(), timeline: timeline(history, events) }
}
