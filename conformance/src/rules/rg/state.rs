//! RG-01 and RG-08: the state of the Workload in which the controller acts.
//!
//! # What they say
//! The check becomes Ready only from Pending, with quota reserved, and neither while Evicted or
//! Admitted is True nor on a Workload that is finished, deactivated or being deleted (RG-01). There
//! is no Ready before quota is reserved (RG-08).
//!
//! # Why it matters
//! An eviction passes through "Pending, with quota", and Kueue takes the quota only afterwards: a
//! Ready in that window, as one before any quota, stays on the Workload, and the next admission
//! passes the check without a raise.
//!
//! # How it is judged
//! The write of Ready carries the number of the version it was decided from, so the version before
//! it is that one.
//!
//! # A history that breaks them
//! The Workload gets Evicted=True and its check is reset; the next version has the check Ready.

use dispatch_contract::resources::CheckState;

use crate::history::Kind;
use crate::rules::case::{self, Case, Ready};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const RG_01: Judge = Judge {
    rule: "RG-01",
    reads: &[Kind::Workload],
    brings_about: &["RG-04", "RG-05", "RG-17", "RG-18", "EX-01", "EX-02", "EX-03"],
    decide: acts_when_it_may,
    #[cfg(test)]
    breaking: tests::in_the_eviction,
};

pub(in crate::rules) const RG_08: Judge = Judge {
    rule: "RG-08",
    reads: &[Kind::Workload],
    brings_about: &["RG-01", "RG-18", "EX-01", "EX-03"],
    decide: not_before_quota,
    #[cfg(test)]
    breaking: tests::before_quota,
};

fn acts_when_it_may(case: &Case<'_>) -> Verdict {
    judge(case, |ready| {
        let Some(before) = ready.before else { return Err("it was Ready from the first") };
        match case::check_state(before, ready.check) {
            Some(CheckState::Pending) => {}
            _ => return Err("its check was not Pending"),
        }
        before.workload().map_or(Ok(()), case::may_act)
    })
}

fn not_before_quota(case: &Case<'_>) -> Verdict {
    judge(case, |ready| {
        let workload = ready.before.and_then(|before| before.workload());
        let reserved = workload.is_some_and(|workload| workload.is("QuotaReserved"));
        if reserved { Ok(()) } else { Err("it had no quota reserved") }
    })
}

fn judge(case: &Case<'_>, rule: impl Fn(&Ready<'_>) -> Result<(), &'static str>) -> Verdict {
    let mut seen = false;
    for claimed in &case.workloads {
        for ready in case.readies_of(claimed.workload) {
            seen = true;
            if let Err(why) = rule(&ready) {
                let because = format!(
                    "check {} of Workload {} became Ready though {why} in the version before",
                    ready.check, ready.workload.name
                );
                let before = ready.before.map(|before| before.seq);
                return Verdict::fail(because, before.into_iter().chain([ready.version.seq]));
            }
        }
    }
    Verdict::pass_if_seen(seen, "check that became Ready")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use crate::history::History;
    use crate::history::told::{Told, set_condition};
    use crate::rules::tests::assert_verdict;

    pub(super) fn in_the_eviction() -> History {
        Told::kueue().runs().evicts().suspends().pod_goes("pod-1").raises(2).sets("Ready").history()
    }

    pub(super) fn before_quota() -> History {
        Told::kueue().starts().opens().raises(1).sets("Ready").history()
    }

    fn with(condition: &str) -> History {
        Told::kueue()
            .waits()
            .workload(|it| set_condition(it, condition, "True", "x"))
            .sets("Ready")
            .history()
    }

    #[rstest]
    #[case::by_the_rules(Told::kueue().runs().history(), "pass")]
    #[case::nothing_is_ready(Told::kueue().waits().history(), "n/a: there was no check")]
    #[case::in_the_eviction(in_the_eviction(), "though it was being evicted")]
    #[case::before_quota(before_quota(), "though it had no quota reserved")]
    #[case::admitted(with("Admitted"), "though it was admitted")]
    #[case::finished(with("Finished"), "though it had finished")]
    #[case::deactivated(
        Told::kueue().waits().workload(|it| it["spec"]["active"] = json!(false)).sets("Ready")
            .history(),
        "though it was deactivated")]
    #[case::being_deleted(
        Told::kueue().waits()
            .workload(|it| it["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"))
            .sets("Ready").history(),
        "though it was being deleted")]
    #[case::from_retry(
        Told::kueue().waits().sets("Retry").sets("Ready").history(), "check was not Pending")]
    fn the_controller_acts_when_it_may(#[case] history: History, #[case] expected: &str) {
        assert_verdict("RG-01", &history, expected);
    }

    #[rstest]
    #[case::by_the_rules(Told::kueue().runs().history(), "pass")]
    #[case::in_the_eviction_there_is_quota(in_the_eviction(), "pass")]
    #[case::before_quota(before_quota(), "fail: check dispatch-check of Workload workload")]
    fn there_is_no_ready_before_quota(#[case] history: History, #[case] expected: &str) {
        assert_verdict("RG-08", &history, expected);
    }
}
