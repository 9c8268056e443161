//! RG-10: nothing happens while the controller is down.
//!
//! # What it says
//! While no controller is there, jobs with quota wait at Pending and nothing of them runs; and the
//! controller does not set its `AdmissionCheck` inactive as it goes, so that Kueue does not stop the
//! queue.
//!
//! # Why it matters
//! A controller is restarted, moved, and lost with its node. Its absence may delay a job, and must
//! not let one through, nor stop everybody else's.
//!
//! # A history that breaks it
//! The controller is stopped, and in its last moment the `AdmissionCheck` becomes inactive.

use super::served::is_active;
use crate::history::{Kind, Version};
use crate::rules::case::{self, Case, Down, Family};
use crate::rules::writer::{self, Author};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const RG_10: Judge = Judge {
    rule: "RG-10",
    reads: &[Kind::Workload, Kind::Pod, Kind::AdmissionCheck],
    brings_about: &[],
    decide: judge,
    #[cfg(test)]
    breaking: tests::set_inactive,
};

fn judge(case: &Case<'_>) -> Verdict {
    if let Some(broken) = set_inactive(case) {
        return broken;
    }
    let mut seen = false;
    for down in &case.down {
        for family in case.objects.iter().filter(|family| waits(case, family, down)) {
            seen = true;
            if let Some(broken) = moved(family, down) {
                return broken;
            }
        }
    }
    Verdict::pass_if_seen(seen, "job with quota while the controller was down")
}

/// An `AdmissionCheck` of the controller's that becomes inactive.
fn set_inactive(case: &Case<'_>) -> Option<Verdict> {
    let checks = case.history.of_kind(Kind::AdmissionCheck);
    let ours = checks.filter(|trail| case.checks.contains(trail.name.as_str()));
    ours.into_iter().find_map(|trail| {
        let fell = |(before, after): &(&Version, &Version)| {
            is_active(case, before) && !is_active(case, after)
        };
        let (before, after) = trail.changes().find(fell)?;
        if writer::author(&case.requests, trail, after) == Author::Another {
            return None;
        }
        let because = format!("AdmissionCheck {} was set inactive", trail.name);
        Some(Verdict::fail(because, [before.seq, after.seq]))
    })
}

/// Whether a Workload of the object waits at the check at some time while the controller is down.
fn waits(case: &Case<'_>, family: &Family<'_>, down: &Down) -> bool {
    let waits = |version: &Version| {
        let may = version.workload().is_some_and(|workload| case::may_act(workload).is_ok());
        may && case.checks.iter().any(|check| case::check_state(version, check).is_some())
    };
    family.workloads.iter().any(|workload| {
        let later = workload.versions().iter().filter(|version| is_in(down, version.order));
        workload.at(down.from).into_iter().chain(later).any(waits)
    })
}

/// What moved in an object that waits.
fn moved(family: &Family<'_>, down: &Down) -> Option<Verdict> {
    if let Some(ready) = family.readies.iter().find(|ready| is_in(down, ready.version.order)) {
        let because = format!(
            "check {} of Workload {} became Ready while no controller was there",
            ready.check, ready.workload.name
        );
        return Some(Verdict::fail(because, [down.seq, ready.version.seq]));
    }
    let admitted = |order: u64| {
        let at = family.workloads.iter().filter_map(|workload| workload.at(order));
        at.filter_map(Version::workload).any(|workload| workload.is("Admitted"))
    };
    let pods = family.pods.iter().filter(|pod| is_in(down, pod.created()));
    let pod = pods.into_iter().find(|pod| !admitted(pod.created()))?;
    let because = format!(
        "pod {} of a job that was not admitted came while no controller was there",
        pod.name
    );
    Some(Verdict::fail(
        because,
        pod.first().map(|version| version.seq).into_iter().chain([down.seq]),
    ))
}

fn is_in(down: &Down, order: u64) -> bool {
    down.from < order && order <= down.until
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::history::History;
    use crate::history::SubjectChange::{Frozen, Killed, Ready, Started, Stopped};
    use crate::history::told::{CHECK, Told, set_condition};
    use crate::rules::tests::assert_verdict;

    fn down() -> Told {
        let mut told = Told::kueue();
        told.waits().controller(Killed);
        told
    }

    pub(super) fn set_inactive() -> History {
        Told::kueue()
            .waits()
            .change(Kind::AdmissionCheck, CHECK, |it| set_condition(it, "Active", "False", "x"))
            .controller(Stopped)
            .history()
    }

    #[rstest]
    #[case::waits(down().seconds(60).history(), "pass")]
    #[case::goes_on_afterwards(
        down().controller(Started).goes(1).controller(Ready).history(), "pass")]
    #[case::runs_on(Told::kueue().runs().controller(Killed).pod("pod-2", "1").history(), "n/a")]
    #[case::never_down(Told::kueue().runs().history(), "n/a")]
    #[case::set_inactive(set_inactive(), "AdmissionCheck dispatch-check was set inactive")]
    #[case::becomes_ready(down().sets("Ready").history(), "while no controller was there")]
    #[case::runs(down().pod("pod-1", "0").history(), "pod pod-1 of a job that was not admitted")]
    #[case::what_it_sent_before_it_stood_still(
        Told::kueue().waits().controller(Frozen).goes(1).history(), "n/a")]
    #[case::quota_while_down_counts(
        Told::kueue().starts().opens().controller(Killed).reserves().history(), "pass")]
    fn nothing_happens_while_the_controller_is_down(
        #[case] history: History,
        #[case] expected: &str,
    ) {
        assert_verdict("RG-10", &history, expected);
    }
}
