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

use dispatch_contract::StatusAnswer;
use dispatch_contract::resources::CheckState;
use serde::Deserialize;

use crate::history::{Kind, Trail, Verb, Version};
use crate::rules::case::{Case, Family};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const CA_04: Judge = Judge {
    rule: "CA-04",
    reads: &[Kind::TrainJob, Kind::Workload, Kind::Pod],
    by_steps: false,
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
            let Some(expected) = state_during(case, family, from, to) else { continue };
            seen = true;
            let found = answer.state.name();
            if found != expected {
                let because = format!(
                    "Status of {} said {found} while it was {expected}",
                    family.trainjob.name
                );
                let answered = call.answered.as_ref().map(|answered| answered.seq);
                return Verdict::fail(because, [call.invoked_seq].into_iter().chain(answered));
            }
        }
    }
    Verdict::pass_if_seen(seen, "Status of an object in a steady and certain state")
}

/// The state of an object throughout these orders; `None` if it changed, or is not certain.
fn state_during(case: &Case<'_>, family: &Family<'_>, from: u64, to: u64) -> Option<&'static str> {
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

    fn running() -> Value {
        json!({"running": {"pods": []}})
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
        says(Told::kueue().runs().marks_held("a"), &json!({"held": {"podsLeft": []}})), "pass")]
    #[case::ended(
        says(Told::kueue().runs().ends("Failed"),
            &json!({"ended": {"how": "Failed", "opened": true, "podsLeft": []}})),
        "pass")]
    #[case::draining(
        says(Told::kueue().runs().evicts().suspends(), &json!({"draining": {"podsLeft": []}})),
        "pass")]
    #[case::deactivated(
        says(Told::kueue().waits().sets_active(false), &json!("deactivated-by-another")), "pass")]
    #[case::not_certain(says(Told::kueue().starts().opens(), &json!("gated")), "n/a")]
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
