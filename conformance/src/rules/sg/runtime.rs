//! SG-09: the runtime stays what it was.
//!
//! # What it says
//! `Start` records a digest of the resolved runtime; while the runtime differs, the check stays Pending
//! with that reason, and `Status` says so. A runtime with `ttlSecondsAfterFinished` is refused; one whose
//! Jobs lack `podReplacementPolicy: Failed` is warned of.
//!
//! # Why it matters
//! Trainer makes the `JobSet` from the runtime as it is. After an edit JobSet's webhook refuses that for
//! ever: the object is admitted, holds its quota and runs nothing.
//!
//! # How it is judged
//! For runtimes of the namespace, which are recorded. `Start` may have read any version that was there
//! during the call. A Ready is blamed where the edit was there for a second before its raise. That the
//! reason is said is due within the time of RG-15, while nothing else stands against Ready: the message
//! has the word runtime, or its name.
//!
//! # A history that breaks it
//! The runtime is edited while the object waits, and the check becomes Ready.

use std::collections::BTreeSet;

use dispatch_contract::resources::{CheckState, TrainJob, Workload};
use dispatch_contract::{State, StatusAnswer, names};
use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::Value;

use crate::history::{Kind, Trail, Verb, Version};
use crate::rules::case::{self, Case, Family, Ready};
use crate::rules::rg::in_time::may_run;
use crate::rules::runtime::Runtime;
use crate::rules::span::{Span, Spans, overdue};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const SG_09: Judge = Judge {
    rule: "SG-09",
    reads: &[Kind::TrainingRuntime, Kind::TrainJob, Kind::Workload, Kind::Pod],
    brings_about: &["RG-15"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::ready_though_edited,
};

/// By how much the recorder may have seen an edit earlier than a controller that reads it.
const TOLERANCE: SignedDuration = SignedDuration::from_secs(1);

fn judge(case: &Case<'_>) -> Verdict {
    if let Some(broken) = started_wrongly(case) {
        return broken;
    }
    let mut seen = false;
    for family in &case.objects {
        let Some(runtime) = Runtime::of(case, family) else { continue };
        seen = true;
        let name = &family.trainjob.name;
        for ready in &family.readies {
            if let Some(edit) = edited_before(&runtime, family, ready) {
                let because = format!(
                    "the runtime {} was not what it had been when {name} was started, and check {} \
                     became Ready",
                    runtime.name, ready.check
                );
                return Verdict::fail(because, [edit.seq, ready.version.seq]);
            }
        }
        for workload in &family.workloads {
            for check in &case.checks {
                if let Some(late) = overdue(case, &silent(family, &runtime, workload, check)) {
                    let because = format!(
                        "the runtime {} was not what it had been when {name} was started, and the \
                         message of check {check} did not say so",
                        runtime.name
                    );
                    return Verdict::fail(because, [late.seq]);
                }
            }
        }
        if let Some(events) = silent_status(case, family, &runtime) {
            let because = format!(
                "{name} waited since its runtime {} had been edited, and Status did not say so",
                runtime.name
            );
            return Verdict::fail(because, events);
        }
    }
    Verdict::pass_if_seen(seen, "object whose runtime was recorded")
}

/// A `Start` that succeeded without a digest, with a runtime that is refused, or without a warning.
fn started_wrongly(case: &Case<'_>) -> Option<Verdict> {
    for family in &case.objects {
        for call in case.calls_for(Verb::Start, family.trainjob) {
            let (Some(answer), Some(order)) = (call.ok(), call.answered_order()) else { continue };
            let name = &family.trainjob.name;
            let trainjob = family.trainjob.at(order).and_then(Version::trainjob);
            let recorded = trainjob.is_none_or(|it| {
                it.annotation(names::RUNTIME_DIGEST).is_some_and(|digest| !digest.is_empty())
            });
            if !recorded {
                let because = format!(
                    "Start of {name} succeeded, and recorded no digest of its \
                                       runtime"
                );
                return Some(Verdict::fail(because, call.events()));
            }
            let Some(runtime) = Runtime::of(case, family) else { continue };
            // Whoever repeats the call gets the object that was accepted before.
            if call.invoked_order.is_some_and(|order| family.trainjob.created() <= order) {
                continue;
            }
            let what = match () {
                () if runtime.was_always(deletes_jobsets) => "sets ttlSecondsAfterFinished",
                () if runtime.was_always(replaces_at_once) && !warns(answer) => {
                    "replaces Terminating pods at once, of which nothing warned"
                }
                () => continue,
            };
            let because =
                format!("Start of {name} succeeded, though its runtime {} {what}", runtime.name);
            return Some(Verdict::fail(because, call.events()));
        }
    }
    None
}

fn warns(answer: &Value) -> bool {
    answer["warnings"].as_array().is_some_and(|warnings| !warnings.is_empty())
}

fn deletes_jobsets(spec: &Value) -> bool {
    !spec["template"]["spec"]["ttlSecondsAfterFinished"].is_null()
}

fn replaces_at_once(spec: &Value) -> bool {
    let jobs = spec["template"]["spec"]["replicatedJobs"].as_array();
    let hasty = |job: &Value| job["template"]["spec"]["podReplacementPolicy"] != "Failed";
    jobs.is_some_and(|jobs| jobs.iter().any(hasty))
}

/// The edit that had been there for a while when the raise for a Ready was made, and was there still.
fn edited_before<'a>(
    runtime: &Runtime<'a>,
    family: &Family<'_>,
    ready: &Ready<'_>,
) -> Option<&'a Version> {
    let raised = family.raise_for(ready).map(|raise| (raise.before, raise.after));
    let (known, decided) = raised.unwrap_or((ready.version, ready.version));
    let trainjob = known.trainjob().or(family.trainjob.at(known.order)?.trainjob())?;
    // Without the digest nobody can tell.
    trainjob.annotation(names::RUNTIME_DIGEST)?;
    let edit = runtime.last_change(decided.order)?;
    let stood = edit.at + TOLERANCE <= decided.at;
    let stays = runtime.last_change(ready.version.order).map(|it| it.order) == Some(edit.order);
    (stood && stays && runtime.differs_at(decided.order)).then_some(edit)
}

