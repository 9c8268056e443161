//! EX-02: two executions of an object never overlap.
//!
//! # What it says
//! An execution lasts until the object is suspended and its last live pod is gone, and the next one
//! begins after that.
//!
//! # Why it matters
//! Two executions at once write to the same checkpoint.
//!
//! # How it is judged
//! By the `TrainJob` and its pods, as the API server shows them; where the containers are real, by what
//! these say of themselves too.
//!
//! # A history that breaks it
//! The object is preempted, a pod lingers Terminating, and the object is resumed.

use super::account;
use crate::history::Kind;
use crate::rules::case::Case;
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const EX_02: Judge = Judge {
    rule: "EX-02",
    reads: &[Kind::TrainJob, Kind::JobSet, Kind::Job, Kind::Pod],
    brings_about: &["EX-01", "EX-05"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::overlapping,
};

fn judge(case: &Case<'_>) -> Verdict {
    account::with_accounts(case, shown(case), account::overlap)
}

/// By what the API server showed.
fn shown(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    for family in &case.objects {
        seen |= !family.executions.is_empty();
        for pair in family.executions.windows(2) {
            let [before, next] = pair else { continue };
            if !before.lasts_at(next.start.order) {
                continue;
            }
            let pod = family.live_pods(next.start.order).next();
            let which = pod.map(|pod| format!(": its pod {} lived", pod.name)).unwrap_or_default();
            let because = format!(
                "execution {} of {} began while execution {} lasted{which}",
                next.number, family.trainjob.name, before.number
            );
            let pod = pod.and_then(|pod| pod.at(next.start.order)).map(|version| version.seq);
            return Verdict::fail(because, [next.start.seq].into_iter().chain(pod));
        }
    }
    Verdict::pass_if_seen(seen, "execution")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::history::History;
    use crate::history::told::Told;
    use crate::rules::tests::assert_verdict;

    fn evicted() -> Told {
        let mut told = Told::kueue();
        told.runs().evicts().suspends().pod_terminates("pod-1").unreserves().reserves();
        told
    }

    pub(super) fn overlapping() -> History {
        evicted().goes(2).pod_goes("pod-1").history()
    }

    #[rstest]
    #[case::by_the_rules(evicted().pod_goes("pod-1").goes(2).history(), "pass")]
    #[case::one_execution(Told::kueue().runs().history(), "pass")]
    #[case::nothing_ran(Told::kueue().waits().history(), "n/a: there was no execution")]
    #[case::a_pod_lingers(overlapping(), "began while execution 1 lasted: its pod pod-1 lived")]
    #[case::a_pod_never_goes(evicted().goes(2).history(), "its pod pod-1 lived")]
    #[case::a_pod_that_ended_is_no_overlap(
        evicted().pod_ends("pod-1", "Failed").goes(2).history(), "pass")]
    fn executions_never_overlap(#[case] history: History, #[case] expected: &str) {
        assert_verdict("EX-02", &history, expected);
    }
}
