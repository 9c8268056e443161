//! What a Job asks for, from what was seen of it and its pods (Kubernetes
//! `pkg/controller/job/job_controller.go`, `syncJob`). All of it is decided at once: pods are made and
//! deleted first, and the status is written after that, as it was decided on.

mod manage;
mod track;

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use self::manage::manage;
use self::track::track;
use super::backoff::Backoff;
use super::expectations::Expectations;
use super::pods::{
    delete, has_failed, index, is_active, is_going, is_indexed, is_ready, is_tracked, phase,
};
use super::status::{Condition, Status};
use crate::component::{Key, Plan, View};
use crate::event::{Told, event};
use crate::object::{is, is_terminating, items, number, seconds, text, uid};
use crate::resource::POD;

/// What a sync comes to.
pub(super) struct Synced {
    pub(super) plan: Plan,
    /// The failures with those that it counts.
    pub(super) backoff: Backoff,
}

/// A Job in the course of a sync.
pub(super) struct Sync<'a> {
    job: &'a Value,
    pods: Vec<&'a Value>,
    active: Vec<&'a Value>,
    expectations: &'a Expectations,
    now: Timestamp,
    backoff: Backoff,
    /// What the counts come to with pods that have ended and are not counted yet.
    succeeded: i64,
    failed: i64,
    status: Status,
    /// Why the Job is about to end.
    ending: Option<Condition>,
    /// Whether the status changed in what is not counted.
    changed: bool,
    plan: Plan,
    told: Vec<Condition>,
}

/// Decides.
pub(super) fn sync(
    view: &View,
    job: &Value,
    expectations: &Expectations,
    backoff: Backoff,
    now: Timestamp,
) -> Synced {
    let mut sync = Sync::new(view, job, expectations, backoff, now);
    let met = expectations.are_met(&Key::of(job));
    let before = (sync.status.active, sync.status.ready, sync.status.terminating);
    sync.count(job);
    sync.evaluate();
    if sync.ending.is_some() {
        sync.delete_active(met);
    } else {
        sync.work(met);
    }
    let after = (sync.status.active, sync.status.ready, sync.status.terminating);
    sync.changed |= before != after || job.pointer("/status/ready").is_none();
    track(&mut sync);
    let mut plan = sync.plan;
    for told in &sync.told {
        let told = Told {
            warning: told.type_ == "Failed",
            reason: &told.reason,
            message: &told.message,
            component: "job-controller",
        };
        plan = plan.and(event(job, told, now), "Kubernetes pkg/controller/job");
    }
    Synced { plan, backoff: sync.backoff }
}

impl<'a> Sync<'a> {
    fn new(
        view: &'a View,
        job: &'a Value,
        expectations: &'a Expectations,
        backoff: Backoff,
        now: Timestamp,
    ) -> Self {
        let mut pods: Vec<&Value> = view.controlled_by(POD, job).collect();
        pods.sort_by_key(|it| index(it));
        let active: Vec<&Value> = pods.iter().copied().filter(|it| is_active(it)).collect();
        Self {
            job,
            pods,
            active,
            expectations,
            now,
            backoff,
            succeeded: 0,
            failed: 0,
            status: Status::of(job),
            ending: None,
            changed: false,
            plan: Plan::nothing(),
            told: Vec::new(),
        }
    }

    /// Whether a pod's end is still to be counted.
    fn is_countable(&self, pod: &Value) -> bool {
        let end = self.completions();
        let known = index(pod).is_some_and(|it| end.is_none_or(|end| it < end));
        is_tracked(pod)
            && !self.expectations.is_untracking(uid(pod))
            && (!is_indexed(self.job) || known)
    }

    /// The indexes that have succeeded, by the status and by pods that are still tracked: the status
    /// that lists them may not have been seen yet (`calculateSucceededIndexes`).
    fn succeeded_indexes(&self) -> BTreeSet<i64> {
        let end = self.completions().unwrap_or_default();
        let ended = self.pods.iter().filter(|it| phase(it) == "Succeeded" && is_tracked(it));
        let indexes = ended.filter_map(|it| index(it)).filter(|it| *it < end);
        self.status.completed_indexes.iter().copied().chain(indexes).collect()
    }

    fn completions(&self) -> Option<i64> {
        number(self.job, "/spec/completions")
    }

    fn is_suspended(&self) -> bool {
        is(self.job, "/spec/suspend")
    }

