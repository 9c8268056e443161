//! Jobs of the kinds that Kueue manages: a Workload for each, and started and stopped by it (Kueue
//! `pkg/controller/jobframework/reconciler.go`).

mod ancestor;
mod batch_job;
mod construct;
mod ensure;
mod equivalence;
mod integration;
mod job_set;
pub(super) mod merge_patch;
pub(super) mod pod_set;
mod stop;
pub(super) mod train_job;

use std::time::Duration;

use serde_json::json;

use self::integration::Ended;
use super::features::Features;
use super::names::{PREBUILT_WORKLOAD, QUEUE_NAME, RECLAIMABLE_PODS};
use super::workload::controller::without_finalizer;
use super::workload::status::{Draft, Versioned};
use super::workload::{has_quota_reservation, is_admitted, is_evicted, is_finished, queue_name};
use crate::api::Request;
use crate::component::{Change, Controller, Key, Plan, View};
use crate::object::{
    Object, condition, controller, is_terminating, items, label, name, namespace, text,
};
use crate::resource::{JOB, JOB_SET, Resource, TRAIN_JOB, WORKLOAD};

pub(super) use self::ancestor::{Ancestor, ancestor};
pub(super) use self::integration::{Integration, by_owner};

const SOURCE: &str = "Kueue pkg/controller/jobframework/reconciler.go, ReconcileGenericJob";

/// How long it takes until something that failed without a write is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// The controller of one kind of job.
pub(super) struct JobController {
    integration: Integration,
    features: Features,
}

impl JobController {
    pub(super) fn new(integration: Integration, features: Features) -> Self {
        Self { integration, features }
    }
}

impl Controller for JobController {
    fn name(&self) -> &'static str {
        self.integration.resource().plural
    }

    fn workers(&self) -> usize {
        // As Kueue's own manifests have it.
        if self.integration == Integration::Job { 5 } else { 1 }
    }

    fn watches(&self) -> &'static [&'static Resource] {
        static WATCHED: [&Resource; 8] = [
            JOB,
            JOB_SET,
            TRAIN_JOB,
            WORKLOAD,
            crate::resource::RESOURCE_FLAVOR,
            crate::resource::WORKLOAD_PRIORITY_CLASS,
            crate::resource::TRAINING_RUNTIME,
            crate::resource::CLUSTER_TRAINING_RUNTIME,
        ];
        &WATCHED
    }

    fn wakes(&self, view: &View, change: &Change<'_>) -> Vec<Key> {
        let (own, object) = (self.integration.resource(), change.object);
        if change.resource == own {
            return vec![Key::of(object)];
        }
        let owns_what_changed = change.resource == WORKLOAD
            || (self.integration == Integration::TrainJob && change.resource == JOB_SET);
        if !owns_what_changed {
            return Vec::new();
        }
        let Some(owner) = controller(object) else { return Vec::new() };
        if self.integration.is(owner) {
            return vec![Key::new(namespace(object), text(owner, "/name"))];
        }
        // A Job is looked at when the Workload of the object that controls it changes.
        if self.integration == Integration::Job && !change.deleted {
            let jobs = view.within(JOB, namespace(object));
            let of = jobs.filter(|it| controller(it).is_some_and(|it| it["uid"] == owner["uid"]));
            return of.map(Key::of).collect();
        }
        Vec::new()
    }

    fn reconcile(&mut self, view: &View, key: &Key, now: jiff::Timestamp) -> Plan {
        let job = view.get(self.integration.resource(), &key.namespace, &key.name);
        match job.filter(|it| !is_terminating(it)) {
            Some(job) => {
                let turn =
                    Turn { view, job, integration: self.integration, features: self.features, now };
                turn.plan()
            }
            None => released(view, self.integration, key),
        }
    }
}

/// The Workloads of a job that is gone, or goes, are let go.
fn released(view: &View, integration: Integration, key: &Key) -> Plan {
    let workloads = integration.workloads_of(view, &key.namespace, &key.name);
    workloads.fold(Plan::nothing(), |plan, workload| plan.with(without_finalizer(workload, SOURCE)))
}

/// One look at one job.
#[derive(Clone, Copy)]
struct Turn<'a> {
    view: &'a View,
    job: &'a Object,
    integration: Integration,
    features: Features,
    now: jiff::Timestamp,
}

