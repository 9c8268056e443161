//! OP-08 and OP-09: Open of an object that ended closed, and of one past its gate.
//!
//! # What they say
//! `Open` on an object that ended without being opened is rejected (OP-08). On an object past its gate,
//! with the mark and without dispatch's gate, it succeeds and writes nothing. The gate gone without
//! the mark is a state of its own, which `Open` mends and `Status` names (OP-09).
//!
//! # Why it matters
//! `Open` is repeated after a crash and after a lost answer. Who writes again, or fails, makes the
//! repeat unsafe.
//!
//! # How they are judged
//! Only where the object was in that state from the call to its answer; of one that had ended, that it
//! was closed before the call is enough. What `Open` wrote is in the
//! adapter's requests, where these are recorded and no other call overlaps.
//!
//! # A history that breaks them
//! The object ended closed, and `Open` succeeds. The object is open, and a second `Open` patches it.

use dispatch_contract::resources::TrainJob;
use dispatch_contract::{ErrorKind, StatusAnswer};
use serde::Deserialize;

use crate::history::{Call, Exchange, Kind, Role, Verb, Version};
use crate::rules::answers::is_excused;
use crate::rules::ca::status::state_during;
use crate::rules::case::{Case, Family};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const OP_08: Judge = Judge {
    rule: "OP-08",
    reads: &[Kind::TrainJob],
    brings_about: &["CA-07"],
    decide: ended_is_rejected,
    #[cfg(test)]
    breaking: tests::opens_an_ended_one,
};

pub(in crate::rules) const OP_09: Judge = Judge {
    rule: "OP-09",
    reads: &[Kind::TrainJob, Kind::Workload, Kind::Pod],
    brings_about: &[],
    decide: past_writes_nothing,
    #[cfg(test)]
    breaking: tests::writes_again,
};

/// Whether this is so in every version from one order to another, in which the object is there.
fn throughout(family: &Family<'_>, (from, to): (u64, u64), is: impl Fn(&TrainJob) -> bool) -> bool {
    let holds = |version: &Version| !version.is_deletion() && version.trainjob().is_some_and(&is);
    family.trainjob.at(from).is_some_and(holds)
        && family.trainjob.between(from, to).iter().all(holds)
}

fn has_ended(trainjob: &TrainJob) -> bool {
    trainjob.end().is_some() || trainjob.ended_mark().is_some()
}

fn answered_calls<'c>(
    case: &'c Case<'_>,
    family: &'c Family<'_>,
    verb: Verb,
) -> impl Iterator<Item = (&'c Call, (u64, u64))> {
    let calls = case.calls_for(verb, family.trainjob).filter(|call| call.answered.is_some());
    calls.filter_map(|call| Some((call, call.orders()?)))
}

fn ended_is_rejected(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    for family in &case.objects {
        for (call, orders) in answered_calls(case, family, Verb::Open) {
            // What this very call opened was closed before it.
            let closed = |version: &Version| version.trainjob().is_some_and(|it| !it.is_opened());
            let was_closed = family.trainjob.at(orders.0).is_some_and(closed);
            if !was_closed || !throughout(family, orders, has_ended) {
                continue;
            }
            seen = true;
            let rejected = call.failed().is_some_and(|error| error.kind == ErrorKind::Rejected);
            let wrong = match (call.ok(), call.failed()) {
                (Some(_), _) => "succeeded".to_owned(),
                (_, Some(error)) if !rejected && !is_excused(call) => {
                    format!("failed as {}", error.kind)
                }
                _ => continue,
            };
            let name = &family.trainjob.name;
            let because = format!("{name} had ended without being opened, and Open {wrong}");
            return Verdict::fail(because, call.events());
        }
    }
    Verdict::pass_if_seen(seen, "Open of an object that had ended without being opened")
}

fn past_writes_nothing(case: &Case<'_>) -> Verdict {
    if !case.is_kueue() {
        return Verdict::not_applicable("what Open does in plain mode is OP-06's");
    }
    let mut seen = false;
    for family in &case.objects {
        for (call, orders) in answered_calls(case, family, Verb::Open) {
            let past = |it: &TrainJob| it.is_opened() && !it.gates().has_dispatch();
            let gone = |it: &TrainJob| !it.is_opened() && !it.gates().has_dispatch();
            let going = |it: &TrainJob| it.metadata.deletion_timestamp.is_some();
            let wrong = if throughout(family, orders, |it| past(it) && !going(it)) {
                seen = true;
                past_its_gate(case, family, call, orders)
            } else if throughout(family, orders, |it| gone(it) && !has_ended(it) && !going(it)) {
                // It was so before the call, and still is.
                seen = true;
                call.ok().map(|_| ("succeeded without setting the mark".to_owned(), None))
            } else {
                continue;
            };
            if let Some((wrong, seq)) = wrong {
                let because = format!(
                    "dispatch's gate was gone from {}, and Open {wrong}",
                    family.trainjob.name
                );
                return Verdict::fail(because, call.events().chain(seq));
            }
        }
        for (call, orders) in answered_calls(case, family, Verb::Status) {
            let Some(answer) = call.ok().and_then(|it| StatusAnswer::deserialize(it).ok()) else {
                continue;
            };
            if state_during(case, family, orders) != Some("gate-gone") {
                continue;
            }
            seen = true;
            let found = answer.state.name();
            if found != "gate-gone" {
                let because = format!(
                    "the gate of {} was gone without the mark, and Status said {found}",
                    family.trainjob.name
                );
                return Verdict::fail(because, call.events());
            }
        }
    }
    Verdict::pass_if_seen(seen, "answer about an object past its gate")
}

