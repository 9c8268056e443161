//! SG-07: Start can be repeated.
//!
//! # What it says
//! `Start` with the same name and input returns the same name and UID, after the same checks. Another
//! input is refused, and the object is left alone. A name whose Workload, JobSet, Jobs or pods of another
//! UID are still there is refused.
//!
//! # Why it matters
//! After a crash between the create and the record, the caller repeats the call. What then comes back has
//! to be the object that is there, or no object at all.
//!
//! # How it is judged
//! By the calls of `Start` under a name that is taken throughout. The same input has to succeed where
//! nothing that was written changed since it was accepted, and its Workload still carries the gate and
//! lists the check. Inputs are other ones only where they certainly ask for something else.
//!
//! # A history that breaks it
//! `Start` is repeated with the same input, and answers another UID.

use dispatch_contract::ErrorKind;

use super::compare::input_differs;
use crate::history::{Call, Exchange, Kind, Role, Trail, Verb, Version};
use crate::rules::answers::is_excused;
use crate::rules::case::{Case, Family};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const SG_07: Judge = Judge {
    rule: "SG-07",
    reads: &[Kind::TrainJob, Kind::Workload, Kind::JobSet, Kind::Job, Kind::Pod],
    brings_about: &["SG-02", "SG-05"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::another_uid,
};

fn judge(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    for call in case.calls(Verb::Start).filter(|call| call.answered.is_some()) {
        let Some(orders) = call.orders() else { continue };
        if let Some(family) = taken(case, call, orders) {
            seen = true;
            if let Some((wrong, seq)) = wrong_repeat(case, family, call, orders) {
                let because = format!("{} was there, and Start {wrong}", family.trainjob.name);
                return Verdict::fail(because, call.events().chain(seq));
            }
        }
        for left in remains(case, call, orders) {
            seen = true;
            if let Some(created) = created(case, call, orders) {
                let because = format!(
                    "Start created {} while {} {} of an earlier object of the name was there",
                    created.name, left.kind, left.name
                );
                let seqs = [created.first(), left.first()].into_iter().flatten();
                return Verdict::fail(because, call.events().chain(seqs.map(|it| it.seq)));
            }
        }
    }
    Verdict::pass_if_seen(seen, "Start under a name that was taken")
}

/// The object that had the name of a call, from before it until after its answer, or until the call
/// itself deleted it.
fn taken<'c>(case: &'c Case<'_>, call: &Call, (from, to): (u64, u64)) -> Option<&'c Family<'c>> {
    case.objects.iter().find(|family| {
        let trail = family.trainjob;
        let deletes =
            || written_to(case, family, call).is_some_and(|write| write.request.verb == "delete");
        let lasts = || trail.at(to).is_some() || deletes();
        call.name() == Some(&trail.name) && trail.at(from).is_some() && lasts()
    })
}

type Wrong = (String, Option<u64>);

fn wrong_repeat(
    case: &Case<'_>,
    family: &Family<'_>,
    call: &Call,
    (from, to): (u64, u64),
) -> Option<Wrong> {
    let uid = family.trainjob.uid.as_str();
    if let Some(answered) = call.ok().and_then(|answer| answer["uid"].as_str())
        && answered != uid
    {
        return Some((format!("answered the UID {answered}, and not {uid}"), None));
    }
    let first = first_start(case, family, call)?;
    if let Some(field) = input_differs(&first.invoked.input, &call.invoked.input) {
        if call.ok().is_some() {
            return Some((format!("with another {field} succeeded"), None));
        }
        let write = written_to(case, family, call)?;
        let what = format!("with another {field} sent a {} of it", write.request.verb);
        return Some((what, Some(write.seq)));
    }
    let same = first.invoked.input == call.invoked.input;
    let failed = call.failed().filter(|_| !is_excused(call))?;
    // The wait for the Workload has a limit of its own.
    let must_succeed = same
        && failed.kind != ErrorKind::Deadline
        && first.ok().is_some()
        && is_unchanged(case, family, first.answered_order()?, to)
        && is_gated(case, family, (from, to));
    must_succeed.then(|| (format!("with the same input failed as {}", failed.kind), None))
}