impl Turn<'_> {
    fn plan(&self) -> Plan {
        let ancestor = match ancestor(self.job, |owner, resource| {
            self.view.get(resource, namespace(self.job), text(owner, "/name"))
        }) {
            Ancestor::Unknown => return Plan::nothing().again(AGAIN),
            Ancestor::None => None,
            Ancestor::Known(ancestor, integration) => Some((ancestor, integration)),
        };
        if let Some((ancestor, of)) = ancestor {
            return self.child(ancestor, of);
        }
        if label(self.job, QUEUE_NAME).unwrap_or_default().is_empty() {
            return Plan::nothing();
        }
        match self.ensure_one_workload() {
            Err(plan) => plan,
            Ok(Some(workload)) => self.with_workload(workload),
            Ok(None) => self.without_workload(),
        }
    }

    /// What is part of another job runs only while that one is admitted.
    fn child(&self, ancestor: &Object, of: Integration) -> Plan {
        let integration = self.integration;
        if integration.ended(self.job).is_some() || integration.is_suspended(self.job) {
            return Plan::nothing();
        }
        let workloads = of.workloads_of(self.view, namespace(ancestor), name(ancestor));
        let latest = workloads
            .filter(|it| !is_finished(it))
            // Of two that were made in the same second, the real Kueue takes either (measured): here it
            // is the one that is admitted.
            .max_by_key(|it| (text(it, "/metadata/creationTimestamp").to_owned(), is_admitted(it)));
        if latest.is_some_and(is_admitted) {
            return Plan::nothing();
        }
        let mut suspended = self.job.clone();
        suspended["spec"]["suspend"] = true.into();
        let source = "Kueue pkg/controller/jobframework/reconciler.go, shouldSuspendChildJob";
        Plan::one(merge_patch::strict(integration.resource(), self.job, &suspended), source)
    }

    fn with_workload(&self, workload: &Object) -> Plan {
        if is_finished(workload) {
            return without_finalizer(workload, SOURCE);
        }
        if is_terminating(workload) {
            let stop = self.stop(Some(workload));
            return if stop.done {
                stop.plan.with(without_finalizer(workload, SOURCE))
            } else {
                stop.plan
            };
        }
        if let Some(ended) = self.integration.ended(self.job) {
            return self.finish(workload, &ended);
        }
        if let Some(plan) = self.reclaim(workload) {
            return plan;
        }
        if is_evicted(workload) {
            return self.evicted(workload);
        }
        if self.integration.is_suspended(self.job) {
            return self.suspended(workload);
        }
        if is_admitted(workload) { Plan::nothing() } else { self.stop(Some(workload)).plan }
    }

    fn finish(&self, workload: &Object, ended: &Ended) -> Plan {
        let mut draft = Draft::of(workload, self.now);
        draft.finish(if ended.succeeded { "Succeeded" } else { "Failed" }, &ended.message);
        Plan::one(draft.apply(Versioned::Strict), "Kueue pkg/workload/workload.go, Finish")
    }

    /// Tells of pods that have succeeded, and need no quota any more.
    fn reclaim(&self, workload: &Object) -> Option<Plan> {
        let reclaimable = self.integration.reclaimable(self.view, self.job)?;
        let known = items(workload, "/status/reclaimablePods");
        let same =
            known.len() == reclaimable.len() && reclaimable.iter().all(|it| known.contains(it));
        if same {
            return None;
        }
        let object = json!({
            "apiVersion": WORKLOAD.api_version(),
            "kind": WORKLOAD.kind,
            "metadata": {
                "name": name(workload),
                "namespace": namespace(workload),
                "uid": workload["metadata"]["uid"],
                "resourceVersion": workload["metadata"]["resourceVersion"],
            },
            "status": { "reclaimablePods": reclaimable },
        });
        let request = Request::apply(WORKLOAD, object, RECLAIMABLE_PODS).on("status");
        Some(Plan::one(request, "Kueue pkg/workload/workload.go, UpdateReclaimablePods"))
    }

    /// The job is stopped, and quota given back once none of its Jobs counts active pods.
    fn evicted(&self, workload: &Object) -> Plan {
        let stop = self.stop(Some(workload));
        let waits = !stop.done || self.integration.is_active(self.job);
        if waits || !has_quota_reservation(workload) {
            return stop.plan;
        }
        let evicted = condition(workload, "Evicted").cloned().unwrap_or_default();
        let (reason, message) = (text(&evicted, "/reason"), text(&evicted, "/message"));
        let at_once = matches!(reason, "Preempted" | "NodeFailures");
        let mut draft = Draft::of(workload, self.now);
        draft.set_requeued(at_once, reason, message);
        draft.unset_quota_reservation("Pending", message);
        stop.plan.and(draft.apply(Versioned::Strict), SOURCE)
    }

    fn suspended(&self, workload: &Object) -> Plan {
        if is_admitted(workload) {
            return self.start(workload);
        }
        let queue = label(self.job, QUEUE_NAME).unwrap_or_default();
        if queue_name(workload) == queue {
            return Plan::nothing();
        }
        let mut workload = workload.clone();
        workload["spec"]["queueName"] = queue.into();
        Plan::one(Request::update(WORKLOAD, workload, super::names::KUEUE), SOURCE)
    }

    fn start(&self, workload: &Object) -> Plan {
        let Some(infos) = pod_set::of_admission(self.view, workload) else {
            // A flavor that is not there.
            return Plan::nothing().again(AGAIN);
        };
        let started = infos.and_then(|infos| self.integration.start(self.view, self.job, &infos));
        match started {
            Ok(plan) => plan,
            Err(pod_set::Failed::Permanently(why)) => {
                let mut draft = Draft::of(workload, self.now);
                draft.finish("FailedToStart", &why);
                Plan::one(draft.apply(Versioned::Strict), SOURCE)
            }
            Err(failed) => {
                tracing::debug!(job = name(self.job), why = failed.message(), "not started");
                Plan::nothing().again(AGAIN)
            }
        }
    }

    fn without_workload(&self) -> Plan {
        if self.integration.ended(self.job).is_some() {
            return Plan::nothing();
        }
        let source = "Kueue pkg/controller/jobframework/reconciler.go, handleJobWithNoWorkload";
        if label(self.job, PREBUILT_WORKLOAD).is_some() {
            return self.stop(None).plan;
        }
        if self.integration.is_active(self.job) {
            return Plan::nothing();
        }
        match self.new_workload() {
            Ok(workload) => {
                Plan::one(Request::create(WORKLOAD, workload, super::names::KUEUE), source)
            }
            Err(plan) => plan,
        }
    }
}

#[cfg(test)]
mod tests;
