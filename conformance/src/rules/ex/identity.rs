//! EX-01 and EX-03: every execution has an identity of its own, higher than all before.
//!
//! # What they say
//! Every execution has a higher A than all before it, and all its pods carry that A (EX-01). A never
//! falls, and no two executions share it (EX-03).
//!
//! # Why it matters
//! What a job writes, it writes under its identity. With a lower or an equal one, a restarted job
//! cannot tell its own state from that of the execution before it.
//!
//! # How it is judged
//! A of an execution is the count of the `TrainJob` version that starts it. A pod that outlives its
//! execution belongs to the next one too. A count that somebody else lowers is none of dispatch's: what
//! comes of it is (RG-13). Where the containers are real, EX-01 is judged by the A that each of them was
//! given too.
//!
//! # A history that breaks them
//! The object is preempted and resumed, with A=1 both times.

use dispatch_contract::names;

use super::account;
use crate::history::{Execution, Kind, Trail};
use crate::rules::case::{Case, Family, count};
use crate::rules::writer;
use crate::rules::{Judge, Verdict};

const READS: &[Kind] = &[Kind::TrainJob, Kind::JobSet, Kind::Job, Kind::Pod];

pub(in crate::rules) const EX_01: Judge = Judge {
    rule: "EX-01",
    reads: READS,
    brings_about: &["EX-05"],
    decide: rises,
    #[cfg(test)]
    breaking: tests::shared,
};

pub(in crate::rules) const EX_03: Judge = Judge {
    rule: "EX-03",
    reads: READS,
    brings_about: &["EX-01"],
    decide: never_falls_nor_is_shared,
    #[cfg(test)]
    breaking: tests::shared,
};

fn rises(case: &Case<'_>) -> Verdict {
    account::with_accounts(case, shown(case), account::identities)
}

/// Whether they rise by what the API server showed.
fn shown(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    for family in &case.objects {
        let mut highest = None;
        for execution in &family.executions {
            seen = true;
            let Some(a) = execution.admission else {
                return broken(family, execution, "had no readable A");
            };
            if let Some(before) = highest.filter(|before| a <= *before) {
                let why = format!("had A={a}, after an execution with A={before}");
                return broken(family, execution, &why);
            }
            highest = Some(a);
            let expected = a.to_string();
            if let Some(pod) = execution.pods.iter().find(|pod| carried(pod) != Some(&expected)) {
                let carried = carried(pod).unwrap_or("nothing");
                let because = format!(
                    "execution {} of {} had A={a}, and its pod {} carried {carried}",
                    execution.number, family.trainjob.name, pod.name
                );
                let pod = pod.first().map(|version| version.seq);
                return Verdict::fail(because, [execution.start.seq].into_iter().chain(pod));
            }
        }
    }
    Verdict::pass_if_seen(seen, "execution")
}

fn never_falls_nor_is_shared(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    for family in &case.objects {
        seen |= !family.executions.is_empty();
        for (before, after) in family.trainjob.changes() {
            if let (Some(from), Some(to)) = (count(before), count(after))
                && to < from
                && !writer::is_an_outsiders(&case.requests, family.trainjob, after)
            {
                let because = format!("A of {} fell from {from} to {to}", family.trainjob.name);
                return Verdict::fail(because, [before.seq, after.seq]);
            }
        }
        let mut known: Vec<&Execution<'_>> = family.executions.iter().collect();
        known.sort_by_key(|execution| execution.admission);
        for pair in known.windows(2) {
            if let (Some(a), true) = (pair[1].admission, pair[0].admission == pair[1].admission) {
                let because = format!(
                    "executions {} and {} of {} shared A={a}",
                    pair[0].number, pair[1].number, family.trainjob.name
                );
                return Verdict::fail(because, [pair[0].start.seq, pair[1].start.seq]);
            }
        }
    }
    Verdict::pass_if_seen(seen, "execution")
}

fn broken(family: &Family<'_>, execution: &Execution<'_>, why: &str) -> Verdict {
    let because = format!("execution {} of {} {why}", execution.number, family.trainjob.name);
    Verdict::fail(because, [execution.start.seq])
}