/// The `Start` that created an object, if that is another one than this.
fn first_start<'c>(case: &'c Case<'_>, family: &Family<'_>, call: &Call) -> Option<&'c Call> {
    let created = family.trainjob.created();
    let made = |it: &&Call| {
        it.invoked.call != call.invoked.call
            && it.name() == Some(&family.trainjob.name)
            && it.invoked_order.is_some_and(|order| order < created)
            && it.answered_order().is_none_or(|order| created <= order)
    };
    let mut calls = case.calls(Verb::Start).filter(made);
    // Of two calls at once either may have created it.
    let first = calls.next()?;
    calls.next().is_none().then_some(first)
}

/// A request of the call that changes the object, or what belongs to it.
fn written_to<'c>(case: &'c Case<'_>, family: &Family<'_>, call: &Call) -> Option<&'c Exchange> {
    if !case.requests.is_alone(call) {
        return None;
    }
    let is_its = |it: &&Exchange| {
        let request = &it.request;
        let name = request.name.as_deref();
        let names = |trail: &Trail| name == Some(trail.name.as_str());
        let its = match request.kind() {
            Some(Kind::TrainJob) => request.verb != "create" && names(family.trainjob),
            Some(Kind::Workload) => family.workloads.iter().any(|it| names(it)),
            _ => false,
        };
        its && request.from.role == Role::Adapter && request.is_write() && !request.is_dry_run()
    };
    case.requests.during(call).find(is_its)
}

/// Whether nothing that can be written of the object changed in this time.
fn is_unchanged(case: &Case<'_>, family: &Family<'_>, from: u64, to: u64) -> bool {
    let part = |version: &Version| {
        case.history.raw(version).map(|it| {
            let metadata = &it["metadata"];
            (
                &metadata["labels"],
                &metadata["annotations"],
                &metadata["deletionTimestamp"],
                &it["spec"],
            )
        })
    };
    let Some(first) = family.trainjob.at(from) else { return false };
    let ended = |it: &Version| it.trainjob().is_none_or(|it| it.end().is_some());
    family
        .trainjob
        .between(from, to)
        .iter()
        .chain([first])
        .all(|it| part(it) == part(first) && !ended(it))
}

/// Whether the Workload carried the gate and listed the check throughout, without quota.
fn is_gated(case: &Case<'_>, family: &Family<'_>, (from, to): (u64, u64)) -> bool {
    let Some(check) = case.begin.admission_check.as_deref() else { return false };
    let is = |version: &Version| {
        version.workload().is_some_and(|it| {
            let stands = it.is("QuotaReserved") || it.is("Admitted");
            it.gates().has_dispatch() && it.check(check).is_some() && !stands
        })
    };
    let mut workloads = family.workloads.iter();
    workloads.any(|it| it.at(from).is_some_and(is) && it.between(from, to).iter().all(is))
}

/// What was there from before the call until after it created an object, and belongs to an earlier one
/// of the name.
fn remains<'c>(case: &'c Case<'_>, call: &Call, orders: (u64, u64)) -> Vec<&'c Trail> {
    let until = created(case, call, orders).map_or(orders.1, Trail::created);
    let earlier = case.objects.iter().filter(|family| {
        let trail = family.trainjob;
        call.name() == Some(&trail.name)
            && trail.created() <= orders.0
            && trail.at(orders.0).is_none()
    });
    let below = earlier.flat_map(|family| {
        let all = family.workloads.iter().chain(&family.jobsets).chain(&family.jobs);
        all.chain(&family.pods).copied()
    });
    below.filter(|trail| trail.at(orders.0).is_some() && trail.at(until).is_some()).collect()
}

