//! What holds for all judges, and how their own tests ask them.

use std::collections::BTreeSet;

use dispatch_contract::rules::{RULES, RuleId};
use rstest::rstest;

use super::*;
use crate::history::told::Told;
use crate::history::{SubjectChange, Verb};

/// Asserts what a history says of a rule: `pass`, `fail: …`, `inconclusive: …` or `n/a: …`, of
/// which the expected text is a part.
#[track_caller]
pub(super) fn assert_verdict(rule: &str, history: &History, expected: &str) {
    let judgements = judge(history);
    let found = judgements.iter().find(|judgement| judgement.rule.as_str() == rule).unwrap();
    let found = match &found.verdict {
        Verdict::Pass => "pass".to_owned(),
        Verdict::Fail { because, events } => {
            assert!(!events.is_empty(), "{rule} is broken by no event: {because}");
            format!("fail: {because}")
        }
        Verdict::Inconclusive { why } => format!("inconclusive: {why}"),
        Verdict::NotApplicable { why } => format!("n/a: {why}"),
    };
    assert!(found.contains(expected), "{rule}: {found}\nexpected: {expected}");
}

/// A whole life by every rule: opened, run, preempted with a pod that lingers, run again, ended.
fn a_long_life() -> History {
    let mut told = Told::kueue();
    told.runs().evicts().suspends().pod_terminates("pod-1").unreserves().reserves();
    told.pod_goes("pod-1").goes(2).pod_ends("pod-2", "Succeeded").ends("Complete").marks_ended();
    told.history()
}

#[rstest]
#[case::nothing_happens(Told::kueue().history())]
#[case::plain_and_nothing_happens(Told::plain().history())]
#[case::waiting(Told::kueue().waits().controller(SubjectChange::Killed).seconds(60).history())]
#[case::a_long_life(a_long_life())]
#[case::status_while_running(
    Told::kueue().runs().calls(Verb::Status)
        .answers(serde_json::json!({"state": {"running": {"pods": []}}})).history())]
fn a_history_by_the_rules_breaks_none(#[case] history: History) {
    let judgements = judge(&history);
    let broken = causes_first(&judgements);
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn every_rule_gets_a_verdict_in_the_order_of_the_contract() {
    let judged: Vec<_> = judge(&a_long_life()).iter().map(|it| it.rule.as_str()).collect();
    assert_eq!(judged, RULES.iter().map(|rule| rule.id).collect::<Vec<_>>());
}

#[test]
fn every_judge_is_of_a_rule_and_no_rule_has_two() {
    let mut rules = BTreeSet::new();
    for judge in JUDGES {
        assert!(judge.rule.parse::<RuleId>().is_ok(), "{}", judge.rule);
        assert!(rules.insert(judge.rule), "{} has two judges", judge.rule);
        for rule in judge.brings_about {
            assert!(rule.parse::<RuleId>().is_ok() && *rule != judge.rule, "{}", judge.rule);
        }
    }
}

#[test]
fn a_rule_without_a_judge_says_why() {
    for rule in RULES.iter().filter(|rule| !JUDGES.iter().any(|judge| judge.rule == rule.id)) {
        assert_ne!(unjudged::why(rule.id), "no judge knows it", "{}", rule.id);
    }
}

#[test]
fn every_judge_can_fail() {
    for judge in JUDGES {
        assert_verdict(judge.rule, &(judge.breaking)(), "fail: ");
    }
}

#[test]
fn a_gap_makes_a_pass_inconclusive_for_the_rules_that_read_it() {
    let mut told = Told::kueue();
    told.runs().gap(Some(Kind::Workload));
    let history = told.history();
    assert_verdict("RG-01", &history, "inconclusive: the record has a gap");
    assert_verdict("EX-01", &history, "pass");
    assert_verdict("EX-01", &told.gap(None).history(), "inconclusive");
}

#[test]
fn an_empty_history_is_inconclusive() {
    assert_verdict("RG-01", &History::default(), "inconclusive: the history is empty");
}

/// An object that is preempted so many times, by the rules.
fn preempted(times: u64) -> Told {
    let mut told = Told::kueue();
    told.waits();
    for a in 1..=times {
        told.goes(a).is_preempted(a).reserves();
    }
    told
}

/// Run with `--release -- --ignored --nocapture` for figures.
#[test]
#[ignore = "measures; says nothing about right and wrong"]
fn judging_takes_time_in_proportion_to_the_events() {
    let mut per_event = Vec::new();
    for times in [500, 4000] {
        let history = preempted(times).history();
        let begun = std::time::Instant::now();
        let judgements = judge(&history);
        let took = begun.elapsed().as_secs_f64();
        assert!(judgements.iter().all(|judgement| !judgement.verdict.is_fail()));
        let events = u32::try_from(history.events().len()).unwrap();
        println!("{events} events in {took:.3} s: {:.0} a second", f64::from(events) / took);
        per_event.push(took / f64::from(events));
    }
    assert!(per_event[1] < per_event[0] * 3.0, "{per_event:?}");
}
