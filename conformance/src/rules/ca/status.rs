//! CA-04: Status.
//!
//! # What it says
//! `Status` gives the first state that applies, in the contract's order: not found, ended, held,
//! gated, held by an administrator, running, draining, waiting at the check, and the others.
//!
//! # Why it matters
//! People and dispatch itself act on it.
//!
//! # How it is judged
//! Only where the objects were in one state from the call to its answer, and only for states that
//! the objects show without a doubt.
//!
//! # A history that breaks it
//! The object runs, and `Status` says that it waits at the check.

use std::collections::BTreeSet;

use dispatch_contract::resources::{CheckState, Workload};
use dispatch_contract::{State, StatusAnswer};
use serde::Deserialize;

use crate::history::{Call, Kind, Trail, Verb, Version};
use crate::rules::case::{Case, Family};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const CA_04: Judge = Judge {
    rule: "CA-04",
    reads: &[Kind::TrainJob, Kind::Workload, Kind::Pod],
    brings_about: &[],
    decide: judge,
    #[cfg(test)]
    breaking: tests::another_state,
};

fn judge(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    for family in &case.objects {
        for call in case.calls_for(Verb::Status, family.trainjob) {
            let Some(answer) = call.ok().and_then(|it| StatusAnswer::deserialize(it).ok()) else {
                continue;
            };
            let (Some(from), Some(to)) = (call.invoked_order, call.answered_order()) else {
                return Verdict::inconclusive("a call of Status has no order");
            };
            let Some(expected) = state_during(case, family, (from, to)) else { continue };
            seen = true;
            let found = answer.state.name();
            let wrong = if found == expected {
                wrong_pods(family, &answer.state, (from, to))
            } else {
                Some(format!("said {found} while it was {expected}"))
            };
            if let Some(wrong) = wrong {
                let because = format!("Status of {} {wrong}", family.trainjob.name);
                return Verdict::fail(because, call.events());
            }
        }
    }
    Verdict::pass_if_seen(seen, "Status of an object in a steady and certain state")
}

/// The calls of Status for an object that were answered, each with its answer and the orders before
/// and after it. One without orders is left out: nothing can be compared with it.
pub(in crate::rules) fn answers<'c>(
    case: &'c Case<'_>,
    family: &'c Family<'_>,
) -> impl Iterator<Item = (&'c Call, StatusAnswer, (u64, u64))> {
    case.calls_for(Verb::Status, family.trainjob).filter_map(|call| {
        let answer = StatusAnswer::deserialize(call.ok()?).ok()?;
        Some((call, answer, call.orders()?))
    })
}

/// The state of an object throughout these orders; `None` if it changed, or is not certain.
pub(in crate::rules) fn state_during(
    case: &Case<'_>,
    family: &Family<'_>,
    (from, to): (u64, u64),
) -> Option<&'static str> {
    let trails = [family.trainjob].into_iter().chain(family.workloads.iter().copied());
    let trails = trails.chain(family.jobsets.iter().chain(&family.pods).copied());
    let changes = |trail: &Trail| {
        let later = trail.versions().iter().map(|version| version.order);
        later.filter(|order| from < *order && *order <= to).collect::<Vec<_>>()
    };
    let state = state_at(case, family, from)?;
    let mut orders = trails.flat_map(changes);
    orders.all(|order| state_at(case, family, order) == Some(state)).then_some(state)
}

/// What is wrong in the pods that an answer names, where the same ones lived throughout.
fn wrong_pods(family: &Family<'_>, state: &State, (from, to): (u64, u64)) -> Option<String> {
    let named = match state {
        State::Ended { pods_left, .. }
        | State::Held { pods_left }
        | State::Draining { pods_left } => pods_left,
        State::Running { pods, .. } => pods,
        _ => return None,
    };
    let live = |order| family.live_pods(order).map(|pod| pod.name.as_str()).collect();
    let lived: BTreeSet<&str> = live(from);
    let changes = |pod: &&Trail| from < pod.created() && pod.created() <= to;
    if lived != live(to) || family.pods.iter().any(changes) {
        return None;
    }
    let named: BTreeSet<&str> = named.iter().map(|pod| pod.name.as_str()).collect();
    if let Some(pod) = lived.difference(&named).next() {
        return Some(format!("did not name its pod {pod}, which lived"));
    }
    let pod = named.difference(&lived).next()?;
    Some(format!("named a pod {pod} that did not live"))
}

