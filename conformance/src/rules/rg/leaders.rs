//! RG-07: the controller keeps no state.
//!
//! # What it says
//! No state is kept; leader election only saves work. Two active leaders, or none for a while, break
//! nothing.
//!
//! # Why it matters
//! A leader that was cut off does not know that it leads no longer. What is right only while one of them
//! acts is wrong on the first day that a network fails.
//!
//! # How it is judged
//! Where two processes of the controller wrote for one execution, or others than for the last, or none
//! was there for a while before it, that execution has a higher A than all before it and overlaps none.
//!
//! # A history that breaks it
//! Two replicas write for the second execution, and it begins with the first one's A.

use std::collections::BTreeSet;

use crate::history::{Execution, Kind, Role, Subject};
use crate::rules::case::{Case, Family};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const RG_07: Judge = Judge {
    rule: "RG-07",
    reads: &[Kind::TrainJob, Kind::Workload, Kind::JobSet, Kind::Job, Kind::Pod],
    brings_about: &["RG-05", "EX-01", "EX-02", "EX-03"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::shared_by_two,
};

fn judge(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    for family in &case.objects {
        let mut highest = None;
        let mut last: Option<&Execution<'_>> = None;
        let mut led_before = BTreeSet::new();
        for execution in &family.executions {
            let since = last.map_or(0, |last| last.start.order);
            let time = (since, execution.start.order);
            let led_by = writers(case, family, time);
            if let Some(how) = led(case, time, &led_by, &led_before) {
                seen = true;
                let what = match last {
                    Some(last) if last.lasts_at(execution.start.order) => "overlapped the last one",
                    _ if execution.admission <= highest => "did not have a higher A than before",
                    _ => "",
                };
                if !what.is_empty() {
                    let because = format!(
                        "{how} before execution {} of {}, and it {what}",
                        execution.number, family.trainjob.name
                    );
                    let before = last.map(|last| last.start.seq);
                    return Verdict::fail(because, before.into_iter().chain([execution.start.seq]));
                }
            }
            if !led_by.is_empty() {
                led_before = led_by;
            }
            highest = highest.max(execution.admission);
            last = Some(execution);
        }
    }
    Verdict::pass_if_seen(seen, "execution for which several processes of the controller wrote")
}

/// A process of the controller: a replica, and the number of the event with which it began.
type Process = (Subject, Option<u64>);

/// How the controller was led in this time, if not by one process, and the same as before it.
fn led(
    case: &Case<'_>,
    (from, to): (u64, u64),
    by: &BTreeSet<Process>,
    before: &BTreeSet<Process>,
) -> Option<&'static str> {
    if case.down.iter().any(|down| from < down.from && down.from < to) {
        return Some("no replica was there for a while");
    }
    if by.len() > 1 {
        return Some("several processes of the controller wrote");
    }
    let others = !before.is_empty() && !by.is_empty() && by != before;
    others.then_some("not the same processes of the controller wrote as for the last one")
}

/// The processes of the controller that wrote to the object, or its Workloads, in this time.
fn writers(case: &Case<'_>, family: &Family<'_>, (from, to): (u64, u64)) -> BTreeSet<Process> {
    let trails = [family.trainjob].into_iter().chain(family.workloads.iter().copied());
    let written = trails.flat_map(|trail| {
        let versions = trail.between(from, to).iter();
        versions.filter_map(|version| case.requests.that_made(trail.kind, version.order))
    });
    let by = written.filter(|exchange| exchange.request.from.role == Role::Controller);
    by.map(|exchange| {
        let since = case.process_of(exchange).map(|process| process.from);
        (exchange.request.from, since)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::history::History;
    use crate::history::SubjectChange::{Killed, Ready, Started};
    use crate::history::told::{CONTROLLER, NAME, SECOND, Told};
    use crate::rules::tests::assert_verdict;

    /// Execution 1 is over, and two replicas believe that they lead.
    fn two() -> Told {
        let mut told = Told::kueue();
        told.replica(1, Started).replica(1, Ready).waits().goes_by(CONTROLLER, 1);
        told.is_preempted(1).reserves().looks(CONTROLLER).looks(SECOND);
        told
    }

    pub(super) fn shared_by_two() -> History {
        two()
            .sets_by(CONTROLLER, "Pending")
            .reads(SECOND, Kind::Workload, "workload")
            .sets_by(SECOND, "Ready")
            .admits()
            .resumes()
            .pod("pod-2", "1")
            .history()
    }

    /// The first replica sets Ready late, for what the second one raised.
    fn shared_by_one_that_led_before() -> History {
        let mut told = Told::kueue();
        told.replica(1, Started).replica(1, Ready).waits().looks(CONTROLLER);
        told.raises_by(CONTROLLER, 1).reads(SECOND, Kind::TrainJob, NAME).goes_by(SECOND, 2);
        told.is_preempted(2).reserves().sets_by(CONTROLLER, "Ready").admits().resumes();
        told.pod("pod-3", "2").history()
    }

    fn overlapping() -> History {
        let mut told = Told::kueue();
        told.replica(1, Started).replica(1, Ready).waits().goes_by(CONTROLLER, 1).evicts();
        told.suspends().pod_terminates("pod-1").unreserves().reserves();
        told.looks(CONTROLLER).raises_by(CONTROLLER, 2).reads(SECOND, Kind::TrainJob, NAME);
        told.looks(SECOND).raises_by(SECOND, 3).takes_over(3).looks_below(SECOND);
        told.sets_by(SECOND, "Ready").admits().resumes().history()
    }

    fn none_for_a_while(a: u64) -> History {
        let mut told = Told::kueue();
        told.runs().is_preempted(1).controller(Killed).controller(Started).controller(Ready);
        told.reserves();
        if a > 1 {
            told.raises(a).takes_over(a);
        }
        told.sets("Ready").admits().resumes().pod("pod-2", &a.to_string()).history()
    }

    #[rstest]
    #[case::both_raise(
        two().raises_by(CONTROLLER, 2).reads(SECOND, Kind::TrainJob, NAME).raises_by(SECOND, 3)
            .takes_over(3).looks_below(SECOND).sets_by(SECOND, "Ready").admits().resumes()
            .pod("pod-2", "3").history(),
        "pass")]
    #[case::none_for_a_while(none_for_a_while(2), "pass")]
    #[case::one_leader(Told::kueue().waits().goes_by(CONTROLLER, 1).history(), "n/a")]
    #[case::shared_by_two(shared_by_two(), "and it did not have a higher A than before")]
    #[case::the_lead_was_handed_over(
        two().raises_by(SECOND, 2).takes_over(2).looks_below(SECOND).sets_by(SECOND, "Ready")
            .admits().resumes().pod("pod-2", "2").history(),
        "pass")]
    #[case::shared_by_who_leads_next(
        two().reads(SECOND, Kind::Workload, "workload").sets_by(SECOND, "Ready").admits().resumes()
            .pod("pod-2", "1").history(),
        "not the same processes of the controller wrote as for the last one before execution 2")]
    #[case::shared_by_one_that_led_before(
        shared_by_one_that_led_before(),
        "and it did not have a higher A than before"
    )]
    #[case::overlapping(overlapping(), "and it overlapped the last one")]
    #[case::shared_after_none(
        none_for_a_while(1),
        "no replica was there for a while before execution 2"
    )]
    fn two_leaders_break_nothing(#[case] history: History, #[case] expected: &str) {
        assert_verdict("RG-07", &history, expected);
    }
}
