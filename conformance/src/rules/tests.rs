//! What holds for all judges, and how their own tests ask them.

use std::collections::BTreeSet;
use std::sync::Arc;

use dispatch_contract::rules::{RULES, RuleId};
use rstest::rstest;
use serde_json::json;

use super::*;
use crate::history::told::{ADAPTER, CONTROLLER, Told};
use crate::history::{Event, SubjectChange, Verb, read};

/// Asserts what a history says of a rule: `pass`, `fail: …`, `inconclusive: …` or `n/a: …`, of
/// which the expected text is a part.
#[track_caller]
pub(super) fn assert_verdict(rule: &str, history: &History, expected: &str) {
    let judgements = judge(history);
    let found = judgements.iter().find(|judgement| judgement.rule.as_str() == rule).unwrap();
    let found = match &found.verdict {
        Verdict::Pass => "pass".to_owned(),
        Verdict::Fail { because, events, .. } => {
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

/// The same, with every request of adapter and controller.
fn a_long_life_with_requests() -> History {
    let mut told = Told::kueue();
    told.waits_by(ADAPTER).goes_by(CONTROLLER, 1).is_preempted(1).reserves();
    told.goes_by(CONTROLLER, 2).pod_ends("pod-2", "Succeeded").ends("Complete").marks_ended();
    told.history()
}

#[rstest]
#[case::nothing_happens(Told::kueue().history())]
#[case::plain_and_nothing_happens(Told::plain().history())]
#[case::waiting(Told::kueue().waits().controller(SubjectChange::Killed).seconds(60).history())]
#[case::a_long_life(a_long_life())]
#[case::status_while_running(
    Told::kueue().runs().calls(Verb::Status)
        .answers(json!({"state": {"running": {"pods": [{"name": "pod-1", "uid": "uid-pod-1",
            "phase": "Running", "terminating": false}]}}})).history())]
#[case::with_requests(a_long_life_with_requests())]
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

/// The history that is read back from these events.
fn read_back<'e>(events: impl Iterator<Item = &'e Arc<Event>>) -> History {
    let lines = events.map(|event| serde_json::to_string(&**event).unwrap() + "\n");
    read(lines.collect::<String>().as_bytes(), std::path::Path::new("told")).unwrap()
}

fn broken(history: &History) -> BTreeSet<&'static str> {
    let judgements = judge(history).into_iter().filter(|it| it.verdict.is_fail());
    judgements.map(|judgement| judgement.rule.as_str()).collect()
}

/// An event that is lost may be the one that breaks a rule, or the one that keeps it.
#[rstest]
#[case::by_the_rules(a_long_life())]
#[case::by_the_rules_with_requests(a_long_life_with_requests())]
#[case::an_execution_too_early(rg::remainder::RG_04.breaking)]
#[case::no_raise(rg::raise::RG_05.breaking)]
#[case::a_stale_write(rg::stale::RG_06.breaking)]
fn an_event_that_is_lost_neither_breaks_nor_keeps_a_rule(#[case] whole: impl Into<Whole>) {
    let whole = whole.into().0;
    let known = broken(&whole);
    for lost in 1..whole.events().len() {
        let events = whole.events().iter();
        let part = read_back(events.filter(|event| event.seq != lost as u64));
        for judgement in judge(&part) {
            let rule = judgement.rule.as_str();
            let what = &whole.events()[lost].what;
            assert_ne!(judgement.verdict, Verdict::Pass, "{rule} without {what:?}");
            let fails = judgement.verdict.is_fail();
            assert!(!fails || known.contains(rule), "{rule} without {what:?}: {judgement:?}");
        }
    }
}

/// A history, or what makes one.
struct Whole(History);

impl From<History> for Whole {
    fn from(history: History) -> Self {
        Self(history)
    }
}

impl From<fn() -> History> for Whole {
    fn from(make: fn() -> History) -> Self {
        Self(make())
    }
}

#[test]
fn what_was_broken_before_a_gap_stays_broken() {
    let mut told = Told::kueue();
    told.waits().sets("Ready").seconds(4).controller(SubjectChange::Ready);
    let whole = told.history();
    let cut_off = read_back(whole.events()[..whole.events().len() - 1].iter());
    assert_verdict("RG-05", &cut_off, "fail: check dispatch-check");
    let at_once = Told::kueue().waits().sets("Ready").history();
    let cut_off = read_back(at_once.events()[..at_once.events().len() - 1].iter());
    assert_verdict("RG-05", &cut_off, "inconclusive: check dispatch-check");
}

#[test]
fn what_was_broken_before_a_gap_of_the_whole_record_stays_broken() {
    let mut told = Told::kueue();
    told.waits().sets("Ready").seconds(4).controller(SubjectChange::Ready).gap(None);
    assert_verdict("RG-05", &told.history(), "fail: check dispatch-check");
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
