//! SG-02: nothing runs before Open.
//!
//! # What it says
//! No pod of an object exists before `Open` was called for it, and in Kueue mode its Workload is not
//! admitted.
//!
//! # Why it matters
//! It is the promise of the start gate: what dispatch has not recorded yet does not run.
//!
//! # How it is judged
//! The store's revision is read just before `Open` is called. What is at most that was there before
//! the call.
//!
//! # A history that breaks it
//! The object is created, a pod of it appears, and `Open` is called afterwards.

use crate::history::{Kind, Verb, Version};
use crate::rules::case::{Case, Family};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const SG_02: Judge = Judge {
    rule: "SG-02",
    reads: &[Kind::TrainJob, Kind::Workload, Kind::JobSet, Kind::Job, Kind::Pod],
    brings_about: &["EX-01", "EX-05"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::a_pod_before_open,
};

fn judge(case: &Case<'_>) -> Verdict {
    for family in &case.objects {
        let opened = match opened(case, family) {
            Ok(opened) => opened,
            Err(why) => return Verdict::inconclusive(why),
        };
        let before = |order: u64| opened.is_none_or(|opened| order <= opened);
        let name = &family.trainjob.name;
        if let Some(pod) = family.pods.iter().find(|pod| before(pod.created())) {
            let because = format!("pod {} of {name} existed before Open was called", pod.name);
            return Verdict::fail(because, pod.first().map(|version| version.seq));
        }
        let admitted = |version: &&Version| {
            before(version.order) && version.workload().is_some_and(|it| it.is("Admitted"))
        };
        let mut versions = family.workloads.iter().flat_map(|workload| workload.versions());
        if let (true, Some(version)) = (case.is_kueue(), versions.find(admitted)) {
            let because = format!("the Workload of {name} was admitted before Open was called");
            return Verdict::fail(because, [version.seq]);
        }
    }
    Verdict::pass_if_seen(!case.objects.is_empty(), "object of dispatch's")
}

/// The store's revision before the first call of `Open` for an object; `None` if there was none.
fn opened(case: &Case<'_>, family: &Family<'_>) -> Result<Option<u64>, String> {
    let Some(call) = case.calls_for(Verb::Open, family.trainjob).next() else { return Ok(None) };
    let without = || format!("the call to open {} has no order", family.trainjob.name);
    call.invoked_order.ok_or_else(without).map(Some)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::history::History;
    use crate::history::told::Told;
    use crate::rules::tests::assert_verdict;

    pub(super) fn a_pod_before_open() -> History {
        Told::kueue().starts().pod("early", "0").opens().history()
    }

    #[rstest]
    #[case::by_the_rules(Told::kueue().runs().history(), "pass")]
    #[case::never_opened(Told::kueue().starts().history(), "pass")]
    #[case::nothing_started(Told::kueue().history(), "n/a")]
    #[case::a_pod_before_open(a_pod_before_open(), "pod early of")]
    #[case::a_pod_and_no_open(Told::kueue().starts().pod("p", "0").history(), "pod p of")]
    #[case::a_pod_while_open_is_under_way(
        Told::kueue().starts().calls(Verb::Open).pod("p", "0").history(), "pass")]
    #[case::admitted_before_open(
        Told::kueue().starts().reserves().admits().opens().history(), "was admitted before Open")]
    fn nothing_runs_before_open(#[case] history: History, #[case] expected: &str) {
        assert_verdict("SG-02", &history, expected);
    }

    #[test]
    fn without_an_order_of_the_call_it_cannot_be_said() {
        let mut told = Told::kueue();
        told.runs();
        for event in &mut told.events {
            if matches!(&event.what, crate::history::What::CallInvoked(_)) {
                event.order = None;
            }
        }
        assert_verdict("SG-02", &told.history(), "inconclusive: the call to open");
    }
}
