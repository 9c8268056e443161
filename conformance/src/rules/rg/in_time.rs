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
//! Only times count in which a replica of the controller served, and no fault kept one from it. That
//! Trainer has yet to take a raise over is a reason (RG-17) once; where A is raised again and again, the
//! times in between count together.
//!
//! # A history that breaks it
//! The object is open, nothing runs, quota is reserved, and a minute later the check is Pending.

use std::collections::BTreeSet;

use dispatch_contract::names;
use dispatch_contract::resources::{CheckState, JobSet, TrainJob, Workload};

use super::remainder;
use crate::history::{Kind, Trail, Version};
use crate::rules::case::{self, Case, Family};
use crate::rules::runtime::Runtime;
use crate::rules::span::{Span, Spans, overdue};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const RG_15: Judge = Judge {
    rule: "RG-15",
    reads: &[
        Kind::Workload,
        Kind::TrainJob,
        Kind::JobSet,
        Kind::Job,
        Kind::Pod,
        Kind::TrainingRuntime,
    ],
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
                let spans = due(case, family, workload, check);
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
fn due(case: &Case<'_>, family: &Family<'_>, workload: &Trail, check: &str) -> Vec<Span> {
    let trails = [family.trainjob, workload].into_iter();
    let owned = family.jobsets.iter().chain(&family.jobs).chain(&family.pods).copied();
    let runtime = Runtime::of(case, family);
    let edits = runtime.iter().flat_map(|runtime| runtime.trails.iter().copied());
    let mut state = State { check, runtime: runtime.as_ref(), ..State::default() };
    let mut spans = Spans::default();
    for (trail, version) in case::merged(trails.chain(owned).chain(edits)) {
        state.take(trail, version);
        match (state.is_due(), state.has_taken_over()) {
            (true, Some(false)) => spans.delay(version.at),
            (due, taken) => spans.tell(due && taken == Some(true), version.at, version.seq),
        }
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
    runtime: Option<&'a Runtime<'a>>,
    order: u64,
}

impl<'a> State<'a> {
    fn take(&mut self, trail: &'a Trail, version: &'a Version) {
        let there = !version.is_deletion();
        self.order = version.order;
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
            && !self.is_edited()
    }

    /// Whether the `JobSet` carries the object's A, raised or not. `None` where it is not as it has to
    /// be: that is not for Trainer alone to mend.
    fn has_taken_over(&self) -> Option<bool> {
        let (trainjob, (_, jobset)) = (self.trainjob?, self.jobset?);
        let own = jobset.controller_uid() == trainjob.metadata.uid.as_deref();
        if !jobset.is_suspended() || !own {
            return None;
        }
        let count = trainjob.annotation(names::ADMISSION_COUNT);
        let jobs = &jobset.spec.replicated_jobs;
        Some(jobs.iter().all(|job| job.pod_annotation(names::POD_ADMISSION) == count))
    }

    /// Whether the runtime is another one than the object was started with (SG-09).
    fn is_edited(&self) -> bool {
        self.runtime.is_some_and(|runtime| runtime.differs_at(self.order))
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
pub(in crate::rules) fn may_run(trainjob: &TrainJob) -> bool {
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
    use crate::history::told::{CONTROLLER, NAME, Told, ask};
    use crate::history::{FaultChange, History, SubjectChange};
    use crate::rules::tests::assert_verdict;

    pub(super) fn never_ready() -> History {
        Told::kueue().waits().seconds(11).history()
    }

    fn evicted() -> Told {
        let mut told = Told::kueue();
        told.runs().evicts().suspends().pod_terminates("pod-1").unreserves().reserves();
        told
    }

    /// Trainer takes every raise over at once, and there is never a Ready.
    fn raised_for_ever() -> History {
        let mut told = Told::kueue();
        told.waits();
        for a in 1..6 {
            told.raises(a).seconds(1).takes_over(a).seconds(4);
        }
        told.history()
    }

    fn edited() -> Told {
        let mut told = Told::kueue();
        told.runtime("runtime").starts().opens();
        told.change(Kind::TrainingRuntime, "runtime", |it| it["spec"]["x"] = json!(1)).reserves();
        told
    }

    /// The controller's first read is held for a minute, and so long after that it raises.
    fn held_up(seconds: i64) -> History {
        let mut told = Told::kueue();
        told.waits().request(ask(CONTROLLER, "get", Kind::Workload, "workload"));
        told.fault(FaultChange::Met).seconds(60).fault(FaultChange::Released).sent().answered();
        told.seconds(seconds).raises_by(CONTROLLER, 1).takes_over(1);
        told.sets_by(CONTROLLER, "Ready").history()
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
    #[case::trainer_lags_a_while(
        Told::kueue().waits().seconds(8).raises(1).seconds(20).takes_over(1).seconds(8).sets("Ready")
            .history(),
        "pass")]
    #[case::raised_again_as_trainer_lags(
        Told::kueue().waits().seconds(8).raises(1).seconds(20).raises(2).seconds(1).takes_over(2)
            .seconds(8).sets("Ready").history(),
        "pass")]
    #[case::raised_again_and_again(raised_for_ever(), "fail: check dispatch-check of Workload")]
    #[case::the_runtime_was_edited(
        edited().seconds(60).history(), "n/a: there was no Workload of dispatch's")]
    #[case::the_runtime_was_restored(
        edited().change(Kind::TrainingRuntime, "runtime", |it| {
            it["spec"].as_object_mut().unwrap().remove("x");
        }).seconds(11)
            .history(),
        "fail")]
    #[case::a_fault_is_in_the_way(held_up(9), "pass")]
    #[case::a_fault_was_in_the_way(held_up(11), "fail")]
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
