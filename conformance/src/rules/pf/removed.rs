//! PF-05: no probe is left.
//!
//! # What it says
//! The probe is removed whatever the outcome; one left by a crash is removed by a later preflight, one of a
//! live preflight is not.
//!
//! # Why it matters
//! A probe that is left waits in the queue for ever. One that is taken away from a preflight that still
//! watches it proves nothing.
//!
//! # How it is judged
//! A probe of a preflight that was answered has to be on its way out within 10 seconds of the answer. One
//! that was there before a whole preflight, and whose own was never answered, within 10 seconds of that
//! one's answer. Where two preflights overlap, only a delete by another adapter than made the probe tells.
//!
//! # A history that breaks it
//! Preflight is answered, and its probe is there a minute later.

use jiff::{SignedDuration, Timestamp};

use crate::history::{Call, CallOutcome, Exchange, Kind, Role, Trail, Verb, Version};
use crate::rules::case::Case;
use crate::rules::{Judge, Verdict};

/// How long the removal of a probe may take.
const LIMIT: SignedDuration = SignedDuration::from_secs(10);

/// For how long a preflight watches its probe, so that it can have told a live one from a dead one.
const WATCH: SignedDuration = SignedDuration::from_secs(10);

pub(in crate::rules) const PF_05: Judge = Judge {
    rule: "PF-05",
    reads: &[Kind::TrainJob],
    brings_about: &[],
    decide: judge,
    #[cfg(test)]
    breaking: tests::left,
};

fn judge(case: &Case<'_>) -> Verdict {
    let calls: Vec<_> = case.calls(Verb::Preflight).collect();
    let mut seen = false;
    let mut open = None;
    for probe in &case.probes {
        let trail = probe.trainjob;
        if let Some((because, seqs)) = taken_away(case, &calls, trail) {
            return Verdict::fail(because, seqs);
        }
        let Some(own) = maker(case, &calls, trail) else { continue };
        let due = if is_known(own) {
            own.answered.as_ref().map(|answered| (answered.at, own))
        } else {
            let later =
                calls.iter().find(|call| is_whole(call) && own.invoked_seq < call.invoked_seq);
            let later = later
                .filter(|call| call.invoked_order.is_some_and(|order| trail.at(order).is_some()));
            later.and_then(|call| Some((call.answered.as_ref()?.at, *call)))
        };
        let Some((from, call)) = due else { continue };
        if overlaps_another(&calls, call) {
            continue;
        }
        seen = true;
        match removal(trail) {
            Some(gone) if gone.at <= from + LIMIT => {}
            None if case.ended <= from + LIMIT => {
                open = Some(format!("the run ended before the probe {} was due to go", trail.name));
            }
            _ => {
                let because = if call.invoked.call == own.invoked.call {
                    format!("preflight was answered, and its probe {} was not removed", trail.name)
                } else {
                    format!(
                        "the probe {} was left by a preflight that broke off, and a later one did \
                         not remove it",
                        trail.name
                    )
                };
                let first = trail.first().map(|version| version.seq);
                return Verdict::fail(because, call.events().chain(first));
            }
        }
    }
    match open {
        Some(why) => Verdict::inconclusive(why),
        None => Verdict::pass_if_seen(seen, "probe that had to be removed"),
    }
}

/// The preflight that made a probe, as far as the time of its creation tells.
fn maker<'a>(case: &Case<'a>, calls: &[&'a Call], probe: &Trail) -> Option<&'a Call> {
    if let Some(call) = creation(case, probe).and_then(|create| case.requests.call_of(create)) {
        return Some(call);
    }
    let created = probe.created();
    let during = |call: &&&Call| {
        call.invoked_order.is_some_and(|order| order < created)
            && call.answered_order().is_none_or(|order| created <= order)
    };
    let mut during = calls.iter().filter(during);
    let call = during.next()?;
    during.next().is_none().then_some(*call)
}

fn creation<'a>(case: &Case<'a>, probe: &Trail) -> Option<&'a Exchange> {
    let made = case.requests.that_made(Kind::TrainJob, probe.created())?;
    (made.request.from.role == Role::Adapter).then_some(made)
}

/// Whether the adapter lived to answer it.
fn is_known(call: &Call) -> bool {
    let outcome = call.answered.as_ref().map(|answered| &answered.outcome);
    outcome.is_some_and(|outcome| !matches!(outcome, CallOutcome::Unknown(_)))
}

/// Whether it lasted as long as a preflight that watches a probe.
fn is_whole(call: &Call) -> bool {
    let took = |at: Timestamp| at.duration_since(call.invoked_at);
    call.ok().is_some() && call.answered.as_ref().is_some_and(|it| WATCH <= took(it.at))
}

fn overlaps_another(calls: &[&Call], call: &Call) -> bool {
    let until = |call: &Call| call.answered.as_ref().map_or(u64::MAX, |answered| answered.seq);
    calls.iter().any(|other| {
        other.invoked.call != call.invoked.call
            && is_known(other)
            && other.invoked_seq < until(call)
            && call.invoked_seq < until(other)
    })
}

