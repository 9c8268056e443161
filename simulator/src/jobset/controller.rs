//! The controller of `JobSet`s (`JobSet` `pkg/controllers/jobset_controller.go`).

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::conditions::{COMPLETED, RESUMED, STARTED_IN_ORDER, STARTING_IN_ORDER, SUSPENDED};
use super::failure_policy;
use super::jobs::{OwnedJobs, resumed, service, subdomain};
use super::names::{REPLICATED_JOB, replicas};
use super::status::{Status, all_started};
use crate::api::{Failure, Propagation, Request, Verb};
use crate::component::{Change, Controller, Key, Next, Plan, View};
use crate::event::{Told, event};
use crate::object::{
    Object, condition, controller, is, is_terminating, is_true, items, label, name, namespace,
    number, text,
};
use crate::resource::{EVENT, JOB, JOB_SET, Resource, SERVICE};

/// Who reconciles `JobSet`s that do not say.
const SELF: &str = "jobset.sigs.k8s.io/jobset-controller";

/// Makes, suspends and resumes the Jobs of each `JobSet`.
#[derive(Default)]
pub(super) struct JobSets {
    /// Why Jobs were not made, where that was not told yet.
    untold: BTreeMap<Key, String>,
}

impl Controller for JobSets {
    fn name(&self) -> &'static str {
        "jobset"
    }

    fn watches(&self) -> &'static [&'static Resource] {
        static KINDS: [&Resource; 3] = [JOB_SET, JOB, SERVICE];
        &KINDS
    }

    fn wakes(&self, _view: &View, change: &Change<'_>) -> Vec<Key> {
        if *change.resource == *JOB_SET {
            return vec![Key::of(change.object)];
        }
        let owner = controller(change.object).filter(|it| it["kind"] == JOB_SET.kind);
        let key = owner.map(|it| Key::new(namespace(change.object), text(it, "/name")));
        key.into_iter().collect()
    }

    fn reconcile(&mut self, view: &View, key: &Key, now: Timestamp) -> Plan {
        let untold = self.untold.remove(key);
        let Some(job_set) = view.get(JOB_SET, &key.namespace, &key.name) else {
            return Plan::nothing();
        };
        let manager = text(job_set, "/spec/managedBy");
        if is_terminating(job_set) || !(manager.is_empty() || manager == SELF) {
            return Plan::nothing();
        }
        let owned = OwnedJobs::of(view, job_set);
        let mut status = Status::of(job_set, &owned);
        let told = untold.map_or_else(Plan::nothing, |why| tell(job_set, &why, now));
        let plan = decide(view, job_set, &owned, &mut status, now);
        told.with(plan).with(status.write(job_set, now))
    }

    fn answered(
        &mut self,
        key: &Key,
        request: &Request,
        answer: &Result<&Object, Failure>,
    ) -> Next {
        match (answer, &request.verb) {
            (Ok(_), _) => Next::GoOn,
            (Err(_), _) if *request.resource == *EVENT => Next::GoOn,
            (Err(failure), Verb::Delete(_)) if failure.code == 404 => Next::GoOn,
            (Err(failure), Verb::Create(job, _)) if *request.resource == *JOB => {
                let why = &failure.message;
                let message = format!("job \"{}\" creation failed with error: {why}", name(job));
                self.untold.insert(key.clone(), message);
                Next::TryAgain
            }
            (Err(_), _) => Next::TryAgain,
        }
    }
}

/// Tells why a Job was not made. It is told when it is tried again.
fn tell(job_set: &Value, why: &str, now: Timestamp) -> Plan {
    let told =
        Told { warning: true, reason: "JobCreationFailed", message: why, component: "jobset" };
    let source = "JobSet pkg/controllers/jobset_controller.go, reconcileReplicatedJobs";
    Plan::one(event(job_set, told, now), source)
}

fn decide(
    view: &View,
    job_set: &Value,
    owned: &OwnedJobs<'_>,
    status: &mut Status,
    now: Timestamp,
) -> Plan {
    if is_true(job_set, "Completed") || is_true(job_set, "Failed") {
        return delete(&owned.active).with(expire(job_set, now));
    }
    let plan = delete(&owned.previous);
    if !owned.failed.is_empty() {
        failure_policy::execute(job_set, &owned.failed, status, now);
        return plan;
    }
    if !owned.successful.is_empty() && has_succeeded(job_set, owned) {
        status.end(COMPLETED, now);
        return plan;
    }
    let plan = plan.with(make_service(view, job_set)).with(make_jobs(job_set, owned, status, now));
    if is(job_set, "/spec/suspend") {
        status.set(SUSPENDED, now);
        plan.with(suspend(owned))
    } else {
        plan.with(resume(job_set, owned, status, now))
    }
}

/// Jobs go in the foreground (`deleteJobs`).
fn delete(jobs: &[&Value]) -> Plan {
    let going = jobs.iter().filter(|it| !is_terminating(it));
    going.fold(Plan::nothing(), |plan, job| {
        let request = Request::delete(JOB, job, Some(Propagation::Foreground));
        plan.and(request, "JobSet pkg/controllers/jobset_controller.go, deleteJobs")
    })
}

/// `executeTTLAfterFinishedPolicy`.
fn expire(job_set: &Value, now: Timestamp) -> Plan {
    let Some(ttl) = number(job_set, "/spec/ttlSecondsAfterFinished") else {
        return Plan::nothing();
    };
    let ended = condition(job_set, "Completed").or_else(|| condition(job_set, "Failed"));
    let ended = ended.map(|it| text(it, "/lastTransitionTime")).unwrap_or_default();
    let Ok(ended) = ended.parse::<Timestamp>() else { return Plan::nothing() };
    let left = ended.as_millisecond() + ttl * 1000 - now.as_millisecond();
    match u64::try_from(left) {
        Ok(left) if left > 0 => Plan::nothing().again(Duration::from_millis(left)),
        _ => {
            let request = Request::delete(JOB_SET, job_set, Some(Propagation::Foreground));
            Plan::one(request, "JobSet pkg/controllers/ttl_after_finished.go")
        }
    }
}

