//! The status of a `TrainJob`.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::object::{condition, is, items, number, seconds, set_condition, text};

/// Why a `TrainJob` has failed that ran out of time. Such a failure stays.
pub(super) const DEADLINE_EXCEEDED: &str = "DeadlineExceeded";

/// The status that Trainer works on: as it is stored, without a failure other than the deadline's.
///
/// Trainer drops the condition Failed each time that it looks (measured; Trainer
/// `pkg/controller/trainjob_controller.go`, `removeFailedCondition`): it comes back from the `JobSet`,
/// if that is still there.
pub(super) struct Status {
    conditions: Vec<Value>,
    jobs: Option<Value>,
}

impl Status {
    pub(super) fn of(train_job: &Value) -> Self {
        let conditions = items(train_job, "/status/conditions").iter();
        let stays = |it: &&Value| it["type"] != "Failed" || it["reason"] == DEADLINE_EXCEEDED;
        Self {
            conditions: conditions.filter(stays).cloned().collect(),
            jobs: train_job.pointer("/status/jobsStatus").cloned(),
        }
    }

    /// `trainjob.IsTrainJobFinished`.
    pub(super) fn is_finished(&self) -> bool {
        let ended = |it: &Value| it["type"] == "Complete" || it["type"] == "Failed";
        self.conditions.iter().any(|it| ended(it) && it["status"] == "True")
    }

    pub(super) fn fail(&mut self, reason: &str, message: &str, now: Timestamp) {
        let now = seconds(now);
        set_condition(&mut self.conditions, "Failed", "True", reason, message, &now);
    }

    /// `setSuspendedCondition`.
    pub(super) fn suspend(&mut self, train_job: &Value, now: Timestamp) {
        let now = seconds(now);
        let conditions = &mut self.conditions;
        if is(train_job, "/spec/suspend") {
            let message = "TrainJob is suspended";
            set_condition(conditions, "Suspended", "True", "Suspended", message, &now);
        } else if conditions.iter().any(|it| it["type"] == "Suspended" && it["status"] == "True") {
            let message = "TrainJob is resumed";
            set_condition(conditions, "Suspended", "False", "Resumed", message, &now);
        }
    }

    /// Takes over what the `JobSet` says (Trainer `plugins/jobset`, `Status`). A failure that was
    /// there before as the deadline's stays that.
    pub(super) fn follow(&mut self, job_set: &Value) {
        let deadline = self.conditions.iter().find(|it| it["type"] == "Failed").cloned();
        for (of, becomes) in [("Completed", "Complete"), ("Failed", "Failed")] {
            let Some(seen) = condition(job_set, of).filter(|it| it["status"] == "True") else {
                continue;
            };
            let (reason, message) = (text(seen, "/reason"), text(seen, "/message"));
            let at = text(seen, "/lastTransitionTime");
            set_condition(&mut self.conditions, becomes, "True", reason, message, at);
        }
        let deadline = deadline.filter(|it| it["reason"] == DEADLINE_EXCEEDED);
        if let (Some(deadline), Some(failed)) =
            (deadline, self.conditions.iter_mut().find(|it| it["type"] == "Failed"))
        {
            *failed = deadline;
        }
        let jobs = items(job_set, "/status/replicatedJobsStatus").iter().map(job_status);
        let jobs: Vec<Value> = jobs.collect();
        self.jobs = (!jobs.is_empty()).then_some(Value::Array(jobs));
    }

    /// How long the deadline is away; negative when it has passed, none where there is none. It
    /// counts from the last resume (`reconcileDeadline`).
    pub(super) fn until_deadline(&self, train_job: &Value, now: Timestamp) -> Option<Deadline> {
        let limit = number(train_job, "/spec/activeDeadlineSeconds").filter(|it| *it > 0)?;
        if self.is_finished() || is(train_job, "/spec/suspend") {
            return None;
        }
        let resumed = self
            .conditions
            .iter()
            .find(|it| it["type"] == "Suspended" && it["status"] == "False")
            .map(|it| text(it, "/lastTransitionTime"));
        let start = resumed.unwrap_or_else(|| text(train_job, "/metadata/creationTimestamp"));
        let start: Timestamp = start.parse().ok()?;
        let left = start.as_millisecond() + limit * 1000 - now.as_millisecond();
        Some(match u64::try_from(left) {
            Err(_) => Deadline::Passed,
            // At the very moment it is not over yet: Trainer looks again a second later.
            Ok(0) => Deadline::In(Duration::from_secs(1)),
            Ok(millis) => Deadline::In(Duration::from_millis(millis)),
        })
    }

    /// The merge patch from what is stored to this; empty if nothing has changed.
    pub(super) fn patch(self, train_job: &Value) -> Value {
        let mut status = Map::new();
        let stored = items(train_job, "/status/conditions");
        if self.conditions != stored {
            let conditions = Value::Array(self.conditions);
            let none = conditions == json!([]);
            status.insert("conditions".to_owned(), if none { Value::Null } else { conditions });
        }
        if self.jobs.as_ref() != train_job.pointer("/status/jobsStatus") {
            status.insert("jobsStatus".to_owned(), self.jobs.unwrap_or_default());
        }
        if status.is_empty() { json!({}) } else { json!({ "status": status }) }
    }
}

/// When a `TrainJob` runs out of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deadline {
    Passed,
    In(Duration),
}

fn job_status(of: &Value) -> Value {
    json!({
        "name": of["name"],
        "ready": of["ready"].as_i64().unwrap_or_default(),
        "succeeded": of["succeeded"].as_i64().unwrap_or_default(),
        "failed": of["failed"].as_i64().unwrap_or_default(),
        "active": of["active"].as_i64().unwrap_or_default(),
        "suspended": of["suspended"].as_i64().unwrap_or_default(),
    })
}
