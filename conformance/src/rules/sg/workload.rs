//! SG-05: the Workload carries the gate and the check.
//!
//! # What it says
//! In Kueue mode `Start` succeeds only once the object's Workload, found by its owner's UID, carries
//! the gate and lists the configured `AdmissionCheck`, both at one time.
//!
//! # Why it matters
//! Kueue ignores the gate unless its feature gate is on, and an object in a queue without the check
//! would pass no readmission gate.
//!
//! # A history that breaks it
//! `Start` succeeds, and until then no version of the Workload lists the check.

use dispatch_contract::ErrorKind;
use dispatch_contract::resources::TrainJob;

use crate::history::{Call, Kind, Trail, Verb, Version};
use crate::rules::case::Case;
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const SG_05: Judge = Judge {
    rule: "SG-05",
    reads: &[],
    brings_about: &["RG-05", "SG-02"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::without_the_check,
};

fn judge(case: &Case<'_>) -> Verdict {
    let Some(check) = case.begin.admission_check.as_deref() else {
        return Verdict::not_applicable("there are no Workloads in plain mode");
    };
    let carries = |it: &Version| it.workload().is_some_and(|it| it.gates().has_dispatch());
    let lists = |it: &Version| it.workload().is_some_and(|it| it.check(check).is_some());
    let mut seen = case.calls(Verb::Start).any(|call| {
        let mut workloads = workloads_refused(case, call).into_iter().peekable();
        workloads.peek().is_some() && !workloads.any(|it| carries(it) && lists(it))
    });
    for call in case.calls(Verb::Start).filter(|call| call.ok().is_some()) {
        let (Some(uid), Some(answered)) = (call.uid(), call.answered.as_ref()) else { continue };
        let Some(order) = answered.order else {
            return Verdict::inconclusive("the answer of Start has no order");
        };
        seen = true;
        let versions = || {
            let workloads = case.history.workloads_of(uid).into_iter();
            workloads.flat_map(Trail::versions).filter(|version| version.order <= order)
        };
        // Opened meanwhile, it was as it has to be before.
        let opened = |trail: &Trail| {
            trail.at(order).and_then(Version::trainjob).is_some_and(TrainJob::is_opened)
        };
        if case.history.object(uid).is_some_and(opened) {
            continue;
        }
        let lacks = match () {
            () if versions().next().is_none() => "before its Workload was there",
            () if !versions().any(carries) => "though its Workload had not carried the gate",
            () if !versions().any(lists) => "though its Workload had not listed the check",
            () if !versions().any(|it| carries(it) && lists(it)) => {
                "though its Workload had lost the gate before it listed the check"
            }
            () => continue,
        };
        let name = call.name().unwrap_or(uid);
        let missed =
            case.history.gaps().any(|(_, gap)| gap.kind.is_none_or(|it| it == Kind::Workload));
        if missed {
            return Verdict::inconclusive(format!(
                "Start of {name} succeeded {lacks}, or in a gap"
            ));
        }
        let because = format!("Start of {name} succeeded {lacks}");
        return Verdict::fail(because, [call.invoked_seq, answered.seq]);
    }
    Verdict::pass_if_seen(
        seen,
        "Start that succeeded, or refused an object whose Workload lacked gate or check",
    )
}

/// What there was of Workloads, until a Start refused, or gave up, the object that owned them.
fn workloads_refused<'a>(case: &Case<'a>, call: &Call) -> Vec<&'a Version> {
    let refused = call
        .failed()
        .is_some_and(|error| matches!(error.kind, ErrorKind::Refused | ErrorKind::Deadline));
    let order = call.answered.as_ref().and_then(|answered| answered.order);
    let (true, Some(order), Some(name)) = (refused, order, call.name()) else { return Vec::new() };
    let made = case.objects.iter().filter(|family| family.trainjob.name == name);
    let workloads = made.flat_map(|family| family.workloads.iter().copied());
    workloads.flat_map(Trail::versions).filter(|version| version.order <= order).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::history::History;
    use crate::history::told::{NAME, Told, UID};
    use crate::rules::tests::assert_verdict;

    fn start(told: impl FnOnce(&mut Told)) -> Told {
        let mut started = Told::kueue();
        started.calls_with(Verb::Start, json!({"name": NAME})).create_trainjob();
        told(&mut started);
        started.answers(json!({"name": NAME, "uid": UID}));
        started
    }

    pub(super) fn without_the_check() -> History {
        start(|it| {
            it.create_workload();
        })
        .lists_check()
        .history()
    }

    fn ungated() -> History {
        start(|it| {
            it.create_workload()
                .workload(|it| it["metadata"]["annotations"] = json!({}))
                .lists_check();
        })
        .history()
    }

    fn never_gated() -> History {
        start(|it| {
            it.create(
                Kind::Workload,
                json!({"metadata": {"name": "workload", "uid": "w", "namespace": "ns",
                    "ownerReferences": [{"uid": UID, "controller": true}]}}),
            );
        })
        .history()
    }

    #[rstest]
    #[case::by_the_rules(Told::kueue().starts().history(), "pass")]
    #[case::refused(
        Told::kueue().calls_with(Verb::Start, json!({"name": NAME})).create_trainjob()
            .fails(ErrorKind::Refused).history(),
        "n/a: there was no Start that succeeded")]
    #[case::refused_without_the_check(
        Told::kueue().calls_with(Verb::Start, json!({"name": NAME})).create_trainjob()
            .create_workload().fails(ErrorKind::Refused).history(),
        "pass")]
    #[case::refused_though_it_is_as_it_has_to_be(
        Told::kueue().calls_with(Verb::Start, json!({"name": NAME})).create_trainjob()
            .create_workload().lists_check().fails(ErrorKind::Refused).history(),
        "n/a: there was no Start that succeeded")]
    #[case::plain(Told::plain().history(), "n/a: there are no Workloads")]
    #[case::no_workload(start(|_| {}).history(), "before its Workload was there")]
    #[case::without_the_check(without_the_check(), "had not listed the check")]
    #[case::never_gated(never_gated(), "had not carried the gate")]
    #[case::gated_at_first(ungated(), "had lost the gate before it listed the check")]
    #[case::opened_before_it_is_answered(
        start(|it| {
            it.create_workload().lists_check().opens_gate().ungates();
        }).history(),
        "pass")]
    #[case::a_gap(start(|_| {}).gap(Some(Kind::Workload)).history(), "inconclusive")]
    fn start_waits_for_gate_and_check(#[case] history: History, #[case] expected: &str) {
        assert_verdict("SG-05", &history, expected);
    }
}