    /// Counts what is there.
    fn count(&mut self, job: &Value) {
        let number_of = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let countable = |it: &&Value| self.is_countable(it);
        let succeeded: Vec<&Value> = self
            .pods
            .iter()
            .copied()
            .filter(|it| phase(it) == "Succeeded" && !self.status.lists_succeeded(it))
            .filter(countable)
            .collect();
        let failed: Vec<&Value> = self
            .pods
            .iter()
            .copied()
            .filter(|it| has_failed(it, job) && !self.status.lists_failed(it))
            .filter(countable)
            .collect();
        self.succeeded = self.status.succeeded
            + number_of(succeeded.len() + self.status.uncounted_succeeded.len());
        self.failed =
            self.status.failed + number_of(failed.len() + self.status.uncounted_failed.len());
        self.backoff = self.backoff.with(&succeeded, &failed);
        if is_indexed(job) {
            self.succeeded = number_of(self.succeeded_indexes().len());
        }
        self.status.active = number_of(self.active.len());
        self.status.ready = number_of(self.active.iter().filter(|it| is_ready(it)).count());
        self.status.terminating = number_of(self.pods.iter().filter(|it| is_going(it)).count());
        if self.status.start_time.is_none() && !self.is_suspended() {
            self.status.start_time = Some(seconds(self.now));
        }
    }

    /// Whether the Job is about to end already, or has to fail now.
    fn evaluate(&mut self) {
        if let Some(met) = self.status.is_true("SuccessCriteriaMet") {
            self.ending = Some(met);
        } else if let Some(target) = self.status.is_true("FailureTarget") {
            self.ending = Some(target.becomes("Failed"));
        } else if self.is_past_backoff_limit() {
            let message = "Job has reached the specified backoff limit";
            self.ending = Some(Condition::new("FailureTarget", "BackoffLimitExceeded", message));
        } else {
            self.check_deadline();
        }
    }

    fn is_past_backoff_limit(&self) -> bool {
        let limit = number(self.job, "/spec/backoffLimit").unwrap_or(6);
        if self.failed > limit {
            return true;
        }
        if text(self.job, "/spec/template/spec/restartPolicy") != "OnFailure" {
            return false;
        }
        let running = self.pods.iter().filter(|it| matches!(phase(it), "Running" | "Pending"));
        let restarts: i64 = running
            .flat_map(|it| {
                let all = items(it, "/status/initContainerStatuses").iter();
                all.chain(items(it, "/status/containerStatuses"))
            })
            .filter_map(|it| it["restartCount"].as_i64())
            .sum();
        if limit == 0 { restarts > 0 } else { restarts >= limit }
    }

    fn check_deadline(&mut self) {
        let limit = number(self.job, "/spec/activeDeadlineSeconds");
        let Some(limit) = limit.filter(|_| !self.is_suspended()) else { return };
        let start = self.status.start_time.as_deref().and_then(|it| it.parse::<Timestamp>().ok());
        let Some(start) = start else { return };
        let left = start.as_millisecond() + limit * 1000 - self.now.as_millisecond();
        if left <= 0 {
            let message = "Job was active longer than specified deadline";
            self.ending = Some(Condition::new("FailureTarget", "DeadlineExceeded", message));
        } else {
            let left = Duration::from_millis(u64::try_from(left).unwrap_or_default());
            self.plan.again = Some(left);
        }
    }

    /// Deletes the pods of a Job that is about to end (`deleteActivePods`). While pods are expected
    /// that were not seen yet, it does not end.
    fn delete_active(&mut self, met: bool) {
        const SOURCE: &str = "Kubernetes pkg/controller/job/job_controller.go, deleteActivePods";
        for pod in &self.active {
            self.plan = std::mem::take(&mut self.plan).and(delete(pod), SOURCE);
        }
        self.status.terminating += self.status.active;
        self.status.active = 0;
        self.status.ready = 0;
        if !met {
            self.ending = None;
        }
    }

    /// Makes and deletes pods, unless it waits for some; then looks whether it is complete, suspended
    /// or resumed.
    fn work(&mut self, met: bool) {
        let managed = met && !is_terminating(self.job);
        if managed {
            manage(self);
        }
        let done = match self.completions() {
            None => self.succeeded > 0,
            Some(wanted) => self.succeeded >= wanted,
        };
        if done && self.status.active == 0 {
            let message = "Reached expected number of succeeded pods";
            self.ending = Some(Condition::new("SuccessCriteriaMet", "CompletionsReached", message));
            return;
        }
        if !managed {
            return;
        }
        let (status, wanted, told) = if self.is_suspended() {
            ("True", Condition::new("Suspended", "JobSuspended", "Job suspended"), "Suspended")
        } else {
            ("False", Condition::new("Suspended", "JobResumed", "Job resumed"), "Resumed")
        };
        if self.status.set(&wanted, status, self.now) {
            self.changed = true;
            // The start is that of the last resume.
            if status == "False" {
                self.status.start_time = Some(seconds(self.now));
            }
            self.told.push(Condition::new("Suspended", told, &wanted.message));
        }
    }
}