/// A as a pod carries it, readable or not.
pub(in crate::rules) fn carried(pod: &Trail) -> Option<&str> {
    let annotations = pod.first()?.pod()?.metadata.annotations.as_ref()?;
    annotations.get(names::POD_ADMISSION).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::history::History;
    use crate::history::told::{ADAPTER, CONTROLLER, Told, raise};
    use crate::rules::tests::assert_verdict;

    fn preempted() -> Told {
        let mut told = Told::kueue();
        told.runs().is_preempted(1).reserves();
        told
    }

    pub(super) fn shared() -> History {
        preempted().sets("Ready").admits().resumes().pod("again", "1").history()
    }

    fn lowered() -> History {
        preempted().trainjob(|it| raise(it, 0)).sets("Ready").admits().resumes().history()
    }

    fn without_a() -> History {
        let mut told = Told::kueue();
        told.waits().trainjob(|it| {
            it["metadata"]["annotations"].as_object_mut().unwrap().remove(names::ADMISSION_COUNT);
        });
        told.resumes().history()
    }

    #[rstest]
    #[case::by_the_rules(preempted().goes(2).history(), "pass")]
    #[case::a_number_may_be_skipped(
        preempted().raises(2).raises(3).sets("Ready").admits().resumes().pod("p", "3").history(),
        "pass")]
    #[case::an_execution_may_have_no_pods(
        Told::kueue().waits().raises(1).sets("Ready").admits().resumes().history(), "pass")]
    #[case::nothing_ran(Told::kueue().waits().history(), "n/a: there was no execution")]
    #[case::shared(shared(), "execution 2 of dj-01k0000000000000000000000a-s1 had A=1, after")]
    #[case::lowered(lowered(), "had A=0, after an execution with A=1")]
    #[case::no_a(without_a(), "execution 1 of dj-01k0000000000000000000000a-s1 had no readable A")]
    #[case::a_pod_with_another(
        preempted().raises(2).takes_over(2).sets("Ready").admits().resumes().pod("late", "1")
            .history(),
        "execution 2 of dj-01k0000000000000000000000a-s1 had A=2, and its pod late carried 1")]
    #[case::a_pod_without(
        Told::kueue().runs().change(Kind::Job, "node", |_| {}).create(Kind::Pod, json!({
            "metadata": {"name": "bare", "namespace": "ns", "uid": "uid-bare",
                "labels": {names::JOBSET_NAME: crate::history::told::NAME}}})).history(),
        "its pod bare carried nothing")]
    fn identities_rise(#[case] history: History, #[case] expected: &str) {
        assert_verdict("EX-01", &history, expected);
    }

    /// Lowered by somebody else than dispatch, whose requests are all recorded, and raised from there.
    fn lowered_by_somebody(then: u64) -> History {
        let mut told = Told::kueue();
        told.waits_by(ADAPTER).goes_by(CONTROLLER, 1).is_preempted(1).trainjob(|it| {
            it["metadata"]["annotations"][names::ADMISSION_COUNT] = json!("0");
        });
        told.reserves().goes_by(CONTROLLER, then).history()
    }

    /// Lowered by the controller.
    fn lowered_by_request() -> History {
        let mut told = Told::kueue();
        told.waits_by(ADAPTER).goes_by(CONTROLLER, 1).is_preempted(1).looks(CONTROLLER);
        told.raises_by(CONTROLLER, 0).history()
    }

    #[rstest]
    #[case::by_the_rules(preempted().goes(2).history(), "pass")]
    #[case::nothing_ran(Told::kueue().waits().history(), "n/a: there was no execution")]
    #[case::somebody_lowers_it(lowered_by_somebody(2), "pass")]
    #[case::somebody_lowers_it_and_it_is_followed(lowered_by_somebody(1), "executions 1 and 2 of")]
    #[case::the_controller_lowers_it(lowered_by_request(), "fell from 1 to 0")]
    #[case::shared(shared(), "executions 1 and 2 of")]
    #[case::falls(
        Told::kueue().runs().trainjob(|it| raise(it, 0)).history(), "fell from 1 to 0")]
    fn a_never_falls_and_is_never_shared(#[case] history: History, #[case] expected: &str) {
        assert_verdict("EX-03", &history, expected);
    }
}