/// When the check waited for the runtime alone, and its message did not say so.
fn silent(family: &Family<'_>, runtime: &Runtime<'_>, workload: &Trail, check: &str) -> Vec<Span> {
    let pods = family.pods.iter().copied();
    let trails = [family.trainjob, workload].into_iter().chain(runtime.trails.iter().copied());
    let (mut trainjob, mut waits): (Option<&TrainJob>, Option<&Workload>) = (None, None);
    let mut live = BTreeSet::new();
    let mut spans = Spans::default();
    for (trail, version) in case::merged(trails.chain(pods)) {
        let there = !version.is_deletion();
        match trail.kind {
            Kind::TrainJob => trainjob = version.trainjob().filter(|_| there),
            Kind::Workload => waits = version.workload().filter(|_| there),
            Kind::Pod if trail.lives_at(version.order) => {
                live.insert(trail.uid.as_str());
            }
            Kind::Pod => {
                live.remove(trail.uid.as_str());
            }
            _ => {}
        }
        let check = waits.filter(|it| case::may_act(it).is_ok()).and_then(|it| it.check(check));
        let pending = check.filter(|check| check.state == CheckState::Pending);
        let recorded = |it: &TrainJob| it.annotation(names::RUNTIME_DIGEST).is_some();
        let silent = pending.is_some_and(|check| !says(&check.message, runtime))
            && trainjob.is_some_and(|it| may_run(it) && recorded(it))
            && live.is_empty()
            && runtime.differs_at(version.order);
        spans.tell(silent, version.at, version.seq);
    }
    spans.done()
}

fn says(message: &str, runtime: &Runtime<'_>) -> bool {
    message.contains(runtime.name) || message.to_lowercase().contains("runtime")
}

