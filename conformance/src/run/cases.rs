//! The cases of a scenario that goes through requests in turn: one for each kind of request that
//! its reference run made, and each deed.

use std::collections::{BTreeMap, BTreeSet};

use super::Played;
use super::case::Case;
use super::steps::pattern;
use crate::history::{Asks, Exchange, History, Request, What, read_file};
use crate::proxy::Pattern;
use crate::scenario::{
    Action, Deed, Fault, FaultName, FaultTimes, InTurn, Mark, RequestPattern, Scenario, Setting,
};

/// The cases of a scenario, from the reference run of it. None, where its history cannot be read.
pub fn cases(scenario: &Scenario, reference: &Played) -> Vec<Case> {
    read_file(&reference.history).map_or(Vec::new(), |history| of_history(scenario, &history))
}

fn of_history(scenario: &Scenario, reference: &History) -> Vec<Case> {
    let Some((index, in_turn)) = scenario.in_turn() else { return Vec::new() };
    let (from, until) = window(scenario, index, &in_turn.name, reference);
    let names: BTreeMap<_, _> =
        reference.jobs().map(|job| (job.job.clone(), job.name.clone())).collect();
    let asked = pattern(&in_turn.at, &names);
    let mut seen = BTreeSet::new();
    let mut cases = Vec::new();
    for exchange in reference.requests() {
        if !is_one_of(exchange, in_turn, &asked) || !(from..until).contains(&exchange.seq) {
            continue;
        }
        let kind = kind(&exchange.request);
        if !seen.insert(kind.clone()) {
            continue;
        }
        for deed in &in_turn.deeds {
            cases.extend(case(in_turn, *deed, &exchange.request, &kind));
        }
    }
    cases
}

fn is_one_of(exchange: &Exchange, in_turn: &InTurn, pattern: &Pattern) -> bool {
    let from = exchange.request.from;
    in_turn.at.from.is(from.role, from.replica)
        && pattern.matches(&exchange.request, &Asks::of(&exchange.request))
}

/// From the step on, until the last wait for the fault is over: what is asked for later would come
/// too late for it.
fn window(scenario: &Scenario, index: usize, name: &FaultName, history: &History) -> (u64, u64) {
    let later = scenario.steps.iter().enumerate().skip(index);
    let mut waits = later.filter_map(|(at, step)| match &step.action {
        Action::Until { fact, .. } if fact.is_of_fault(name) => Some(at),
        _ => None,
    });
    let wait = waits.next_back();
    let mut from = u64::MAX;
    let mut until = u64::MAX;
    for event in history.events() {
        match &event.what {
            What::StepBegan(step) if step.index == index => from = event.seq,
            What::StepEnded(step) if Some(step.index) == wait => until = event.seq,
            _ => {}
        }
    }
    (from, until)
}

/// What tells one kind of request from another, in words that make a name of a case.
fn kind(request: &Request) -> String {
    let mut words = vec![request.verb.clone(), request.resource.clone()];
    words.extend(request.subresource.clone());
    let asks = Asks::of(request);
    words.extend(asks.checks.iter().map(|(_, state)| state.to_lowercase()));
    let telling = [
        (asks.count.is_some(), "count"),
        (asks.suspend == Some(true), "suspend"),
        (asks.suspend == Some(false), "unsuspend"),
        (asks.active == Some(true), "activate"),
        (asks.active == Some(false), "deactivate"),
        (asks.opened, "opened"),
        (asks.held, "held"),
        (asks.ended, "ended"),
        (request.is_dry_run(), "dry-run"),
    ];
    words.extend(telling.iter().filter(|(is, _)| *is).map(|(_, word)| (*word).to_owned()));
    let words = words.join("-").to_lowercase();
    words.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '-' }).collect()
}

fn case(in_turn: &InTurn, deed: Deed, request: &Request, kind: &str) -> Option<Case> {
    let verb = VERBS.into_iter().find(|verb| *verb == request.verb)?;
    let at = RequestPattern {
        from: in_turn.at.from,
        verbs: vec![verb],
        resource: Some(request.resource.clone()),
        subresource: request.subresource.clone(),
        of: in_turn.at.of.clone().filter(|_| request.name.is_some()),
        sets: sets(request),
        dry_run: Some(request.is_dry_run()),
        nth: None,
        after: None,
    };
    let fault =
        Fault { name: in_turn.name.clone(), at, effect: deed.effect(), times: FaultTimes::Once };
    Some(Case { id: format!("{}-{kind}", deed.as_str()), fault: Some(fault) })
}

