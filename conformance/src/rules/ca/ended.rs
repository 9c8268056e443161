//! CA-07: an ended object never runs again.
//!
//! # What it says
//! Once an object ended, no pod of it comes any more. Whoever first sees the end suspends the object
//! and writes the ended mark in one update; `Open` and `Release` are then refused.
//!
//! # Why it matters
//! Trainer drops the condition Failed when the `JobSet` disappears, and runs the job again with the
//! same A. What keeps it from that is the suspension; what remembers the end is the mark. Kueue in
//! turn starts what is suspended and admitted, as long as it has not recorded the end itself.
//!
//! # How it is judged
//! The mark has the time of RG-15: 10 seconds, while a replica served.
//!
//! # A history that breaks it
//! The object is Failed, its `JobSet` is deleted, and a pod comes.

use dispatch_contract::ErrorKind;

use crate::history::{Call, Kind, Verb, Version};
use crate::rules::case::{Case, Family};
use crate::rules::span::{Spans, overdue};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const CA_07: Judge = Judge {
    rule: "CA-07",
    reads: &[Kind::TrainJob, Kind::JobSet, Kind::Job, Kind::Pod],
    brings_about: &["EX-01", "EX-03", "EX-05"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::runs_again,
};

fn judge(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    for family in &case.objects {
        let Some(end) = family.trainjob.versions().iter().find(|version| is_ended(version)) else {
            continue;
        };
        seen = true;
        let name = &family.trainjob.name;
        if let Some(pod) = family.pods.iter().find(|pod| pod.created() > end.order) {
            let because = format!("{name} had ended, and its pod {} came", pod.name);
            let pod = pod.first().map(|version| version.seq);
            return Verdict::fail(because, [end.seq].into_iter().chain(pod));
        }
        if let Some((what, seq)) = went_on(family, end) {
            return Verdict::fail(format!("{name} had ended, and {what}"), [end.seq, seq]);
        }
        if let Some((what, seq)) = answered_wrongly(case, family) {
            return Verdict::fail(format!("{name} had ended, and {what}"), [end.seq, seq]);
        }
        if let (true, Some(late)) = (case.is_kueue(), unmarked(case, family)) {
            let because = format!("{name} had ended, and nobody wrote the ended mark");
            return Verdict::fail(because, [late]);
        }
    }
    Verdict::pass_if_seen(seen, "object that ended")
}

fn is_ended(version: &Version) -> bool {
    version.trainjob().is_some_and(|it| it.end().is_some() || it.ended_mark().is_some())
}

/// A resumption after the end, or a mark that came without suspension.
fn went_on(family: &Family<'_>, end: &Version) -> Option<(&'static str, u64)> {
    let later = family.trainjob.changes().filter(|(_, after)| after.order >= end.order);
    { later }.find_map(|(before, after)| {
        let (was, is) = (before.trainjob()?, after.trainjob()?);
        if was.ended_mark().is_none() && is.ended_mark().is_some() && !is.is_suspended() {
            return Some(("the ended mark came without suspension", after.seq));
        }
        let resumed = was.is_suspended() && !is.is_suspended() && after.order > end.order;
        resumed.then_some(("it was resumed", after.seq))
    })
}

/// An `Open` or a `Release` after the mark that was not refused. `Open` of an object that was
/// opened before writes nothing and succeeds (OP-09).
fn answered_wrongly(case: &Case<'_>, family: &Family<'_>) -> Option<(&'static str, u64)> {
    let marked = family.trainjob.versions().iter().find(|version| {
        version.trainjob().is_some_and(|trainjob| trainjob.ended_mark().is_some())
    })?;
    let opened = marked.trainjob().is_some_and(dispatch_contract::resources::TrainJob::is_opened);
    let after = |call: &&Call| call.invoked_order.is_some_and(|order| order >= marked.order);
    let wrong = |call: &Call| {
        let answered = call.answered.as_ref()?;
        let refused = call.failed().is_some_and(|error| {
            !matches!(error.kind, ErrorKind::Invalid | ErrorKind::NotSupported)
        });
        (call.ok().is_some() && !refused).then_some(answered.seq)
    };
    let release = case.calls_for(Verb::Release, family.trainjob).filter(after).find_map(wrong);
    if let Some(seq) = release {
        return Some(("Release of it was not refused", seq));
    }
    let open = case.calls_for(Verb::Open, family.trainjob).filter(after).find_map(wrong);
    open.filter(|_| !opened).map(|seq| ("Open of it was not refused", seq))
}

/// The event as of which the end had no mark for too long.
fn unmarked(case: &Case<'_>, family: &Family<'_>) -> Option<u64> {
    let mut spans = Spans::default();
    for version in family.trainjob.versions() {
        let lacks = version.trainjob().is_some_and(|it| {
            let going = it.metadata.deletion_timestamp.is_some();
            it.end().is_some() && it.ended_mark().is_none() && !going
        });
        spans.tell(lacks && !version.is_deletion(), version.at, version.seq);
    }
    overdue(case, &spans.done()).map(|span| span.seq)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::history::told::{NAME, Told};
    use crate::history::{History, SubjectChange};
    use crate::rules::tests::assert_verdict;

    fn failed() -> Told {
        let mut told = Told::kueue();
        told.runs().pod_ends("pod-1", "Failed").ends("Failed");
        told
    }

    pub(super) fn runs_again() -> History {
        failed().marks_ended().delete(Kind::JobSet, NAME).pod("again", "1").history()
    }

    #[rstest]
    #[case::by_the_rules(
        failed().marks_ended().delete(Kind::JobSet, NAME).seconds(60).history(), "pass")]
    #[case::release_is_refused(
        failed().marks_ended().calls(Verb::Release).fails(ErrorKind::Rejected).history(), "pass")]
    #[case::open_again_changes_nothing(
        failed().marks_ended().calls(Verb::Open).answers(json!({})).history(), "pass")]
    #[case::never_ended(Told::kueue().runs().history(), "n/a")]
    #[case::runs_again(runs_again(), "had ended, and its pod again came")]
    #[case::resumed(
        failed().marks_ended().trainjob(|it| it["spec"]["suspend"] = json!(false)).history(),
        "had ended, and it was resumed")]
    #[case::marked_and_not_suspended(
        failed().trainjob(|it| it["metadata"]["annotations"][dispatch_contract::names::ENDED] =
            json!("Failed")).history(),
        "the ended mark came without suspension")]
    #[case::released(
        failed().marks_ended().calls(Verb::Release).answers(json!({"released": true})).history(),
        "Release of it was not refused")]
    #[case::never_marked(failed().seconds(11).history(), "nobody wrote the ended mark")]
    #[case::nobody_serves(
        failed().controller(SubjectChange::Killed).seconds(60).history(), "pass")]
    #[case::opened_though_it_ended_closed(
        Told::kueue().starts().ends("Failed").marks_ended().calls(Verb::Open).answers(json!({}))
            .history(),
        "Open of it was not refused")]
    fn an_ended_object_never_runs_again(#[case] history: History, #[case] expected: &str) {
        assert_verdict("CA-07", &history, expected);
    }
}
