//! CA-03: Stop.
//!
//! # What it says
//! `Stop` deletes the `TrainJob`, in the background, in any state, twice, and when it is gone;
//! success means that no pod is left. No other call deletes an object.
//!
//! # Why it matters
//! Whoever hears that a job is stopped starts the next one on its checkpoint. Deleted in the
//! foreground, the `JobSet` goes first, and Trainer makes it again.
//!
//! # A history that breaks it
//! `Stop` succeeds while a pod is Terminating.
//!
//! # How it is judged
//! By what `Stop` answered and what was there then; and where requests are recorded, by the deletes
//! themselves: only `Stop`, and a `Start` that refuses, sends one, with the object's UID and not in the
//! foreground.

use dispatch_contract::{CallError, ErrorKind};

use super::deletes;
use crate::history::{Call, Kind, Verb, Version};
use crate::rules::answers::is_excused;
use crate::rules::case::{Case, Family};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const CA_03: Judge = Judge {
    rule: "CA-03",
    reads: &[Kind::TrainJob, Kind::Pod],
    brings_about: &[],
    decide: judge,
    #[cfg(test)]
    breaking: tests::a_pod_is_left,
};

fn judge(case: &Case<'_>) -> Verdict {
    if let Some((because, seq)) = deletes::wrong(case) {
        return Verdict::fail(because, [seq]);
    }
    let mut seen = false;
    for family in &case.objects {
        for call in case.calls_for(Verb::Stop, family.trainjob).filter(|call| call.ok().is_some()) {
            let (Some(answered), Some(order)) = (&call.answered, call.answered_order()) else {
                return Verdict::inconclusive("the answer of Stop has no order");
            };
            seen = true;
            let name = &family.trainjob.name;
            if let Some(pod) = family.live_pods(order).next() {
                let because = format!("Stop of {name} succeeded, and its pod {} lived", pod.name);
                let pod = pod.at(order).map(|version| version.seq);
                return Verdict::fail(because, [answered.seq].into_iter().chain(pod));
            }
            let stands = family.trainjob.at(order).filter(|version| !is_going(version));
            if let Some(version) = stands {
                let because = format!("Stop of {name} succeeded, and the TrainJob was there");
                return Verdict::fail(because, [answered.seq, version.seq]);
            }
        }
        for call in case.calls_for(Verb::Stop, family.trainjob) {
            let Some(error) = call.failed().filter(|_| !is_excused(call)) else { continue };
            seen = true;
            if let Some(wrong) = wrong_failure(case, family, call, error) {
                let because = format!("Stop of {} {wrong}", family.trainjob.name);
                return Verdict::fail(because, call.events());
            }
        }
        if let Some(broken) = deleted_wrongly(case, family) {
            return broken;
        }
    }
    Verdict::pass_if_seen(seen, "Stop that was answered")
}

/// What is wrong with a `Stop` that failed.
fn wrong_failure(
    case: &Case<'_>,
    family: &Family<'_>,
    call: &Call,
    error: &CallError,
) -> Option<String> {
    let (from, to) = call.orders()?;
    let name = &family.trainjob.name;
    // Of two objects of a name, what the call says of the one that is gone is not the other's.
    let namesakes = case.history.of_kind(Kind::TrainJob).filter(|trail| trail.name == *name);
    if namesakes.count() > 1 {
        return None;
    }
    if error.kind != ErrorKind::Deadline {
        return Some(format!("failed as {}", error.kind));
    }
    let lived = |order| family.live_pods(order).map(|pod| pod.name.as_str());
    let left: Vec<_> = lived(from).filter(|pod| lived(to).any(|it| it == *pod)).collect();
    let names = left.is_empty() || left.iter().any(|pod| error.message.contains(pod));
    (!names).then(|| format!("failed, and did not name its pod {}, which lived", left[0]))
}

fn is_going(version: &Version) -> bool {
    version.trainjob().is_some_and(|it| it.metadata.deletion_timestamp.is_some())
}

