//! CA-02: Release.
//!
//! # What it says
//! `Release` takes away exactly the token that it read first, then reactivates the Workload, and the
//! readmission gate raises A. A Workload that others deactivated is not reactivated, and the reason
//! is returned.
//!
//! # Why it matters
//! A release whose answer was lost is repeated. It must not end a hold that somebody made in between,
//! nor undo what an administrator did.
//!
//! # A history that breaks it
//! While one `Release` is under way, two holds are taken away.

use dispatch_contract::ReleaseAnswer;
use dispatch_contract::resources::Workload;
use serde::Deserialize;

use crate::history::{Call, Kind, Verb, Version};
use crate::rules::case::{Case, Family};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const CA_02: Judge = Judge {
    rule: "CA-02",
    reads: &[Kind::TrainJob, Kind::Workload],
    brings_about: &["RG-16"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::two_tokens,
};

fn judge(case: &Case<'_>) -> Verdict {
    if !case.is_kueue() {
        return Verdict::not_applicable("Release in plain mode is judged by its own scenarios");
    }
    let mut seen = false;
    for family in &case.objects {
        for call in case.calls_for(Verb::Release, family.trainjob) {
            let Some(from) = call.invoked_order else {
                return Verdict::inconclusive("a call of Release has no order");
            };
            let to = call.answered_order().unwrap_or(u64::MAX);
            seen |= call.ok().is_some();
            if let Err((why, seqs)) = check(family, call, (from, to)) {
                let because = format!("Release of {} {why}", family.trainjob.name);
                return Verdict::fail(because, [call.invoked_seq].into_iter().chain(seqs));
            }
        }
    }
    Verdict::pass_if_seen(seen, "Release that succeeded")
}

type Wrong = (String, Vec<u64>);

fn check(family: &Family<'_>, call: &Call, (from, to): (u64, u64)) -> Result<(), Wrong> {
    let removed = removed(family, from, to);
    if removed.len() > 1 {
        let seqs = removed.iter().map(|version| version.seq).collect();
        return Err((format!("took away {} holds", removed.len()), seqs));
    }
    let Some(answer) = call.ok().and_then(|answer| ReleaseAnswer::deserialize(answer).ok()) else {
        return Ok(());
    };
    let seqs: Vec<u64> = call.answered.iter().map(|answered| answered.seq).collect();
    if answer.released && removed.is_empty() {
        return Err(("says that it released, and no hold was taken away".to_owned(), seqs));
    }
    let Some(workload) = family.workloads.iter().find(|workload| workload.at(to).is_some()) else {
        return Ok(());
    };
    let active = |version: &Version| version.workload().is_some_and(Workload::is_active);
    let (before, after) = (workload.at(from), workload.at(to));
    let inactive_before = before.is_some_and(|version| !active(version));
    let is_active = after.is_some_and(active);
    let by_others = inactive_before && !held_when_deactivated(family, workload.versions(), from);
    if by_others && is_active {
        let what = "reactivated a Workload that somebody else had deactivated";
        return Err((what.to_owned(), seqs));
    }
    if answer.released && answer.not_resumed.is_none() && !is_active {
        let what = "succeeded without a reason not to, and the Workload is not active";
        return Err((what.to_owned(), seqs));
    }
    Ok(())
}

/// The versions in which a hold is taken away.
fn removed<'a>(family: &Family<'a>, from: u64, to: u64) -> Vec<&'a Version> {
    let token = |version: &'a Version| version.trainjob().and_then(|it| it.hold_token());
    let changes = family.trainjob.changes();
    let in_time = changes.filter(|(_, after)| from < after.order && after.order <= to);
    in_time
        .filter(|(before, after)| !after.is_deletion() && token(before).is_some())
        .filter(|(before, after)| token(after) != token(before) && token(after).is_none())
        .map(|(_, after)| after)
        .collect()
}

/// Whether the object was held when its Workload was last deactivated.
fn held_when_deactivated(family: &Family<'_>, versions: &[Version], by: u64) -> bool {
    let active = |version: &Version| version.workload().is_some_and(Workload::is_active);
    let known: Vec<_> = versions.iter().filter(|version| version.order <= by).collect();
    let deactivated = known.windows(2).rfind(|pair| active(pair[0]) && !active(pair[1]));
    let order = deactivated.map(|pair| pair[1].order).or(known.first().map(|it| it.order));
    let trainjob = order.and_then(|order| family.trainjob.at(order)).and_then(Version::trainjob);
    trainjob.is_some_and(|trainjob| trainjob.hold_token().is_some())
}

#[cfg(test)]
mod tests {
    use dispatch_contract::{ErrorKind, names};
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::history::History;
    use crate::history::told::Told;
    use crate::rules::tests::assert_verdict;

    impl Told {
        fn unmarks_held(&mut self) -> &mut Self {
            self.trainjob(|it| {
                it["metadata"]["annotations"].as_object_mut().unwrap().remove(names::HELD);
            })
        }
    }

    fn held() -> Told {
        let mut told = Told::kueue();
        told.runs().holds("a").calls(Verb::Release);
        told
    }

    fn released() -> serde_json::Value {
        json!({"released": true})
    }

    pub(super) fn two_tokens() -> History {
        held()
            .unmarks_held()
            .marks_held("b")
            .unmarks_held()
            .sets_active(true)
            .answers(released())
            .history()
    }

    fn deactivated_by_another() -> Told {
        let mut told = Told::kueue();
        told.runs().sets_active(false).marks_held("a").calls(Verb::Release).unmarks_held();
        told
    }

    #[rstest]
    #[case::by_the_rules(
        held().unmarks_held().sets_active(true).answers(released()).history(), "pass")]
    #[case::nothing_to_release(
        Told::kueue().runs().calls(Verb::Release).answers(json!({"released": false})).history(),
        "pass")]
    #[case::failed(held().fails(ErrorKind::Rejected).history(), "n/a")]
    #[case::two_tokens(two_tokens(), "took away 2 holds")]
    #[case::nothing_taken_away(
        held().sets_active(true).answers(released()).history(), "no hold was taken away")]
    #[case::not_reactivated(
        held().unmarks_held().answers(released()).history(), "the Workload is not active")]
    #[case::not_reactivated_for_a_reason(
        deactivated_by_another()
            .answers(json!({"released": true, "notResumed": "an administrator"})).history(),
        "pass")]
    #[case::reactivated_though_another_deactivated(
        deactivated_by_another().sets_active(true).answers(released()).history(),
        "that somebody else had deactivated")]
    #[case::plain(Told::plain().history(), "n/a")]
    fn a_release_ends_one_hold(#[case] history: History, #[case] expected: &str) {
        assert_verdict("CA-02", &history, expected);
    }
}
