//! EX-05: a wrong identity is found and healed.
//!
//! # What it says
//! A live pod of an admitted object whose A is not the count, or an admitted object that carries
//! dispatch's gate or lacks the opened mark, makes the controller set its check to Retry, so that
//! Kueue evicts and A is raised again; at most three times in a row, and then it is left Pending. `Status`
//! names the pod and both numbers.
//!
//! # Why it matters
//! The Job controller can create a pod from the template it had before the raise. No read before
//! Ready can exclude that, so it is found afterwards. A healthy job that is set to Retry is lost work.
//!
//! # How it is judged
//! By the time of RG-15: longer than 10 seconds, while a replica served. In a row are Retries between
//! which Kueue evicted for no other reason, and the object was not admitted and healthy for 10 seconds.
//! `Status` is judged where nothing changed from the call to its answer.
//!
//! # A history that breaks it
//! Execution 2 is admitted, a pod with A=1 comes, and lives on for a minute.

use super::violation::{Moment, TRIES, What, moments, unnamed};
use crate::history::{Kind, Trail};
use crate::rules::case::{Case, Family};
use crate::rules::span::{Spans, overdue};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const EX_05: Judge = Judge {
    rule: "EX-05",
    reads: &[Kind::Workload, Kind::TrainJob, Kind::Pod],
    brings_about: &[],
    decide: judge,
    #[cfg(test)]
    breaking: tests::lives_on,
};

fn judge(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    for family in &case.objects {
        for workload in &family.workloads {
            for check in &case.checks {
                match judge_one(case, family, workload, check) {
                    Ok(violated) => seen |= violated,
                    Err(broken) => return broken,
                }
            }
        }
        if let Some((because, events)) = unnamed(case, family) {
            return Verdict::fail(because, events);
        }
    }
    Verdict::pass_if_seen(seen, "admitted object with a wrong identity")
}