/// A deletion in the foreground, or during a call that deletes nothing.
fn deleted_wrongly(case: &Case<'_>, family: &Family<'_>) -> Option<Verdict> {
    let versions = family.trainjob.versions().iter();
    let going = versions.into_iter().find(|version| version.is_deletion() || is_going(version))?;
    let name = &family.trainjob.name;
    let during = |call: &Call| {
        call.invoked_order.is_some_and(|order| order < going.order)
            && call.answered_order().is_none_or(|order| going.order <= order)
    };
    let finalizers = going.trainjob().and_then(|it| it.metadata.finalizers.as_ref());
    let foreground = finalizers.is_some_and(|all| all.iter().any(|it| it == "foregroundDeletion"));
    let mut stops = case.calls_for(Verb::Stop, family.trainjob);
    if let (true, Some(stop)) = (foreground, stops.find(|call| during(call))) {
        let because = format!("Stop deleted {name} in the foreground");
        return Some(Verdict::fail(because, [stop.invoked_seq, going.seq]));
    }
    let by_right = [Verb::Start, Verb::Stop].iter().any(|verb| {
        case.calls(*verb).any(|call| call.invoked_order.is_none_or(|order| order < going.order))
            && case
                .calls_for(*verb, family.trainjob)
                .any(|call| during(call) || *verb == Verb::Stop)
    });
    let others = [Verb::Open, Verb::Status, Verb::Hold, Verb::Release];
    let call = others
        .iter()
        .find_map(|verb| case.calls_for(*verb, family.trainjob).find(|call| during(call)))?;
    let verb = call.invoked.verb.as_str();
    let because = format!("{name} was deleted during a call of {verb}");
    (!by_right).then(|| Verdict::fail(because, [call.invoked_seq, going.seq]))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::history::History;
    use crate::history::Request;
    use crate::history::told::{ADAPTER, CONTROLLER, NAME, Told, UID, ask};
    use crate::rules::tests::assert_verdict;

    fn stopping() -> Told {
        let mut told = Told::kueue();
        told.runs().calls(Verb::Stop);
        told
    }

    fn deletes(told: &mut Told) -> &mut Told {
        told.delete(Kind::TrainJob, NAME)
    }

    fn background() -> serde_json::Value {
        json!({"preconditions": {"uid": UID}, "propagationPolicy": "Background"})
    }

    fn delete(body: &serde_json::Value) -> Request {
        ask(ADAPTER, "delete", Kind::TrainJob, NAME).with(body.clone())
    }

    /// A delete that is sent during a call.
    fn deleted(during: Verb, request: Request) -> History {
        let mut told = Told::kueue();
        told.starts().calls(during).request(request).sent();
        deletes(&mut told).answered().answers(json!({"deleted": true})).history()
    }

    pub(super) fn a_pod_is_left() -> History {
        deletes(&mut stopping()).pod_terminates("pod-1").answers(json!({"deleted": true})).history()
    }

    #[rstest]
    #[case::by_the_rules(
        deletes(&mut stopping()).pod_goes("pod-1").answers(json!({"deleted": true})).history(),
        "pass")]
    #[case::twice(
        deletes(&mut stopping()).pod_goes("pod-1").answers(json!({"deleted": true}))
            .calls(Verb::Stop).answers(json!({"deleted": false})).history(),
        "pass")]
    #[case::pods_are_named(
        deletes(&mut stopping()).pod_terminates("pod-1")
            .fails_saying(ErrorKind::Deadline, "pod-1 is Terminating").history(),
        "pass")]
    #[case::the_cluster_is_away(stopping().fails(ErrorKind::Unavailable).history(), "n/a")]
    #[case::by_a_request(deleted(Verb::Stop, delete(&background())), "pass")]
    #[case::a_refused_object(deleted(Verb::Start, delete(&background())), "n/a")]
    #[case::pods_are_not_named(
        deletes(&mut stopping()).pod_terminates("pod-1").fails(ErrorKind::Deadline).history(),
        "did not name its pod pod-1")]
    #[case::fails_for_another_reason(
        stopping().fails(ErrorKind::Rejected).history(), "failed as rejected")]
    #[case::in_no_state_is_it_not_found(
        deletes(Told::kueue().starts()).calls(Verb::Stop).fails(ErrorKind::NotFound).history(),
        "failed as not-found")]
    #[case::without_the_uid(
        deleted(Verb::Stop, delete(&json!({"propagationPolicy": "Background"}))),
        "adapter deleted dj-01k0000000000000000000000a-s1, and carried no UID")]
    #[case::without_a_body(
        deleted(Verb::Stop, ask(ADAPTER, "delete", Kind::TrainJob, NAME)),
        "and carried no UID"
    )]
    #[case::another_uid(
        deleted(Verb::Stop, delete(&json!({"preconditions": {"uid": "x"}}))),
        "carried the UID x, and not uid-train")]
    #[case::by_a_request_in_the_foreground(
        deleted(Verb::Stop, delete(&json!({"preconditions": {"uid": UID},
            "propagationPolicy": "Foreground"}))),
        "the propagation was Foreground")]
    #[case::by_hold(deleted(Verb::Hold, delete(&background())), "and the call was hold")]
    #[case::by_the_controller(
        deleted(Verb::Stop, ask(CONTROLLER, "delete", Kind::TrainJob, NAME)),
        "controller-0 deleted"
    )]
    #[case::a_collection(
        deleted(Verb::Stop, ask(ADAPTER, "deletecollection", Kind::TrainJob, "")),
        "deleted all TrainJobs that a selector names"
    )]
    #[case::a_pod_is_left(a_pod_is_left(), "succeeded, and its pod pod-1 lived")]
    #[case::not_deleted(
        stopping().pod_goes("pod-1").answers(json!({"deleted": true})).history(),
        "succeeded, and the TrainJob was there")]
    #[case::in_the_foreground(
        deletes(stopping().pod_goes("pod-1").trainjob(|it| {
            it["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            it["metadata"]["finalizers"] = json!(["foregroundDeletion"]);
        })).answers(json!({"deleted": true})).history(),
        "in the foreground")]
    #[case::deleted_by_hold(
        deletes(Told::kueue().starts().calls(Verb::Hold)).answers(json!({})).history(),
        "was deleted during a call of hold")]
    #[case::deleted_by_somebody_else(deletes(Told::kueue().starts()).history(), "n/a")]
    fn a_stopped_object_is_gone(#[case] history: History, #[case] expected: &str) {
        assert_verdict("CA-03", &history, expected);
    }
}
