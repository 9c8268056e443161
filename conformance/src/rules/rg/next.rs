//! RG-13: the next A.
//!
//! # What it says
//! The next A is one more than the highest of the count, dispatch's runtime patch and the pods that
//! are owned through to the `TrainJob`. A count that was removed or lowered is restored, never
//! followed down; unreadable values are ignored; with none readable, or above 2^42, there is no raise,
//! and the check says so.
//!
//! # Why it matters
//! People and webhooks edit annotations. A count that is followed down gives an identity twice; one
//! that is taken from anybody's pod can be driven to the end of its range.
//!
//! # How it is judged
//! The raise carries the version of the `TrainJob` that it was decided from. A pod that was there
//! from that version to the raise was seen; one that was there for a part of that time may have
//! been.
//!
//! # A history that breaks it
//! The count is 4, somebody sets it to 1, and the next raise is to 2.

use std::collections::BTreeSet;

use dispatch_contract::resources::{CheckState, Workload};
use dispatch_contract::{AdmissionCount, names};

use crate::history::{Asks, Kind, Lives, Role, Trail, Version};
use crate::rules::case::{self, Case, Family, Raise};
use crate::rules::span::{Span, Spans, overdue};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const RG_13: Judge = Judge {
    rule: "RG-13",
    reads: &[Kind::TrainJob, Kind::Workload, Kind::Job, Kind::Pod],
    brings_about: &["EX-01", "EX-03"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::followed_down,
};

fn judge(case: &Case<'_>) -> Verdict {
    if !case.is_kueue() {
        return Verdict::not_applicable("there is no readmission gate in plain mode");
    }
    if let Some((because, seq)) = too_high(case) {
        return Verdict::fail(because, [seq]);
    }
    let mut seen = false;
    for family in &case.objects {
        let owned = family.pods.iter().copied().filter(|pod| is_owned(case, family, pod));
        let pods = Lives::until_gone(&owned.collect::<Vec<_>>());
        for raise in &family.raises {
            seen = true;
            if let Err(why) = check(&pods, raise) {
                let name = &family.trainjob.name;
                let because = format!("A of {name} was raised to {}, and {why}", raise.to);
                return Verdict::fail(because, [raise.before.seq, raise.after.seq]);
            }
        }
        for workload in &family.workloads {
            for check in &case.checks {
                let spans = unreadable(family, workload, check);
                seen |= !spans.is_empty();
                if let Some(late) = overdue(case, &spans) {
                    let because = format!(
                        "no count of {} was readable, and the message of check {check} did not say so",
                        family.trainjob.name
                    );
                    return Verdict::fail(because, [late.seq]);
                }
            }
        }
    }
    Verdict::pass_if_seen(seen, "raise")
}

fn check(pods: &Lives<'_>, raise: &Raise<'_>) -> Result<(), String> {
    let written = in_the_trainjob(raise.before);
    let (from, to) = (raise.before.order, raise.after.order);
    let there = |pod: &&Trail| pod.at(from).is_some() && pod.at(to).is_some();
    let least = written.max(pods.at(from).filter(there).filter_map(admission).max());
    let most = written.max(pods.during(from, to).filter_map(admission).max());
    let Some(most) = most else { return Err("no value before it was readable".to_owned()) };
    if least.is_some_and(|least| raise.to <= least) {
        return Err(format!("{} was given before", raise.to));
    }
    if most.next().is_none_or(|next| raise.to > next) {
        return Err(format!("the highest before it was {most}"));
    }
    Ok(())
}

/// A write of the controller's that asks for more than the greatest A there is.
fn too_high(case: &Case<'_>) -> Option<(String, u64)> {
    let mut writes = case.requests.changes(Role::Controller);
    writes.find_map(|(exchange, kind)| {
        let asks = Asks::of(&exchange.request);
        let text = asks.count.filter(|_| kind == Kind::TrainJob)?;
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let too_high = is_number && text.parse::<AdmissionCount>().is_err();
        let name = exchange.request.name.as_deref().unwrap_or_default();
        let because =
            format!("A of {name} was to be raised to {text}, above the greatest there is");
        (too_high && !text.starts_with('0')).then_some((because, exchange.seq))
    })
}

/// When nothing but an A to go on from was missing, and the check's message said nothing: what Kueue
/// writes as it resets the check says nothing either.
fn unreadable(family: &Family<'_>, workload: &Trail, check: &str) -> Vec<Span> {
    let trails = [family.trainjob, workload].into_iter().chain(family.pods.iter().copied());
    let (mut trainjob, mut waits): (Option<&Version>, Option<&Workload>) = (None, None);
    let mut pods = BTreeSet::new();
    let mut spans = Spans::default();
    for (trail, version) in case::merged(trails) {
        let there = !version.is_deletion();
        match trail.kind {
            Kind::TrainJob => trainjob = Some(version).filter(|_| there),
            Kind::Workload => waits = version.workload().filter(|_| there),
            _ if there => {
                pods.insert(trail.uid.as_str());
            }
            _ => {
                pods.remove(trail.uid.as_str());
            }
        }
        let none = trainjob.is_some_and(|it| in_the_trainjob(it).is_none()) && pods.is_empty();
        let open = trainjob.and_then(Version::trainjob).is_some_and(|it| {
            it.is_opened() && !it.gates().has_dispatch() && it.hold_token().is_none()
        });
        let check = waits.filter(|it| case::may_act(it).is_ok()).and_then(|it| it.check(check));
        let silent = check.is_some_and(|it| {
            let message = it.message.trim();
            let nothing = message.is_empty() || message.starts_with("Reset to Pending");
            it.state == CheckState::Pending && nothing
        });
        spans.tell(none && open && silent, version.at, version.seq);
    }
    spans.done()
}

fn in_the_trainjob(version: &Version) -> Option<AdmissionCount> {
    let trainjob = version.trainjob()?;
    let patched = trainjob.patched_admissions().into_values().flatten();
    let texts = trainjob.annotation(names::ADMISSION_COUNT).into_iter().chain(patched);
    texts.filter_map(|text| text.parse().ok()).max()
}

/// Whether a chain of owners leads from the pod to the `TrainJob`: a label is not enough.
fn is_owned(case: &Case<'_>, family: &Family<'_>, pod: &Trail) -> bool {
    let raw = pod.first().and_then(|version| case.history.raw(version));
    let owners = raw.and_then(|raw| raw["metadata"]["ownerReferences"].as_array());
    let mut owners = owners.into_iter().flatten().filter_map(|owner| owner["uid"].as_str());
    owners.any(|owner| family.jobs.iter().any(|job| job.uid == owner))
}

fn admission(pod: &Trail) -> Option<AdmissionCount> {
    let annotations = pod.first()?.pod()?.metadata.annotations.as_ref()?;
    annotations.get(names::POD_ADMISSION)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::history::History;
    use crate::history::told::{CONTROLLER, NAME, Told, ask, raise, set_check};
    use crate::rules::tests::assert_verdict;

    fn count(trainjob: &mut Value, text: &str) {
        trainjob["metadata"]["annotations"][names::ADMISSION_COUNT] = json!(text);
    }

    fn at_four() -> Told {
        let mut told = Told::kueue();
        told.waits().raises(1).raises(2).raises(3).raises(4);
        told
    }

    /// Everything in the object was lowered, and a pod shows that 4 was given.
    pub(super) fn followed_down() -> History {
        at_four().pod("pod-4", "4").trainjob(|it| raise(it, 1)).raises(2).history()
    }

    /// Nothing is left to go on from.
    fn lost() -> Told {
        let mut told = Told::kueue();
        told.waits().trainjob(|it| {
            count(it, "x");
            let patch = &mut it["spec"]["runtimePatches"][1]["trainingRuntimeSpec"]["template"];
            patch["spec"]["replicatedJobs"] = json!([]);
        });
        told
    }

    fn asks_for(a: &str) -> History {
        let mut told = Told::kueue();
        told.waits().looks(CONTROLLER);
        let body = json!({"metadata": {"annotations": {names::ADMISSION_COUNT: a}}});
        let body = told.body(Kind::TrainJob, NAME, body);
        let request = ask(CONTROLLER, "patch", Kind::TrainJob, NAME).with(body);
        told.request(request).sent().refused(422, "Invalid", "no").history()
    }

    fn stranger() -> History {
        let mut told = Told::kueue();
        told.waits().create(
            Kind::Pod,
            json!({"metadata": {"name": "stranger", "namespace": "ns", "uid": "uid-stranger",
                "labels": {names::JOBSET_NAME: NAME},
                "annotations": {names::POD_ADMISSION: "7"}}}),
        );
        told.raises(8).history()
    }

    #[rstest]
    #[case::by_the_rules(at_four().history(), "pass")]
    #[case::no_raise(Told::kueue().waits().history(), "n/a")]
    #[case::restored(at_four().trainjob(|it| count(it, "1")).raises(5).history(), "pass")]
    #[case::restored_after_it_was_removed(
        at_four().trainjob(|it| {
            it["metadata"]["annotations"].as_object_mut().unwrap().remove(names::ADMISSION_COUNT);
        }).raises(5).history(),
        "pass")]
    #[case::followed_down(followed_down(), "2 was given before")]
    #[case::followed_down_below_the_patch(
        at_four().trainjob(|it| count(it, "1")).trainjob(|it| count(it, "2")).history(),
        "2 was given before")]
    #[case::skipped(Told::kueue().waits().raises(2).history(), "the highest before it was 0")]
    #[case::taken_from_a_strangers_pod(stranger(), "the highest before it was 0")]
    #[case::above_a_pod_of_its_own(
        Told::kueue().waits().pod("pod-4", "4").raises(5).history(), "pass")]
    #[case::nothing_is_readable_and_it_is_said(
        lost().workload(|it| set_check(it, "Pending", "no readable count")).seconds(60).history(),
        "pass")]
    #[case::nothing_is_readable_and_nobody_says_so(
        lost().seconds(11).history(), "and the message of check dispatch-check did not say so")]
    #[case::the_greatest(asks_for("4398046511104"), "n/a")]
    #[case::above_the_greatest(asks_for("4398046511105"), "above the greatest there is")]
    #[case::nothing_was_readable(
        Told::kueue().waits().trainjob(|it| {
            raise(it, 0);
            let patch = &mut it["spec"]["runtimePatches"][1]["trainingRuntimeSpec"]["template"];
            patch["spec"]["replicatedJobs"] = json!([]);
            count(it, "x");
        }).raises(1).history(),
        "no value before it was readable")]
    fn the_next_a_is_one_above_the_highest(#[case] history: History, #[case] expected: &str) {
        assert_verdict("RG-13", &history, expected);
    }
}