fn state_at(case: &Case<'_>, family: &Family<'_>, order: u64) -> Option<&'static str> {
    let Some(version) = family.trainjob.at(order) else { return Some("not-found") };
    let trainjob = version.trainjob()?;
    if trainjob.metadata.deletion_timestamp.is_some() {
        return None;
    }
    if trainjob.ended_mark().is_some() || trainjob.end().is_some() {
        return Some("ended");
    }
    if trainjob.hold_token().is_some() {
        return Some("held");
    }
    let workload = family.workloads.iter().find_map(|it| it.at(order)).and_then(Version::workload);
    if workload.is_some_and(|workload| !workload.is_active()) {
        return Some("deactivated-by-another");
    }
    if case.is_kueue() && trainjob.gates().has_dispatch() {
        return Some("gated");
    }
    if case.is_kueue() && trainjob.gates().held_by_others() {
        return trainjob.is_opened().then_some("held-by-administrator");
    }
    let live: Vec<_> = family.live_pods(order).collect();
    let terminating = |pod: &&Trail| {
        let version = pod.at(order).and_then(Version::pod);
        version.is_some_and(|pod| pod.metadata.deletion_timestamp.is_some())
    };
    if !live.is_empty() {
        let some_go = live.iter().any(terminating);
        return match (trainjob.is_suspended(), some_go) {
            (false, false) => Some("running"),
            (true, _) => Some("draining"),
            (false, true) => None,
        };
    }
    if case.is_kueue() && !trainjob.is_opened() {
        let stands = |it: &Workload| it.is("QuotaReserved") || it.is("Admitted");
        let waits = trainjob.is_suspended() && !workload.is_some_and(stands);
        return waits.then_some("gate-gone");
    }
    let workload = workload.filter(|_| trainjob.is_suspended())?;
    let waits = case
        .checks
        .iter()
        .any(|check| workload.check(check).is_some_and(|check| check.state == CheckState::Pending));
    let acts = crate::rules::case::may_act(workload).is_ok();
    (waits && acts && trainjob.is_opened()).then_some("waiting-at-check")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::history::History;
    use crate::history::told::{NAME, Told};
    use crate::rules::tests::assert_verdict;

    fn says(told: &mut Told, state: &Value) -> History {
        told.calls(Verb::Status).answers(json!({"state": state})).history()
    }

    fn pods(names: &[&str]) -> Value {
        let pod = |name: &&str| {
            json!({"name": name, "uid": format!("uid-{name}"), "phase": "Running",
                "terminating": false})
        };
        names.iter().map(pod).collect()
    }

    fn running() -> Value {
        json!({"running": {"pods": pods(&["pod-1"])}})
    }

    fn waiting() -> Value {
        json!({"waiting-at-check": {"check": "c", "checkState": "Pending", "message": ""}})
    }

    pub(super) fn another_state() -> History {
        says(Told::kueue().runs(), &waiting())
    }

    #[rstest]
    #[case::running(says(Told::kueue().runs(), &running()), "pass")]
    #[case::waiting(says(Told::kueue().waits(), &waiting()), "pass")]
    #[case::gated(says(Told::kueue().starts(), &json!("gated")), "pass")]
    #[case::not_found(
        says(Told::kueue().starts().delete(Kind::TrainJob, NAME), &json!("not-found")), "pass")]
    #[case::held(
        says(Told::kueue().runs().marks_held("a"), &json!({"held": {"podsLeft": pods(&["pod-1"])}})), "pass")]
    #[case::ended(
        says(Told::kueue().runs().ends("Failed"),
            &json!({"ended": {"how": "Failed", "opened": true, "podsLeft": pods(&["pod-1"])}})),
        "pass")]
    #[case::draining(
        says(Told::kueue().runs().evicts().suspends(),
            &json!({"draining": {"podsLeft": pods(&["pod-1"])}})),
        "pass")]
    #[case::deactivated(
        says(Told::kueue().waits().sets_active(false), &json!("deactivated-by-another")), "pass")]
    #[case::not_certain(says(Told::kueue().starts().opens(), &json!("gated")), "n/a")]
    #[case::gate_gone(
        says(Told::kueue().starts().trainjob(|it| it["metadata"]["annotations"] = json!({})),
            &json!("gate-gone")),
        "pass")]
    #[case::a_pod_is_not_named(
        says(Told::kueue().runs().evicts().suspends(), &json!({"draining": {"podsLeft": []}})),
        "did not name its pod pod-1, which lived")]
    #[case::a_pod_that_is_gone(
        says(Told::kueue().runs().pod("pod-2", "1").pod_goes("pod-2"),
            &json!({"running": {"pods": pods(&["pod-1", "pod-2"])}})),
        "named a pod pod-2 that did not live")]
    #[case::another_state(another_state(), "said waiting-at-check while it was running")]
    #[case::gone_and_running(
        says(Told::kueue().starts().delete(Kind::TrainJob, NAME), &running()),
        "said running while it was not-found")]
    #[case::it_changed_meanwhile(
        Told::kueue().waits().calls(Verb::Status).goes(1).answers(json!({"state": waiting()}))
            .history(),
        "n/a")]
    fn status_gives_the_first_state_that_applies(#[case] history: History, #[case] expected: &str) {
        assert_verdict("CA-04", &history, expected);
    }
}
