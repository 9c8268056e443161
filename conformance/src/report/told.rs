//! Reports of hand-made verdicts, for tests.

use std::time::Duration;

use super::{Failure, Judged, RunReport, ScenarioReport, ScenarioResult};
use crate::exit_code::ExitCode;
use crate::history::SubjectNames;
use crate::rules::Overall;
use dispatch_contract::rules::RuleId;

pub(crate) fn rule(id: &str) -> RuleId {
    id.parse().unwrap()
}

pub(crate) fn judged(overall: Overall) -> ScenarioResult {
    let judged = Judged { overall, judgements: Vec::new(), failures: Vec::new() };
    ScenarioResult::Judged(Box::new(judged))
}

/// These rules are broken, the likely cause first.
pub(crate) fn broken(rules: &[&str]) -> ScenarioResult {
    let rules: Vec<_> = rules.iter().map(|id| rule(id)).collect();
    let failure = |rule: &RuleId| Failure {
        rule: Some(*rule),
        what: rule.rule().unwrap().title.to_owned(),
        because: "of what was seen".to_owned(),
        timeline: Vec::new(),
    };
    let failures = rules.iter().map(failure).collect();
    let overall = Overall::Fail { rules, because: Vec::new() };
    ScenarioResult::Judged(Box::new(Judged { overall, judgements: Vec::new(), failures }))
}

pub(crate) fn not_judged(fault: ExitCode) -> ScenarioResult {
    ScenarioResult::NotJudged { why: "kueue died: \u{1b}[31mpanic\u{1b}[0m".to_owned(), fault }
}

pub(crate) fn inconclusive() -> ScenarioResult {
    let why = "the witness was not seen: line 38, `{ running: train }`: it was never so";
    judged(Overall::Inconclusive { why: vec![why.to_owned()] })
}

pub(crate) fn report(id: &str, result: ScenarioResult) -> ScenarioReport {
    ScenarioReport {
        id: id.to_owned(),
        title: "What it shows".to_owned(),
        case: None,
        repetition: None,
        seed: None,
        took: Duration::from_millis(8_210),
        history: Some(format!("results/run/{id}/history.ndjson").into()),
        left_behind: Vec::new(),
        interrupted: false,
        result,
    }
}

/// One case of a scenario.
pub(crate) fn case(id: &str, case: &str, result: ScenarioResult) -> ScenarioReport {
    ScenarioReport { case: Some(case.to_owned()), ..report(id, result) }
}

pub(crate) fn run(scenarios: Vec<ScenarioReport>) -> RunReport {
    RunReport {
        run: "01k0".to_owned(),
        cluster: "local".to_owned(),
        shard: None,
        subjects: SubjectNames::default(),
        options: Vec::new(),
        no_claim: Vec::new(),
        scenarios,
        not_played: 0,
        took: Duration::from_secs(84),
        interrupted: None,
    }
}