/// The version as of which a probe is on its way out, or gone.
fn removal(probe: &Trail) -> Option<&Version> {
    let goes = |version: &&Version| {
        version.is_deletion()
            || version.trainjob().is_some_and(|it| it.metadata.deletion_timestamp.is_some())
    };
    probe.versions().iter().find(goes)
}

/// A delete of a probe by another adapter, while the preflight that made it was under way.
fn taken_away(case: &Case<'_>, calls: &[&Call], probe: &Trail) -> Option<(String, Vec<u64>)> {
    let create = creation(case, probe)?;
    let own = maker(case, calls, probe)?;
    let until = own.answered.as_ref().map_or(u64::MAX, |answered| answered.seq);
    let mut requests = case.requests.of(Role::Adapter);
    let delete = requests.find(|it| {
        it.request.verb == "delete"
            && it.request.kind() == Some(Kind::TrainJob)
            && it.request.name.as_deref() == Some(&probe.name)
            && it.request.from != create.request.from
            && it.was_applied()
            && own.invoked_seq < it.seq
            && it.seq < until
    })?;
    // A preflight that broke off is not live, whether or not anybody knows.
    is_known(own).then(|| {
        let because = format!(
            "{} deleted the probe {} of a preflight that was under way",
            delete.request.from, probe.name
        );
        (because, vec![create.seq, delete.seq])
    })
}

#[cfg(test)]
mod tests {
    use dispatch_contract::{ErrorKind, names};
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::history::told::{ADAPTER, Told, ask};
    use crate::history::{History, Subject};
    use crate::rules::tests::assert_verdict;

    const PROBE: &str = "dispatch-probe-1";

    fn probed() -> Told {
        let mut told = Told::kueue();
        told.preflight().probe().probe_workload("False", "AdmissionGated").seconds(10);
        told
    }

    pub(super) fn left() -> History {
        probed().proves().seconds(60).history()
    }

    /// The adapter died while it watched its probe.
    fn broken_off() -> Told {
        let mut told = probed();
        told.fails(ErrorKind::Unknown).seconds(5).preflight().seconds(20);
        told
    }

    /// Another adapter deletes the probe that this one made.
    fn deleted_by(replica: u32, answered: bool) -> History {
        let mut told = Told::kueue();
        told.preflight().request(ask(ADAPTER, "create", Kind::TrainJob, PROBE)).sent();
        told.probe().answered();
        let other = Subject { replica, ..ADAPTER };
        if answered {
            told.refuses_because("PF-01");
        }
        told.request(ask(other, "delete", Kind::TrainJob, PROBE)).sent();
        told.delete(Kind::TrainJob, PROBE).answered();
        if !answered {
            told.proves();
        }
        told.history()
    }

    #[rstest]
    #[case::removed(Told::kueue().is_proved().seconds(60).history(), "pass")]
    #[case::removed_afterwards(
        probed().refuses_because("PF-01").seconds(3).probe_goes().history(), "pass")]
    #[case::removed_after_a_failure(
        probed().probe_goes().fails(ErrorKind::Unavailable).history(), "pass")]
    #[case::on_its_way(
        probed().proves()
            .change(Kind::TrainJob, PROBE, |it| {
                it["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            })
            .seconds(60).history(),
        "pass")]
    #[case::removed_by_a_later_one(broken_off().probe_goes().proves().history(), "pass")]
    #[case::by_itself(deleted_by(0, false), "pass")]
    #[case::by_another_once_it_was_answered(deleted_by(1, true), "pass")]
    #[case::the_run_ends(probed().proves().history(), "inconclusive: the run ended before")]
    #[case::no_later_one(probed().fails(ErrorKind::Unknown).seconds(60).history(), "n/a")]
    #[case::no_probe(Told::kueue().history(), "n/a")]
    #[case::left(left(), "and its probe dispatch-probe-1 was not removed")]
    #[case::left_after_a_failure(
        probed().fails(ErrorKind::Unavailable).seconds(60).history(), "was not removed")]
    #[case::left_by_a_later_one(
        broken_off().proves().seconds(60).history(), "and a later one did not remove it")]
    #[case::taken_from_a_live_one(deleted_by(1, false), "of a preflight that was under way")]
    fn no_probe_is_left(#[case] history: History, #[case] expected: &str) {
        assert_verdict("PF-05", &history, expected);
    }

    #[test]
    fn a_probe_is_known_by_the_request_that_made_it_too() {
        let mut told = Told::kueue();
        told.preflight().request(ask(ADAPTER, "create", Kind::TrainJob, "p")).sent();
        told.create(
            Kind::TrainJob,
            json!({"metadata": {"name": "p", "namespace": "ns", "uid": "p"},
                "spec": {"suspend": true, "runtimePatches": [
                    {"manager": names::RUNTIME_PATCH_MANAGER}]}}),
        );
        let history = told.answered().proves().seconds(60).history();
        assert_verdict("PF-05", &history, "its probe p was not removed");
    }
}