/// A `Status` that keeps to itself what the check says of the runtime.
fn silent_status(
    case: &Case<'_>,
    family: &Family<'_>,
    runtime: &Runtime<'_>,
) -> Option<impl Iterator<Item = u64> + use<>> {
    let call = case.calls_for(Verb::Status, family.trainjob).find(|call| {
        let answer = call.ok().and_then(|it| StatusAnswer::deserialize(it).ok());
        let (Some(answer), Some((from, to))) = (answer, call.orders()) else { return false };
        let State::WaitingAtCheck { message, .. } = answer.state else { return false };
        let told = |version: &Version| {
            let workload = version.workload();
            let mut checks = workload.into_iter().flat_map(Workload::checks);
            checks.any(|it| case.checks.contains(it.name.as_str()) && says(&it.message, runtime))
        };
        let mut workloads = family.workloads.iter();
        let steady = workloads.any(|workload| {
            workload.at(from).is_some_and(told) && workload.between(from, to).iter().all(told)
        });
        steady && runtime.differs_at(from) && runtime.differs_at(to) && !says(&message, runtime)
    })?;
    Some(call.events())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::history::History;
    use crate::history::told::{NAME, Told, UID, set_check, start_input};
    use crate::rules::tests::assert_verdict;

    fn started() -> Told {
        let mut told = Told::kueue();
        told.runtime("runtime").starts();
        told
    }

    fn edits(told: &mut Told, value: Value) -> &mut Told {
        told.change(Kind::TrainingRuntime, "runtime", |it| it["spec"]["x"] = value)
    }

    /// It is edited while the object waits for quota.
    fn edited() -> Told {
        let mut told = started();
        told.opens();
        edits(&mut told, json!(1)).seconds(2).reserves();
        told
    }

    pub(super) fn ready_though_edited() -> History {
        edited().goes(1).history()
    }

    fn says(told: &mut Told, message: &str) -> Told {
        told.workload(|it| set_check(it, "Pending", message)).clone()
    }

    fn status(message: &str) -> History {
        let mut told = says(&mut edited(), "the runtime differs");
        told.calls(Verb::Status);
        told.answers(json!({"state": {"waiting-at-check": {"check": "c", "checkState": "Pending",
            "message": message}}}))
            .history()
    }

    /// Start with a runtime that was changed like this, and its answer.
    fn with(change: impl FnOnce(&mut Value), warnings: &Value) -> History {
        let mut told = Told::kueue();
        told.runtime("runtime").change(Kind::TrainingRuntime, "runtime", change);
        told.calls_with(Verb::Start, start_input()).create_trainjob();
        told.answers(json!({"name": NAME, "uid": UID, "warnings": warnings})).history()
    }

    fn hasty(runtime: &mut Value) {
        let jobs = &mut runtime["spec"]["template"]["spec"]["replicatedJobs"];
        jobs[0]["template"]["spec"] = json!({});
    }

    fn without_a_digest() -> History {
        let mut told = Told::kueue();
        told.runtime("runtime").calls_with(Verb::Start, start_input()).create_trainjob();
        told.trainjob(|it| {
            let annotations = it["metadata"]["annotations"].as_object_mut().unwrap();
            annotations.remove(names::RUNTIME_DIGEST);
        });
        told.answers(json!({"name": NAME, "uid": UID})).history()
    }

    #[rstest]
    #[case::never_edited(started().opens().reserves().goes(1).history(), "pass")]
    #[case::it_waits_and_says_so(
        says(&mut edited(), "the TrainingRuntime was edited").seconds(60).history(), "pass")]
    #[case::restored(
        edits(&mut edited(), Value::Null)
            .change(Kind::TrainingRuntime, "runtime", |it| {
                it["spec"].as_object_mut().unwrap().remove("x");
            })
            .goes(1).history(),
        "pass")]
    #[case::edited_as_it_is_raised(
        edits(&mut started().opens().reserves().clone(), json!(1)).goes(1).history(), "pass")]
    #[case::status_says_so(status("the runtime differs"), "pass")]
    #[case::warned_of(with(hasty, &json!(["pods are replaced at once"])), "pass")]
    #[case::nothing_is_known_of_it(Told::kueue().runs().history(), "n/a")]
    #[case::ready_though_edited(ready_though_edited(), "and check dispatch-check became Ready")]
    #[case::ready_though_gone(
        started().opens().delete(Kind::TrainingRuntime, "runtime").seconds(2).reserves().goes(1)
            .history(),
        "and check dispatch-check became Ready")]
    #[case::nobody_says_so(
        edited().seconds(11).history(), "the message of check dispatch-check did not say so")]
    #[case::status_does_not_say_so(status("waits"), "and Status did not say so")]
    #[case::no_digest(without_a_digest(), "recorded no digest of its runtime")]
    #[case::jobsets_are_deleted(
        with(|it| it["spec"]["template"]["spec"]["ttlSecondsAfterFinished"] = json!(0), &json!([])),
        "though its runtime runtime sets ttlSecondsAfterFinished")]
    #[case::not_warned_of(with(hasty, &json!([])), "of which nothing warned")]
    fn the_runtime_stays_what_it_was(#[case] history: History, #[case] expected: &str) {
        assert_verdict("SG-09", &history, expected);
    }
}