/// `JobSet` `pkg/controllers/success_policy.go`.
fn has_succeeded(job_set: &Value, owned: &OwnedJobs<'_>) -> bool {
    let targets = items(job_set, "/spec/successPolicy/targetReplicatedJobs");
    let counts = |named: &str| targets.is_empty() || targets.iter().any(|it| it == named);
    let succeeded =
        owned.successful.iter().filter(|it| counts(label(it, REPLICATED_JOB).unwrap_or_default()));
    let succeeded = i64::try_from(succeeded.count()).unwrap_or(i64::MAX);
    let wanted = if text(job_set, "/spec/successPolicy/operator") == "Any" {
        1
    } else {
        let jobs = items(job_set, "/spec/replicatedJobs").iter();
        jobs.filter(|it| counts(text(it, "/name"))).map(replicas).sum()
    };
    succeeded >= wanted
}

fn make_service(view: &View, job_set: &Value) -> Plan {
    let wanted = is(job_set, "/spec/network/enableDNSHostnames");
    if !wanted || view.get(SERVICE, namespace(job_set), subdomain(job_set)).is_some() {
        return Plan::nothing();
    }
    let request = Request::create(SERVICE, service(job_set), "");
    Plan::one(request, "JobSet pkg/controllers/jobset_controller.go, createHeadlessSvcIfNecessary")
}

fn is_in_order(job_set: &Value) -> bool {
    text(job_set, "/spec/startupPolicy/startupPolicyOrder") == "InOrder"
}

/// `dependencyReachedStatus`.
fn may_start(job_set: &Value, replicated_job: &Value, status: &Status) -> bool {
    let jobs = items(job_set, "/spec/replicatedJobs");
    items(replicated_job, "/dependsOn").iter().all(|dependency| {
        let named = text(dependency, "/name");
        let counts = status.counts(named);
        let wanted = jobs.iter().find(|it| it["name"] == named).map(replicas).unwrap_or_default();
        let of = |field: &str| counts[field].as_i64().unwrap_or_default();
        match text(dependency, "/status") {
            "Complete" => of("succeeded") == wanted,
            _ => of("failed") + of("ready") + of("succeeded") == wanted,
        }
    })
}

/// `reconcileReplicatedJobs`.
fn make_jobs(job_set: &Value, owned: &OwnedJobs<'_>, status: &mut Status, now: Timestamp) -> Plan {
    let in_order = is_in_order(job_set) && !is(job_set, "/spec/suspend");
    let mut plan = Plan::nothing();
    for replicated_job in items(job_set, "/spec/replicatedJobs") {
        let counts = status.counts(text(replicated_job, "/name"));
        let started = all_started(replicated_job, counts);
        if !may_start(job_set, replicated_job, status) || (in_order && started) {
            continue;
        }
        for job in owned.missing(job_set, replicated_job) {
            let request = Request::create(JOB, job, "");
            plan = plan.and(request, "JobSet pkg/controllers/jobset_controller.go, createJobs");
        }
        if in_order {
            status.set(STARTING_IN_ORDER, now);
            return plan;
        }
    }
    if in_order {
        status.set(STARTED_IN_ORDER, now);
    }
    plan
}

/// `suspendJobs`.
fn suspend(owned: &OwnedJobs<'_>) -> Plan {
    let running = owned.active.iter().filter(|it| !is(it, "/spec/suspend"));
    running.fold(Plan::nothing(), |plan, job| {
        let mut job = (*job).clone();
        job["spec"]["suspend"] = true.into();
        let request = Request::update(JOB, job, "");
        plan.and(request, "JobSet pkg/controllers/jobset_controller.go, suspendJobs")
    })
}

/// `resumeJobsIfNecessary`.
fn resume(job_set: &Value, owned: &OwnedJobs<'_>, status: &mut Status, now: Timestamp) -> Plan {
    let in_order = is_in_order(job_set);
    let mut plan = Plan::nothing();
    for replicated_job in items(job_set, "/spec/replicatedJobs") {
        let started = all_started(replicated_job, status.counts(text(replicated_job, "/name")));
        if !may_start(job_set, replicated_job, status) || (in_order && started) {
            continue;
        }
        for job in owned.active.iter().filter(|it| is(it, "/spec/suspend")) {
            if label(job, REPLICATED_JOB) == replicated_job["name"].as_str() {
                plan = plan.with(resume_job(job, replicated_job));
            }
        }
        if in_order {
            status.set(STARTING_IN_ORDER, now);
            return plan;
        }
    }
    status.set(RESUMED, now);
    plan
}

/// A Job that has started has its start time taken away first, since its template is immutable until
/// then (`resumeJob`).
fn resume_job(job: &Value, replicated_job: &Value) -> Plan {
    const SOURCE: &str = "JobSet pkg/controllers/jobset_controller.go, resumeJob";
    let template = replicated_job.pointer("/template/spec/template");
    let unsuspended = resumed(job, template);
    if job.pointer("/status/startTime").is_none_or(Value::is_null) {
        return Plan::one(Request::update(JOB, unsuspended, ""), SOURCE);
    }
    let mut reset = job.clone();
    if let Some(status) = reset["status"].as_object_mut() {
        status.remove("startTime");
    }
    Plan::one(Request::update(JOB, reset, "").on("status"), SOURCE)
        .then(Request::update(JOB, unsuspended, ""), SOURCE)
}

#[cfg(test)]
mod tests;
