//! RG-18: no Ready stays banked.
//!
//! # What it says
//! Dispatch's own Ready on a Workload that has neither quota nor admission is set back to Pending.
//!
//! # Why it matters
//! Kueue can take quota back without resetting the check, as when a queue is stopped before the
//! Workload was admitted. The next admission then passes without a look at what still runs.
//!
//! # How it is judged
//! By the time of RG-15: longer than 10 seconds, while a replica served.
//!
//! # A history that breaks it
//! The check is Ready, the queue is stopped, quota goes, and the check is Ready a minute later.

use dispatch_contract::resources::CheckState;

use crate::history::{Kind, Version};
use crate::rules::case::{self, Case};
use crate::rules::span::{Spans, overdue};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const RG_18: Judge = Judge {
    rule: "RG-18",
    reads: &[Kind::Workload],
    brings_about: &["EX-01", "EX-03"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::stays,
};

fn judge(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    for claimed in &case.workloads {
        for check in &case.checks {
            let mut spans = Spans::default();
            for version in claimed.workload.versions() {
                spans.tell(is_banked(version, check), version.at, version.seq);
            }
            let spans = spans.done();
            seen |= !spans.is_empty();
            if let Some(late) = overdue(case, &spans) {
                let because = format!(
                    "check {check} of Workload {} stayed Ready with neither quota nor admission",
                    claimed.workload.name
                );
                return Verdict::fail(because, [late.seq]);
            }
        }
    }
    Verdict::pass_if_seen(seen, "Ready on a Workload with neither quota nor admission")
}

fn is_banked(version: &Version, check: &str) -> bool {
    let without_quota = version.workload().is_some_and(|workload| {
        let has_admission = workload.status.as_ref().is_some_and(|it| it.admission.is_some());
        let is = |condition: &str| workload.is(condition);
        !has_admission && !is("QuotaReserved") && !is("Admitted") && !is("Finished")
    });
    let ready = case::check_state(version, check) == Some(&CheckState::Ready);
    ready && without_quota && !version.is_deletion()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::history::told::Told;
    use crate::history::{History, SubjectChange};
    use crate::rules::tests::assert_verdict;

    fn banked() -> Told {
        let mut told = Told::kueue();
        told.waits().raises(1).takes_over(1).sets("Ready").unreserves();
        told
    }

    pub(super) fn stays() -> History {
        banked().seconds(11).history()
    }

    #[rstest]
    #[case::set_back(banked().sets("Pending").seconds(60).history(), "pass")]
    #[case::never_banked(Told::kueue().runs().seconds(60).history(), "n/a")]
    #[case::stays(stays(), "stayed Ready with neither quota nor admission")]
    #[case::nobody_serves(
        banked().controller(SubjectChange::Killed).seconds(60).history(), "pass")]
    #[case::quota_came_back(banked().reserves().seconds(60).history(), "pass")]
    fn no_ready_stays_banked(#[case] history: History, #[case] expected: &str) {
        assert_verdict("RG-18", &history, expected);
    }
}