/// Whether there was a wrong identity at all; `Err` where it was not dealt with as it has to be.
fn judge_one(
    case: &Case<'_>,
    family: &Family<'_>,
    workload: &Trail,
    check: &str,
) -> Result<bool, Verdict> {
    let name = &family.trainjob.name;
    let all = moments(case, family, workload, check);
    let mut spans = Spans::default();
    let mut violated = false;
    for Moment { version, wrong, row, what } in &all {
        violated |= *wrong;
        let fail = |because: String| Err(Verdict::fail(because, [version.seq]));
        match what {
            Some(What::Retry { due: false }) => {
                return fail(format!(
                    "check {check} of {name} was set to Retry, and nothing was wrong with it since it \
                     was admitted"
                ));
            }
            Some(What::Retry { .. }) if *row > TRIES => {
                return fail(format!(
                    "check {check} of Workload {} was set to Retry more than {TRIES} times in a row",
                    workload.name
                ));
            }
            Some(What::Ready) if *row >= TRIES => {
                return fail(format!(
                    "check {check} of Workload {} had been set to Retry {TRIES} times in a row, and \
                     became Ready all the same",
                    workload.name
                ));
            }
            _ => {}
        }
        spans.tell(*wrong && *row < TRIES, version.at, version.seq);
    }
    if let Some(late) = overdue(case, &spans.done()) {
        let because = format!(
            "{name} was admitted with a pod of another A than its count, or without being opened, and \
             its check {check} was not set to Retry"
        );
        return Err(Verdict::fail(because, [late.seq]));
    }
    Ok(violated)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use crate::history::told::{CHECK, NAME, Told, UID, set_check, set_condition};
    use crate::history::{History, Kind, SubjectChange, Verb};
    use crate::rules::tests::assert_verdict;

    fn wrong() -> Told {
        let mut told = Told::kueue();
        told.runs().pod("late", "0");
        told
    }

    pub(super) fn lives_on() -> History {
        wrong().seconds(11).history()
    }

    /// Kueue evicts for this reason; the object is queued, and admitted again, with the pod in it.
    fn again(told: &mut Told, reason: &str) {
        told.workload(|it| {
            set_condition(it, "Evicted", "True", reason);
            set_check(it, "Pending", "Reset to Pending after eviction. Previously: Retry");
        });
        told.unreserves().reserves();
    }

    fn admitted(told: &mut Told) -> &mut Told {
        told.sets("Ready").admits()
    }

    /// So many Retries in a row, and the state in which the last one left the check.
    fn retried(times: usize) -> Told {
        let mut told = wrong();
        for time in 0..times {
            if time > 0 {
                admitted(&mut told);
            }
            told.sets("Retry");
            again(&mut told, "AdmissionCheck");
        }
        told
    }

    /// Three in a row, then something else, and one more.
    fn interrupted(what: impl FnOnce(&mut Told)) -> History {
        let mut told = retried(2);
        admitted(&mut told);
        what(&mut told);
        for _ in 0..2 {
            told.sets("Retry");
            again(&mut told, "AdmissionCheck");
            admitted(&mut told);
        }
        told.history()
    }

    fn says(told: &mut Told, message: Option<&str>) -> History {
        let violations: Vec<_> =
            message.iter().map(|it| json!({"rule": "EX-05", "message": it})).collect();
        let state = json!({"running": {"pods": []}});
        told.calls(Verb::Status)
            .answers(json!({"state": state, "violations": violations}))
            .history()
    }

    #[rstest]
    #[case::right(Told::kueue().runs().seconds(60).history(), "n/a")]
    #[case::healed(wrong().sets("Retry").seconds(60).history(), "pass")]
    #[case::healed_three_times(retried(3).seconds(60).history(), "pass")]
    #[case::the_pod_goes(wrong().pod_goes("late").seconds(60).history(), "pass")]
    #[case::healed_as_the_pod_goes(
        wrong().pod_goes("late").sets("Retry").history(), "pass")]
    #[case::evicted_anyway(wrong().evicts().seconds(60).history(), "pass")]
    #[case::nobody_serves(
        wrong().controller(SubjectChange::Killed).seconds(60).history(), "pass")]
    #[case::preempted_in_between(
        interrupted(|told| { again(told, "Preempted"); admitted(told); }), "pass")]
    #[case::healthy_in_between(
        interrupted(|told| { told.pod_goes("late").seconds(11).pod("later", "0"); }), "pass")]
    #[case::status_names_it(
        says(&mut wrong(), Some("the pod late carries A=0, and the count is 1")), "pass")]
    #[case::lives_on(lives_on(), "was not set to Retry")]
    #[case::not_opened(
        Told::kueue().starts().reserves().admits().seconds(60).history(), "was not set to Retry")]
    #[case::tried_four_times(
        admitted(&mut retried(3)).clone().history(), "and became Ready all the same")]
    #[case::a_healthy_one(
        Told::kueue().runs().sets("Retry").history(), "and nothing was wrong with it")]
    #[case::one_that_waits(
        Told::kueue().waits().sets("Retry").history(), "and nothing was wrong with it")]
    #[case::four_in_a_row(
        interrupted(|told| { told.sets("Retry"); again(told, "AdmissionCheck"); }),
        "more than 3 times in a row")]
    #[case::four_in_a_row_without_ready(
        retried(3).admits().sets("Retry").history(), "more than 3 times in a row")]
    #[case::status_is_silent(says(&mut wrong(), None), "and Status did not name it")]
    #[case::status_names_no_number(
        says(&mut wrong(), Some("the pod late is wrong")), "and Status did not name it")]
    fn a_wrong_identity_is_healed(#[case] history: History, #[case] expected: &str) {
        assert_verdict("EX-05", &history, expected);
    }

    /// A Workload that was nobody's, and Ready as such, is given to an object at its gate.
    #[test]
    fn a_workload_that_gets_an_owner_is_the_objects_from_then_on() {
        let mut told = Told::kueue();
        told.starts().create(
            Kind::Workload,
            json!({"metadata": {"name": "prebuilt", "namespace": "ns", "uid": "uid-prebuilt"},
                "status": {
                    "conditions": [{"type": "QuotaReserved", "status": "True"},
                        {"type": "Admitted", "status": "True"}],
                    "admissionChecks": [{"name": CHECK, "state": "Ready", "message": ""}]}}),
        );
        told.seconds(60).change(Kind::Workload, "prebuilt", |it| {
            it["metadata"]["ownerReferences"] =
                json!([{"kind": "TrainJob", "name": NAME, "uid": UID, "controller": true}]);
        });
        assert_verdict("EX-05", &told.clone().seconds(11).history(), "was not set to Retry");
        told.change(Kind::Workload, "prebuilt", |it| set_check(it, "Retry", "m"));
        let healed = told.seconds(60).history();
        for (rule, expected) in [("EX-05", "pass"), ("RG-05", "n/a"), ("RG-12", "n/a")] {
            assert_verdict(rule, &healed, expected);
        }
    }

    #[test]
    fn the_check_that_is_healed_is_dispatchs() {
        let mut told = wrong();
        told.workload(|it| {
            let checks = it["status"]["admissionChecks"].as_array_mut().unwrap();
            checks.push(json!({"name": "other", "state": "Retry", "message": ""}));
            assert_eq!(checks[0]["name"], CHECK);
        });
        assert_verdict("EX-05", &told.seconds(11).history(), "was not set to Retry");
    }
}
