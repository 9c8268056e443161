//! The status of a Job, as it is worked on.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::indexes;
use crate::object::{items, number, seconds, text, uid};

/// A condition of a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) type_: &'static str,
    pub(super) reason: String,
    pub(super) message: String,
}

impl Condition {
    pub(super) fn new(type_: &'static str, reason: &str, message: &str) -> Self {
        Self { type_, reason: reason.to_owned(), message: message.to_owned() }
    }

    /// The same reason, of another type.
    pub(super) fn becomes(&self, type_: &'static str) -> Self {
        Self { type_, ..self.clone() }
    }
}

/// The counts and conditions of a Job.
#[derive(Clone, Debug)]
pub(super) struct Status {
    pub(super) active: i64,
    pub(super) ready: i64,
    pub(super) terminating: i64,
    pub(super) succeeded: i64,
    pub(super) failed: i64,
    pub(super) completed_indexes: BTreeSet<i64>,
    pub(super) uncounted_succeeded: Vec<String>,
    pub(super) uncounted_failed: Vec<String>,
    pub(super) start_time: Option<String>,
    completion_time: Option<String>,
    conditions: Vec<Value>,
}

impl Status {
    pub(super) fn of(job: &Value) -> Self {
        let count = |field: &str| number(job, &format!("/status/{field}")).unwrap_or_default();
        let uids = |field: &str| {
            let all = items(job, &format!("/status/uncountedTerminatedPods/{field}"));
            all.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let time = |field: &str| {
            let at = text(job, &format!("/status/{field}"));
            (!at.is_empty()).then(|| at.to_owned())
        };
        Self {
            active: count("active"),
            ready: count("ready"),
            terminating: count("terminating"),
            succeeded: count("succeeded"),
            failed: count("failed"),
            completed_indexes: indexes::parse(text(job, "/status/completedIndexes")),
            uncounted_succeeded: uids("succeeded"),
            uncounted_failed: uids("failed"),
            start_time: time("startTime"),
            completion_time: time("completionTime"),
            conditions: items(job, "/status/conditions").to_vec(),
        }
    }

    /// A condition that is True.
    pub(super) fn is_true(&self, type_: &'static str) -> Option<Condition> {
        let of = |it: &&Value| it["type"] == type_ && it["status"] == "True";
        let found = self.conditions.iter().find(of)?;
        Some(Condition::new(type_, text(found, "/reason"), text(found, "/message")))
    }

    /// Sets a condition; a new one only if it is True (`ensureJobConditionStatus`). Returns whether
    /// anything changed. Its times are now, whatever changed.
    pub(super) fn set(&mut self, wanted: &Condition, status: &str, now: Timestamp) -> bool {
        let at = seconds(now);
        let new = json!({
            "type": wanted.type_, "status": status, "reason": wanted.reason,
            "message": wanted.message, "lastProbeTime": at, "lastTransitionTime": at,
        });
        let found = self.conditions.iter_mut().find(|it| it["type"] == wanted.type_);
        match found {
            Some(found) => {
                let same = ["status", "reason", "message"].iter().all(|it| found[*it] == new[*it]);
                if !same {
                    *found = new;
                }
                !same
            }
            None if status == "True" => {
                self.conditions.push(new);
                true
            }
            None => false,
        }
    }

    /// Counts the pods that were listed as not counted, and are not tracked any more
    /// (`cleanUncountedPodsWithoutFinalizers`). Returns whether there were any.
    pub(super) fn count_untracked(&mut self, tracked: &BTreeSet<String>) -> bool {
        let before = self.uncounted_succeeded.len() + self.uncounted_failed.len();
        for (uncounted, count) in [
            (&mut self.uncounted_succeeded, &mut self.succeeded),
            (&mut self.uncounted_failed, &mut self.failed),
        ] {
            let listed = uncounted.len();
            uncounted.retain(|it| tracked.contains(it));
            *count += i64::try_from(listed - uncounted.len()).unwrap_or_default();
        }
        before != self.uncounted_succeeded.len() + self.uncounted_failed.len()
    }

    /// The Job has ended.
    pub(super) fn end(&mut self, wanted: &Condition, now: Timestamp) {
        self.set(wanted, "True", now);
        if wanted.type_ == "Complete" {
            self.completion_time = Some(seconds(now));
        }
    }

    /// The Job with this status, as it is sent.
    pub(super) fn in_job(&self, job: &Value) -> Value {
        let mut status = Map::new();
        let mut put = |field: &str, value: Value| status.insert(field.to_owned(), value);
        // A count of nothing is left out; of what is ready and terminating it is not.
        for (field, count) in
            [("active", self.active), ("succeeded", self.succeeded), ("failed", self.failed)]
        {
            if count != 0 {
                put(field, count.into());
            }
        }
        put("ready", self.ready.into());
        put("terminating", self.terminating.into());
        if !self.completed_indexes.is_empty() {
            put("completedIndexes", indexes::write(&self.completed_indexes).into());
        }
        for (field, time) in
            [("startTime", &self.start_time), ("completionTime", &self.completion_time)]
        {
            if let Some(time) = time {
                put(field, time.clone().into());
            }
        }
        if !self.conditions.is_empty() {
            put("conditions", self.conditions.clone().into());
        }
        let mut uncounted = json!({});
        for (field, uids) in
            [("succeeded", &self.uncounted_succeeded), ("failed", &self.uncounted_failed)]
        {
            if !uids.is_empty() {
                uncounted[field] = uids.clone().into();
            }
        }
        put("uncountedTerminatedPods", uncounted);
        let mut job = job.clone();
        job["status"] = Value::Object(status);
        job
    }

    /// Whether a pod is listed as failed, and not counted yet.
    pub(super) fn lists_failed(&self, pod: &Value) -> bool {
        self.uncounted_failed.iter().any(|it| it == uid(pod))
    }

    /// Whether a pod is listed as succeeded, and not counted yet.
    pub(super) fn lists_succeeded(&self, pod: &Value) -> bool {
        self.uncounted_succeeded.iter().any(|it| it == uid(pod))
    }
}
