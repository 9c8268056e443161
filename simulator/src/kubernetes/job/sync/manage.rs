//! Makes and deletes the pods of a Job that has not ended (Kubernetes
//! `pkg/controller/job/job_controller.go`, `manageJob`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::Sync;
use crate::kubernetes::job::pods::{
    create, discard, index, is_going, is_indexed, is_ready, replaces_failed_alone, to_remove,
};
use crate::object::number;

/// How many pods are made in one sync at most.
const MOST: i64 = 500;

pub(super) fn manage(sync: &mut Sync<'_>) {
    if sync.is_suspended() {
        let all = sync.active.clone();
        return remove(sync, &all);
    }
    let wanted = wanted(sync);
    let too_many = usize::try_from(sync.status.active - wanted).unwrap_or_default();
    let removed = to_remove(sync.job, &sync.active, sync.completions(), too_many);
    if !removed.is_empty() {
        return remove(sync, &removed);
    }
    // Pods that still run count as there, if they are replaced only when they have ended.
    let going = if replaces_failed_alone(sync.job) { sync.status.terminating } else { 0 };
    let missing = wanted - going - sync.status.active;
    if missing <= 0 {
        return;
    }
    if let Some(pause) = sync.backoff.remaining(sync.now) {
        sync.plan = std::mem::take(&mut sync.plan).again(pause);
        sync.status.active = 0;
        return;
    }
    make(sync, missing.min(MOST));
}

/// How many pods should run.
fn wanted(sync: &Sync<'_>) -> i64 {
    let parallelism = number(sync.job, "/spec/parallelism").unwrap_or(1);
    match sync.completions() {
        None if sync.succeeded > 0 => sync.status.active,
        None => parallelism,
        Some(completions) => (completions - sync.succeeded).clamp(0, parallelism.max(0)),
    }
}

fn make(sync: &mut Sync<'_>, missing: i64) {
    const SOURCE: &str = "Kubernetes pkg/controller/job/job_controller.go, manageJob";
    let indexes: Vec<Option<i64>> = if is_indexed(sync.job) {
        first_pending(sync, missing).into_iter().map(Some).collect()
    } else {
        (0..missing).map(|_| None).collect()
    };
    for index in indexes {
        sync.status.active += 1;
        sync.plan = std::mem::take(&mut sync.plan).and(create(sync.job, index), SOURCE);
    }
}

/// The lowest indexes that neither have succeeded nor have a pod (`firstPendingIndexes`).
fn first_pending(sync: &Sync<'_>, count: i64) -> Vec<i64> {
    let going = sync.pods.iter().filter(|it| replaces_failed_alone(sync.job) && is_going(it));
    let taken = sync.active.iter().chain(going).filter_map(|it| index(it));
    let mut taken: BTreeSet<i64> = taken.collect();
    taken.extend(sync.succeeded_indexes());
    let all = 0..sync.completions().unwrap_or_default();
    let free = all.filter(|it| !taken.contains(it));
    free.take(usize::try_from(count).unwrap_or_default()).collect()
}

/// Deletes pods, which do not count then.
fn remove(sync: &mut Sync<'_>, pods: &[&Value]) {
    for pod in pods {
        sync.plan = std::mem::take(&mut sync.plan).with(discard(pod));
        sync.status.active -= 1;
        sync.status.terminating += 1;
        sync.status.ready -= i64::from(is_ready(pod));
    }
    debug_assert!(sync.status.active >= 0, "no more pods are removed than there are");
}