/// The object that a call created.
fn created<'c>(case: &'c Case<'_>, call: &Call, (from, to): (u64, u64)) -> Option<&'c Trail> {
    let mut trails = case.objects.iter().map(|family| family.trainjob);
    trails.find(|it| call.name() == Some(&it.name) && from < it.created() && it.created() <= to)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::history::History;
    use crate::history::told::{ADAPTER, NAME, Told, UID, ask, start_input};
    use crate::rules::tests::assert_verdict;

    fn again(input: Value) -> Told {
        let mut told = Told::kueue();
        told.starts_by(ADAPTER).calls_with(Verb::Start, input);
        told.reads(ADAPTER, Kind::TrainJob, NAME);
        told
    }

    fn other_input() -> Value {
        let mut input = start_input();
        input["trainer"] = json!({"numNodes": 2});
        input
    }

    fn same(uid: &str) -> History {
        again(start_input()).answers(json!({"name": NAME, "uid": uid})).history()
    }

    pub(super) fn another_uid() -> History {
        same("uid-other")
    }

    fn touched() -> History {
        let mut told = again(other_input());
        let body = told.body(Kind::TrainJob, NAME, json!({}));
        told.writes(ask(ADAPTER, "patch", Kind::TrainJob, NAME).with(body), |_| {});
        told.fails(ErrorKind::Refused).history()
    }

    /// The object is gone, and its pods are left; then Start creates it anew.
    fn with_remains(gone: bool) -> Told {
        let mut told = Told::kueue();
        told.starts().pod("old", "0").delete(Kind::TrainJob, NAME);
        told.delete(Kind::Workload, "workload")
            .delete(Kind::JobSet, NAME)
            .delete(Kind::Job, "node");
        if gone {
            told.pod_goes("old");
        }
        told.calls_with(Verb::Start, start_input());
        told
    }

    fn anew(told: &mut Told) -> History {
        let mut object = Told::created_body();
        object["metadata"]["uid"] = json!("uid-new");
        told.create(Kind::TrainJob, object)
            .answers(json!({"name": NAME, "uid": "uid-new"}))
            .history()
    }

    fn deleted() -> History {
        let mut told = again(other_input());
        told.request(ask(ADAPTER, "delete", Kind::TrainJob, NAME)).sent();
        told.delete(Kind::TrainJob, NAME).answered().fails(ErrorKind::Refused).history()
    }

    #[rstest]
    #[case::the_same(same(UID), "pass")]
    #[case::another_input_is_refused(
        again(other_input()).fails(ErrorKind::Refused).history(), "pass")]
    #[case::the_cluster_is_away(
        again(start_input()).fails(ErrorKind::Unavailable).history(), "pass")]
    #[case::refused_since_it_was_changed(
        Told::kueue().starts_by(ADAPTER).trainjob(|it| it["metadata"]["labels"] = json!({"a": "b"}))
            .calls_with(Verb::Start, start_input()).fails(ErrorKind::Refused).history(),
        "pass")]
    #[case::remains_are_refused(with_remains(false).fails(ErrorKind::Refused).history(), "pass")]
    #[case::the_name_is_free(anew(&mut with_remains(true)), "n/a")]
    #[case::started_once(Told::kueue().starts_by(ADAPTER).history(), "n/a")]
    #[case::another_uid(another_uid(), "answered the UID uid-other, and not uid-train")]
    #[case::another_input_succeeds(
        again(other_input()).answers(json!({"name": NAME, "uid": UID})).history(),
        "and Start with another trainer succeeded")]
    #[case::another_input_deletes_it(deleted(), "with another trainer sent a delete of it")]
    #[case::another_input_touches_it(touched(), "with another trainer sent a patch of it")]
    #[case::the_same_is_refused(
        again(start_input()).fails(ErrorKind::Refused).history(),
        "with the same input failed as refused")]
    #[case::remains_are_taken(
        anew(&mut with_remains(false)), "while Pod old of an earlier object of the name was there")]
    fn start_can_be_repeated(#[case] history: History, #[case] expected: &str) {
        assert_verdict("SG-07", &history, expected);
    }
}