/// What `Open` did wrong with an object that is past its gate.
fn past_its_gate(
    case: &Case<'_>,
    family: &Family<'_>,
    call: &Call,
    orders: (u64, u64),
) -> Option<(String, Option<u64>)> {
    if let (Some(error), false) = (call.failed(), is_excused(call)) {
        // Whether an ended object can be opened once more is no question of its gate.
        let ended = !throughout(family, orders, |it| !has_ended(it));
        return (!ended).then(|| (format!("failed as {}", error.kind), None));
    }
    let is_its = |exchange: &&Exchange| {
        let request = &exchange.request;
        let name = request.name.as_deref();
        let names = |trail: &crate::history::Trail| name == Some(trail.name.as_str());
        let its = match request.kind() {
            Some(Kind::TrainJob) => names(family.trainjob),
            Some(Kind::Workload) => family.workloads.iter().any(|workload| names(workload)),
            _ => false,
        };
        its && request.from.role == Role::Adapter && request.is_write() && !request.is_dry_run()
    };
    if !case.requests.is_alone(call) {
        return None;
    }
    let write = case.requests.during(call).find(is_its)?;
    let kind = write.request.kind().map_or("", Kind::as_str);
    Some((format!("sent a {} of the {kind}", write.request.verb), Some(write.seq)))
}

#[cfg(test)]
mod tests {
    use dispatch_contract::names;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::history::History;
    use crate::history::told::{ADAPTER, NAME, Told};
    use crate::rules::tests::assert_verdict;

    fn ended_closed() -> Told {
        let mut told = Told::kueue();
        told.starts().ends("Failed").calls(Verb::Open);
        told
    }

    pub(super) fn opens_an_ended_one() -> History {
        ended_closed().answers(json!({})).history()
    }

    #[rstest]
    #[case::rejected(ended_closed().fails(ErrorKind::Rejected).history(), "pass")]
    #[case::rejected_by_the_mark(
        Told::kueue().starts().marks_ended().calls(Verb::Open).fails(ErrorKind::Rejected).history(),
        "pass")]
    #[case::the_cluster_is_away(ended_closed().fails(ErrorKind::Unavailable).history(), "pass")]
    #[case::ends_meanwhile(
        Told::kueue().starts().calls(Verb::Open).ends("Failed").answers(json!({})).history(), "n/a")]
    #[case::ended_after_it_was_opened(
        Told::kueue().runs().ends("Failed").calls(Verb::Open).answers(json!({})).history(), "n/a")]
    #[case::never_ended(Told::kueue().starts().opens().history(), "n/a")]
    #[case::succeeds(opens_an_ended_one(), "and Open succeeded")]
    #[case::opens_it(ended_closed().opens_gate().answers(json!({})).history(), "and Open succeeded")]
    #[case::fails_for_another_reason(
        ended_closed().fails(ErrorKind::Refused).history(), "and Open failed as refused")]
    fn an_object_that_ended_closed_is_not_opened(#[case] history: History, #[case] expected: &str) {
        assert_verdict("OP-08", &history, expected);
    }

    fn again() -> Told {
        let mut told = Told::kueue();
        told.starts_by(ADAPTER).opens_by(ADAPTER);
        told.calls(Verb::Open).reads(ADAPTER, Kind::TrainJob, NAME);
        told
    }

    pub(super) fn writes_again() -> History {
        again().opens_gate_by(ADAPTER).answers(json!({})).history()
    }

    fn gate_deleted() -> Told {
        let mut told = Told::kueue();
        told.starts().trainjob(|it| {
            it["metadata"]["annotations"] = json!({names::ADMISSION_COUNT: "0"});
        });
        told.ungates();
        told
    }

    fn says(told: &mut Told, state: &Value) -> History {
        told.calls(Verb::Status).answers(json!({"state": state})).history()
    }

    #[rstest]
    #[case::succeeds(again().answers(json!({})).history(), "pass")]
    #[case::the_cluster_is_away(again().fails(ErrorKind::Unavailable).history(), "pass")]
    #[case::without_requests(
        Told::kueue().runs().calls(Verb::Open).answers(json!({})).history(), "pass")]
    #[case::another_call_overlaps(
        again().calls(Verb::Hold).opens_gate_by(ADAPTER).answers(json!({})).history(), "n/a")]
    #[case::opened_for_the_first_time(Told::kueue().starts().opens().history(), "n/a")]
    #[case::open_mends(
        gate_deleted().calls(Verb::Open).opens_gate().answers(json!({})).history(), "n/a")]
    #[case::status_names_it(says(&mut gate_deleted(), &json!("gate-gone")), "pass")]
    #[case::plain(Told::plain().history(), "n/a")]
    #[case::writes_again(writes_again(), "and Open sent a patch of the TrainJob")]
    #[case::fails(again().fails(ErrorKind::Refused).history(), "and Open failed as refused")]
    #[case::open_does_not_mend(
        gate_deleted().calls(Verb::Open).answers(json!({})).history(),
        "and Open succeeded without setting the mark")]
    #[case::status_does_not_name_it(
        says(&mut gate_deleted(), &json!({"queued": {"reason": ""}})), "and Status said queued")]
    fn open_past_the_gate_writes_nothing(#[case] history: History, #[case] expected: &str) {
        assert_verdict("OP-09", &history, expected);
    }
}
