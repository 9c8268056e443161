//! The status of a `JobSet`, as it is worked on.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::conditions::{self, Condition};
use super::jobs::OwnedJobs;
use super::names::{REPLICATED_JOB, replicas, restarts};
use crate::api::Request;
use crate::component::Plan;
use crate::event::{Told, event};
use crate::object::{is, items, label, number, text};
use crate::resource::JOB_SET;

/// A status, and what is to be told once it is written.
pub(super) struct Status {
    conditions: Vec<Value>,
    replicated_jobs: Vec<Value>,
    terminal_state: Option<&'static str>,
    restarts: i64,
    restarts_towards_max: i64,
    told: Vec<(bool, String, String)>,
    changed: bool,
}

impl Status {
    /// As it is stored, with the counts of the Jobs as they are now. The list is sorted by name, the
    /// last first (`replicatedJobStatusesEqual`).
    pub(super) fn of(job_set: &Value, owned: &OwnedJobs<'_>) -> Self {
        let mut counts: Vec<Value> =
            items(job_set, "/spec/replicatedJobs").iter().map(|it| count(it, owned)).collect();
        counts.sort_by(|one, other| text(other, "/name").cmp(text(one, "/name")));
        let changed = counts != items(job_set, "/status/replicatedJobsStatus");
        Self {
            conditions: items(job_set, "/status/conditions").to_vec(),
            replicated_jobs: counts,
            terminal_state: None,
            restarts: restarts(job_set),
            restarts_towards_max: number(job_set, "/status/restartsCountTowardsMax")
                .unwrap_or_default(),
            told: Vec::new(),
            changed,
        }
    }

    /// The counts of a replicated job.
    pub(super) fn counts(&self, replicated_job: &str) -> &Value {
        let found = self.replicated_jobs.iter().find(|it| it["name"] == replicated_job);
        found.unwrap_or(&Value::Null)
    }

    pub(super) fn set(&mut self, wanted: Condition<'_>, now: Timestamp) {
        if conditions::set(&mut self.conditions, wanted, now) {
            self.changed = true;
            self.tell(wanted.warning, wanted.reason, wanted.message);
        }
    }

    /// It has come to its end.
    pub(super) fn end(&mut self, wanted: Condition<'_>, now: Timestamp) {
        self.set(wanted, now);
        self.terminal_state = Some(wanted.type_);
    }

    pub(super) fn restart(&mut self, counts: bool) {
        self.restarts += 1;
        self.restarts_towards_max += i64::from(counts);
        self.changed = true;
    }

    pub(super) fn restarts_towards_max(&self) -> i64 {
        self.restarts_towards_max
    }

    pub(super) fn tell(&mut self, warning: bool, reason: &str, message: &str) {
        self.told.push((warning, reason.to_owned(), message.to_owned()));
    }

    /// Writes it, if anything has changed, and tells what is to be told then
    /// (`updateJobSetStatus`). The whole object is sent, with the version that was seen.
    pub(super) fn write(self, job_set: &Value, now: Timestamp) -> Plan {
        const SOURCE: &str = "JobSet pkg/controllers/jobset_controller.go, updateJobSetStatus";
        if !self.changed {
            return Plan::nothing();
        }
        let mut object = job_set.clone();
        let status = &mut object["status"];
        if status.is_null() {
            *status = json!({});
        }
        status["conditions"] = self.conditions.into();
        status["replicatedJobsStatus"] = self.replicated_jobs.into();
        status["restarts"] = self.restarts.into();
        if self.restarts_towards_max > 0 {
            status["restartsCountTowardsMax"] = self.restarts_towards_max.into();
        }
        if let Some(state) = self.terminal_state {
            status["terminalState"] = state.into();
        }
        if status["conditions"] == json!([]) {
            status.as_object_mut().map(|it| it.remove("conditions"));
        }
        let mut plan =
            Plan::nothing().and(Request::update(JOB_SET, object, "").on("status"), SOURCE);
        for (warning, reason, message) in &self.told {
            let told = Told { warning: *warning, reason, message, component: "jobset" };
            plan = plan.and(event(job_set, told, now), SOURCE);
        }
        plan
    }
}

/// `calculateReplicatedJobStatuses`.
fn count(replicated_job: &Value, owned: &OwnedJobs<'_>) -> Value {
    let of = |it: &&&Value| label(it, REPLICATED_JOB) == replicated_job["name"].as_str();
    let active: Vec<&Value> = owned.active.iter().filter(of).copied().collect();
    let number_of = |holds: &dyn Fn(&Value) -> bool| active.iter().filter(|it| holds(it)).count();
    json!({
        "name": replicated_job["name"],
        "ready": number_of(&is_ready),
        "succeeded": owned.successful.iter().filter(of).count(),
        "failed": owned.failed.iter().filter(of).count(),
        "active": number_of(&|it| number(it, "/status/active").unwrap_or_default() > 0),
        "suspended": number_of(&|it| is(it, "/spec/suspend")),
    })
}

fn is_ready(job: &Value) -> bool {
    let parallelism = number(job, "/spec/parallelism").unwrap_or(1);
    let pods = number(job, "/spec/completions").map_or(parallelism, |it| it.min(parallelism));
    let succeeded = number(job, "/status/succeeded").unwrap_or_default();
    succeeded + number(job, "/status/ready").unwrap_or_default() >= pods
}

/// Whether all Jobs of a replicated job have started (`allReplicasStarted`).
pub(super) fn all_started(replicated_job: &Value, counts: &Value) -> bool {
    let of = |field: &str| counts[field].as_i64().unwrap_or_default();
    of("failed") + of("ready") + of("succeeded") == replicas(replicated_job)
}
