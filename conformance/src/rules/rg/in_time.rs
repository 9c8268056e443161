//! RG-15: when nothing stands against it, the check is Ready in time.
//!
//! # What it says
//! When no rule gives a reason to wait, the check is Ready within 10 seconds of quota being
//! reserved, or of the last reason going away.
//!
//! # Why it matters
//! A controller that approves nothing breaks no rule of safety. Quota that is reserved and not used
//! is taken from everybody else.
//!
//! # How it is judged
//! Only times count in which a replica of the controller served. The reasons are those that show in
//! the objects; where the runtime was edited (SG-09), the history does not show it.
//!
//! # A history that breaks it
//! The object is open, nothing runs, quota is reserved, and a minute later the check is Pending.

use std::collections::BTreeSet;

use dispatch_contract::names;
use dispatch_contract::resources::{CheckState, JobSet, TrainJob, Workload};

use super::remainder;
use crate::history::{Kind, Trail, Version};
use crate::rules::case::{self, Case, Family};
use crate::rules::span::{Span, Spans, overdue};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const RG_15: Judge = Judge {
    rule: "RG-15",
    reads: &[Kind::Workload, Kind::TrainJob, Kind::JobSet, Kind::Job, Kind::Pod],
    brings_about: &[],
    decide: judge,
    #[cfg(test)]
    breaking: tests::never_ready,
};

fn judge(case: &Case<'_>) -> Verdict {
    if case.served.is_empty() {
        return Verdict::not_applicable("no controller served");
    }
    let mut seen = false;
    for family in &case.objects {
        for workload in &family.workloads {
            for check in &case.checks {
                let spans = due(family, workload, check);
                seen |= !spans.is_empty();
                if let Some(late) = overdue(case, &spans) {
                    let because = format!(
                        "check {check} of Workload {} was not Ready 10 seconds after the last \
                         reason to wait went away",
                        workload.name
                    );
                    return Verdict::fail(because, [late.seq]);
                }
            }
        }
    }
    Verdict::pass_if_seen(seen, "Workload of dispatch's without a reason to wait")
}

/// When nothing stood against Ready, and the check was Pending.
fn due(family: &Family<'_>, workload: &Trail, check: &str) -> Vec<Span> {
    let trails = [family.trainjob, workload].into_iter();
    let owned = family.jobsets.iter().chain(&family.jobs).chain(&family.pods).copied();
    let mut state = State { check, ..State::default() };
    let mut spans = Spans::default();
    for (trail, version) in case::merged(trails.chain(owned)) {
        state.take(trail, version);
        spans.tell(state.is_due(), version.at, version.seq);
    }
    spans.done()
}

/// An object and what belongs to it, at one point.
#[derive(Default)]
struct State<'a> {
    check: &'a str,
    trainjob: Option<&'a TrainJob>,
    workload: Option<&'a Workload>,
    jobset: Option<(&'a str, &'a JobSet)>,
    unsettled: BTreeSet<&'a str>,
    live: BTreeSet<&'a str>,
}

impl<'a> State<'a> {
    fn take(&mut self, trail: &'a Trail, version: &'a Version) {
        let there = !version.is_deletion();
        let uid = trail.uid.as_str();
        match trail.kind {
            Kind::TrainJob => self.trainjob = version.trainjob().filter(|_| there),
            Kind::Workload => self.workload = version.workload().filter(|_| there),
            Kind::JobSet if there => self.jobset = version.jobset().map(|jobset| (uid, jobset)),
            Kind::JobSet => self.jobset = self.jobset.filter(|(present, _)| *present != uid),
            Kind::Job => note(&mut self.unsettled, uid, there && remainder::job_runs(version)),
            Kind::Pod => note(&mut self.live, uid, trail.lives_at(version.order)),
            _ => {}
        }
    }

    fn is_due(&self) -> bool {
        let pending = |workload: &Workload| {
            workload.check(self.check).is_some_and(|check| check.state == CheckState::Pending)
        };
        self.workload.is_some_and(|it| pending(it) && case::may_act(it).is_ok())
            && self.unsettled.is_empty()
            && self.live.is_empty()
            && self.trainjob.is_some_and(may_run)
            && self.has_taken_over()
    }

    /// Whether the `JobSet` carries the object's A, raised or not.
    fn has_taken_over(&self) -> bool {
        let (Some(trainjob), Some((_, jobset))) = (self.trainjob, self.jobset) else {
            return false;
        };
        let count = trainjob.annotation(names::ADMISSION_COUNT);
        jobset.is_suspended()
            && jobset.controller_uid() == trainjob.metadata.uid.as_deref()
            && jobset
                .spec
                .replicated_jobs
                .iter()
                .all(|job| job.pod_annotation(names::POD_ADMISSION) == count)
    }
}

