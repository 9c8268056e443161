//! Counts pods that have ended, exactly once: they are listed in the status first, then their
//! finalizer is taken away, and then they are counted (Kubernetes
//! `pkg/controller/job/job_controller.go`, `trackJobStatusAndRemoveFinalizers`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::Sync;
use crate::api::Request;
use crate::kubernetes::job::pods::{has_failed, index, is_indexed, is_tracked, phase, untrack};
use crate::object::{is_terminating, uid};
use crate::resource::JOB;

const SOURCE: &str =
    "Kubernetes pkg/controller/job/job_controller.go, trackJobStatusAndRemoveFinalizers";

pub(super) fn track(sync: &mut Sync<'_>) {
    let mut tracked: BTreeSet<String> = sync
        .pods
        .iter()
        .filter(|it| is_tracked(it) && !sync.expectations.is_untracking(uid(it)))
        .map(|it| uid(it).to_owned())
        .collect();
    sync.changed |= sync.status.count_untracked(&tracked);
    let ended: Vec<&Value> = sync
        .pods
        .iter()
        .copied()
        .filter(|it| tracked.contains(uid(it)) && may_go(sync, it))
        .collect();
    for pod in &ended {
        list(sync, pod);
    }
    announce(sync);
    let mut written = false;
    if std::mem::take(&mut sync.changed) {
        write(sync, written);
        written = true;
    }
    for pod in &ended {
        sync.plan = std::mem::take(&mut sync.plan).and(untrack(pod), SOURCE);
        tracked.remove(uid(pod));
    }
    let mut changed = sync.status.count_untracked(&tracked);
    changed |= end(sync);
    if changed {
        write(sync, written);
    }
}

/// `canRemoveFinalizer`.
fn may_go(sync: &Sync<'_>, pod: &Value) -> bool {
    is_terminating(sync.job)
        || sync.ending.is_some()
        || phase(pod) == "Succeeded"
        || has_failed(pod, sync.job)
}

/// Lists a pod as ended and not counted yet. Of a Job that fails, each pod that has not succeeded
/// counts as failed.
fn list(sync: &mut Sync<'_>, pod: &Value) {
    let known = sync.is_countable(pod);
    let fails = sync.ending.as_ref().is_some_and(|it| it.type_ != "SuccessCriteriaMet");
    if phase(pod) == "Succeeded" && !sync.status.lists_failed(pod) {
        if let Some(index) = index(pod).filter(|_| is_indexed(sync.job)) {
            if known && sync.status.completed_indexes.insert(index) {
                sync.changed = true;
            }
        } else if !sync.status.lists_succeeded(pod) {
            sync.status.uncounted_succeeded.push(uid(pod).to_owned());
            sync.changed = true;
        }
    } else if (has_failed(pod, sync.job) || fails) && known && !sync.status.lists_failed(pod) {
        sync.status.uncounted_failed.push(uid(pod).to_owned());
        sync.changed = true;
    }
}

/// Says in the status that the Job is about to end, before its pods may go.
fn announce(sync: &mut Sync<'_>) {
    if is_indexed(sync.job) {
        let all = i64::try_from(sync.status.completed_indexes.len()).unwrap_or(i64::MAX);
        sync.status.succeeded = all;
    }
    let Some(ending) = sync.ending.take() else { return };
    let becomes = match ending.type_ {
        "FailureTarget" => "Failed",
        "SuccessCriteriaMet" => "Complete",
        same => same,
    };
    if ending.type_ != becomes && sync.status.set(&ending, "True", sync.now) {
        sync.changed = true;
    }
    sync.ending = Some(ending.becomes(becomes));
}

/// Ends the Job once all its pods are counted and none is terminating (`enactJobFinished`).
fn end(sync: &mut Sync<'_>) -> bool {
    let Some(ending) = &sync.ending else { return false };
    let status = &mut sync.status;
    let counted = status.uncounted_succeeded.is_empty() && status.uncounted_failed.is_empty();
    if !counted || status.terminating > 0 {
        return false;
    }
    status.end(ending, sync.now);
    let told = match ending.type_ {
        "Complete" => super::Condition::new("Complete", "Completed", "Job completed"),
        _ => ending.clone(),
    };
    sync.told.push(told);
    true
}

fn write(sync: &mut Sync<'_>, again: bool) {
    let request = Request::update(JOB, sync.status.in_job(sync.job), "").on("status");
    let plan = std::mem::take(&mut sync.plan);
    sync.plan = if again { plan.then(request, SOURCE) } else { plan.and(request, SOURCE) };
}
