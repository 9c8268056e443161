//! CA-01: Hold.
//!
//! # What it says
//! `Hold` writes the hold mark with a fresh token, then deactivates the Workload (Kueue mode), or
//! marks and suspends in one update (plain mode).
//!
//! # Why it matters
//! Kueue makes a Workload anew, active, when somebody deletes it: the mark is what remains. A token
//! that is used twice lets an old `Release` undo a new hold.
//!
//! # A history that breaks it
//! `Hold` succeeds, and the Workload is active.

use std::collections::BTreeSet;

use dispatch_contract::resources::{TrainJob, Workload};

use crate::history::{Kind, Verb, Version};
use crate::rules::case::{Case, Family};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const CA_01: Judge = Judge {
    rule: "CA-01",
    reads: &[Kind::TrainJob, Kind::Workload],
    brings_about: &["RG-16"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::not_deactivated,
};

fn judge(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    for family in &case.objects {
        for call in case.calls_for(Verb::Hold, family.trainjob).filter(|call| call.ok().is_some()) {
            let (Some(from), Some(to)) = (call.invoked_order, call.answered_order()) else {
                return Verdict::inconclusive("a call of Hold has no order");
            };
            seen = true;
            if let Err(why) = check(case, family, (from, to)) {
                let because = format!("Hold of {} succeeded, and {why}", family.trainjob.name);
                return Verdict::fail(because, call.events());
            }
        }
    }
    Verdict::pass_if_seen(seen, "Hold that succeeded")
}

fn check(case: &Case<'_>, family: &Family<'_>, (from, to): (u64, u64)) -> Result<(), String> {
    let Some(held) = family.trainjob.at(to).and_then(Version::trainjob) else { return Ok(()) };
    let ended = held.end().is_some() || held.ended_mark().is_some();
    let Some(marked) = marked_between(family, from, to) else {
        return if ended { Ok(()) } else { Err("no fresh hold mark was written".to_owned()) };
    };
    if !case.is_kueue() {
        let suspended = marked.trainjob().is_some_and(TrainJob::is_suspended);
        return if suspended { Ok(()) } else { Err("the mark came without suspend".to_owned()) };
    }
    let workload = family.workloads.iter().find_map(|workload| Some((*workload, workload.at(to)?)));
    let Some((workload, now)) = workload else { return Ok(()) };
    if now.workload().is_some_and(Workload::is_active) {
        return Err(format!("Workload {} is active", workload.name));
    }
    let active = |version: &Version| version.workload().is_some_and(Workload::is_active);
    // One that an earlier hold deactivated may be written to for other reasons meanwhile.
    let after = workload.versions().iter().skip(1);
    let mut steps = workload.versions().iter().zip(after);
    match steps.find(|(one, next)| next.order > from && active(one) && !active(next)) {
        Some((_, inactive)) if inactive.order < marked.order => {
            Err(format!("Workload {} was deactivated before the object was marked", workload.name))
        }
        _ => Ok(()),
    }
}

/// The version in which a token appears that no version before has.
fn marked_between<'a>(family: &Family<'a>, from: u64, to: u64) -> Option<&'a Version> {
    let mut known = BTreeSet::new();
    for version in family.trainjob.versions().iter().filter(|version| version.order <= to) {
        let token = version.trainjob().and_then(|trainjob| trainjob.hold_token());
        let fresh = token.is_some_and(|token| !token.is_empty() && known.insert(token));
        if fresh && version.order > from {
            return Some(version);
        }
    }
    None
}

#[cfg(test)]
pub(in crate::rules) mod tests {
    use dispatch_contract::{ErrorKind, names};
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::history::History;
    use crate::history::told::Told;
    use crate::rules::tests::assert_verdict;

    impl Told {
        pub(in crate::rules) fn marks_held(&mut self, token: &str) -> &mut Self {
            self.trainjob(|it| it["metadata"]["annotations"][names::HELD] = json!(token))
        }

        pub(in crate::rules) fn sets_active(&mut self, active: bool) -> &mut Self {
            self.workload(|it| it["spec"]["active"] = json!(active))
        }

        pub(crate) fn holds(&mut self, token: &str) -> &mut Self {
            self.calls(Verb::Hold).marks_held(token).sets_active(false).answers(json!({}))
        }
    }

    fn running() -> Told {
        let mut told = Told::kueue();
        told.runs();
        told
    }

    pub(super) fn not_deactivated() -> History {
        running().calls(Verb::Hold).marks_held("a").answers(json!({})).history()
    }

    #[rstest]
    #[case::by_the_rules(running().holds("a").history(), "pass")]
    #[case::before_open(Told::kueue().starts().holds("a").history(), "pass")]
    #[case::again(running().holds("a").holds("b").history(), "pass")]
    #[case::failed(running().calls(Verb::Hold).fails(ErrorKind::Unavailable).history(), "n/a")]
    #[case::not_deactivated(not_deactivated(), "Workload workload is active")]
    #[case::not_marked(
        running().calls(Verb::Hold).sets_active(false).answers(json!({})).history(),
        "no fresh hold mark was written")]
    #[case::again_while_the_workload_is_written_to(
        running().holds("a").calls(Verb::Hold).workload(|it| it["status"]["x"] = json!(1))
            .marks_held("b").sets_active(false).answers(json!({})).history(),
        "pass")]
    #[case::the_token_of_before(running().holds("a").holds("a").history(), "no fresh hold mark")]
    #[case::in_the_wrong_order(
        running().calls(Verb::Hold).sets_active(false).marks_held("a").answers(json!({})).history(),
        "was deactivated before the object was marked")]
    fn a_hold_marks_and_deactivates(#[case] history: History, #[case] expected: &str) {
        assert_verdict("CA-01", &history, expected);
    }
}