fn note<'a>(set: &mut BTreeSet<&'a str>, uid: &'a str, is_in: bool) {
    if is_in {
        set.insert(uid);
    } else {
        set.remove(uid);
    }
}

/// Whether the `TrainJob` itself gives no reason to wait.
fn may_run(trainjob: &TrainJob) -> bool {
    trainjob.metadata.deletion_timestamp.is_none()
        && trainjob.is_suspended()
        && trainjob.is_opened()
        && !trainjob.gates().has_dispatch()
        && trainjob.hold_token().is_none()
        && trainjob.ended_mark().is_none()
        && trainjob.end().is_none()
        && trainjob.has_kueue_patch()
        && matches!(trainjob.admission_count(), Some(Ok(_)))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::history::told::{NAME, Told};
    use crate::history::{History, SubjectChange};
    use crate::rules::tests::assert_verdict;

    pub(super) fn never_ready() -> History {
        Told::kueue().waits().seconds(11).history()
    }

    fn evicted() -> Told {
        let mut told = Told::kueue();
        told.runs().evicts().suspends().pod_terminates("pod-1").unreserves().reserves();
        told
    }

    fn marked(mark: &str) -> History {
        let mut told = Told::kueue();
        told.starts().opens().trainjob(|it| it["metadata"]["annotations"][mark] = json!("x"));
        told.reserves().seconds(60).history()
    }

    #[rstest]
    #[case::by_the_rules(Told::kueue().runs().seconds(60).history(), "pass")]
    #[case::in_time(Told::kueue().waits().seconds(9).goes(1).history(), "pass")]
    #[case::never_ready(never_ready(), "fail: check dispatch-check of Workload workload")]
    #[case::too_late(Told::kueue().waits().seconds(11).goes(1).history(), "fail")]
    #[case::too_late_after_the_pods_went(
        evicted().seconds(60).pod_goes("pod-1").seconds(11).history(), "fail")]
    #[case::too_late_after_trainer_took_over(
        Told::kueue().waits().raises(1).takes_over(1).seconds(11).history(), "fail")]
    #[case::a_pod_lingers(evicted().seconds(60).history(), "pass")]
    #[case::no_quota(Told::kueue().starts().opens().seconds(60).history(), "n/a")]
    #[case::held(marked(names::HELD), "n/a")]
    #[case::ended(marked(names::ENDED), "n/a")]
    #[case::not_opened(Told::kueue().starts().reserves().seconds(60).history(), "n/a")]
    #[case::being_evicted(Told::kueue().runs().evicts().suspends().pod_goes("pod-1").seconds(60)
        .history(), "pass")]
    #[case::trainer_lags(Told::kueue().waits().raises(1).seconds(60).history(), "pass")]
    #[case::no_jobset(
        Told::kueue().starts().opens().delete(Kind::JobSet, NAME).reserves().seconds(60).history(),
        "n/a")]
    #[case::a_job_lags(
        Told::kueue().starts().opens()
            .change(Kind::Job, "node", |it| it["status"]["active"] = json!(1))
            .reserves().seconds(60).history(),
        "n/a")]
    #[case::nobody_serves(
        Told::kueue().waits().controller(SubjectChange::Killed).seconds(60).history(), "pass")]
    #[case::somebody_serves_again_in_time(
        Told::kueue().waits().controller(SubjectChange::Killed).seconds(60)
            .controller(SubjectChange::Ready).seconds(9).goes(1).history(),
        "pass")]
    #[case::somebody_serves_again_and_idles(
        Told::kueue().waits().controller(SubjectChange::Killed).seconds(60)
            .controller(SubjectChange::Ready).seconds(11).goes(1).history(),
        "fail")]
    #[case::stands_still(
        Told::kueue().waits().controller(SubjectChange::Frozen).seconds(60).history(), "pass")]
    #[case::goes_on_in_time(
        Told::kueue().waits().controller(SubjectChange::Frozen).seconds(60)
            .controller(SubjectChange::Thawed).seconds(9).goes(1).history(),
        "pass")]
    #[case::goes_on_and_idles(
        Told::kueue().waits().controller(SubjectChange::Frozen).seconds(60)
            .controller(SubjectChange::Thawed).seconds(11).goes(1).history(),
        "fail")]
    #[case::stood_still_and_was_killed(
        Told::kueue().waits().controller(SubjectChange::Frozen)
            .controller(SubjectChange::Killed).seconds(60).history(),
        "pass")]
    #[case::no_controller(Told::plain().history(), "n/a: no controller served")]
    fn the_check_is_ready_in_time(#[case] history: History, #[case] expected: &str) {
        assert_verdict("RG-15", &history, expected);
    }
}