const VERBS: [&str; 8] =
    ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];

fn sets(request: &Request) -> Vec<Setting> {
    let asks = Asks::of(request);
    let mut sets: Vec<_> =
        asks.checks.iter().map(|(_, state)| Setting::Check(state.clone())).collect();
    sets.extend(asks.count.map(|_| Setting::Count(None)));
    sets.extend(asks.suspend.map(Setting::Suspended));
    sets.extend(asks.active.map(Setting::Active));
    let marks = [(asks.opened, Mark::Opened), (asks.held, Mark::Held), (asks.ended, Mark::Ended)];
    sets.extend(marks.into_iter().filter(|(is, _)| *is).map(|(_, mark)| Setting::Mark(mark)));
    sets
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::history::told::{NAME, Told};
    use crate::history::{Role, StepBegan, StepEnded, Subject};
    use crate::scenario::parse;

    const TEXT: &str = "
title: In turn
why: For a test.
proves: [EX-01]
given: { mode: kueue, queue: { cpu: 4 }, controller: { replicas: 1 } }
steps:
  - start: { job: train, cpu: 1 }
  - in-turn: { at: { from: controller-0, verb: [read, write] }, do: [kill-before, lose-answer], as: crash }
  - open: train
  - until: { any: [ { met: crash }, { running: train } ] }
  - until: { running: train }
then: [ { executions: { of: train, count: 1, identity: increasing } } ]
witness: [ { met: crash } ]
";

    fn request(number: u64, verb: &str, resource: &str, body: Option<Value>) -> What {
        What::Request(Box::new(Request {
            request: number,
            from: Subject { role: Role::Controller, replica: 0 },
            verb: verb.to_owned(),
            patch: None,
            group: String::new(),
            resource: resource.to_owned(),
            subresource: None,
            namespace: Some("ns".to_owned()),
            name: Some(NAME.to_owned()),
            query: BTreeMap::new(),
            user: None,
            body,
        }))
    }

    fn ids(told: &Told) -> Vec<String> {
        let scenario = parse("a/b", "a/b.yaml", TEXT).unwrap();
        let cases = of_history(&scenario, &told.clone().history());
        cases.into_iter().map(|case| case.id).collect()
    }

    /// The reference run up to the wait for the fault, with these requests in its middle.
    fn reference(requests: Vec<What>) -> Told {
        let mut told = Told::kueue();
        let began = |index| What::StepBegan(StepBegan { index, line: 1, text: String::new() });
        told.starts();
        told.tell(Some(200), began(1));
        for request in requests {
            told.tell(None, request);
        }
        told.tell(Some(300), What::StepEnded(StepEnded { index: 3 }));
        told
    }

    #[test]
    fn each_kind_of_request_is_a_case_for_each_deed() {
        let ready = json!({"status": {"admissionChecks": [{"name": "c", "state": "Ready"}]}});
        let told = reference(vec![
            request(1, "list", "pods", None),
            request(2, "list", "pods", None),
            request(3, "patch", "workloads", Some(ready)),
        ]);
        assert_eq!(
            ids(&told),
            [
                "kill-before-list-pods",
                "lose-answer-list-pods",
                "kill-before-patch-workloads-ready",
                "lose-answer-patch-workloads-ready",
            ]
        );
    }

    #[test]
    fn what_is_asked_for_after_the_wait_for_the_fault_is_no_case() {
        let mut told = reference(vec![request(1, "list", "pods", None)]);
        told.tell(None, request(2, "get", "jobsets", None));
        assert_eq!(ids(&told), ["kill-before-list-pods", "lose-answer-list-pods"]);
    }

    #[test]
    fn a_watch_is_not_gone_through_unless_it_is_asked_for() {
        assert!(ids(&reference(vec![request(1, "watch", "pods", None)])).is_empty());
    }
}
