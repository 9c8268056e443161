//! The controller of Workloads: gate, checks, Admitted, evictions (Kueue
//! `pkg/controller/core/workload_controller.go`).

mod queues;

use std::time::Duration;

use serde_json::Value;

use super::status::{Draft, Versioned};
use super::{
    Progress, checks, has_quota_reservation, is_active, is_admitted, is_evicted, is_finished,
    is_gated, progress,
};
use crate::api::Request;
use crate::component::{Change, Controller, Key, Plan, View};
use crate::kueue::features::Features;
use crate::kueue::names::{ADMISSION_GATED_BY, IN_USE, KUEUE};
use crate::kueue::queue::{self, Stop};
use crate::object::{Object, annotation, condition, is_terminating, is_true, items, seconds, text};
use crate::resource::{CLUSTER_QUEUE, LOCAL_QUEUE, Resource, WORKLOAD};

const SOURCE: &str = "Kueue pkg/controller/core/workload_controller.go, Reconcile";

/// The controller.
pub(in crate::kueue) struct WorkloadController {
    features: Features,
}

impl WorkloadController {
    pub(in crate::kueue) fn new(features: Features) -> Self {
        Self { features }
    }
}

impl Controller for WorkloadController {
    fn name(&self) -> &'static str {
        "workload"
    }

    fn workers(&self) -> usize {
        // As Kueue's own manifests have it.
        5
    }

    fn watches(&self) -> &'static [&'static Resource] {
        static WATCHED: [&Resource; 5] = [
            WORKLOAD,
            CLUSTER_QUEUE,
            LOCAL_QUEUE,
            crate::resource::ADMISSION_CHECK,
            crate::resource::RESOURCE_FLAVOR,
        ];
        &WATCHED
    }

    fn wakes(&self, view: &View, change: &Change<'_>) -> Vec<Key> {
        if change.resource == WORKLOAD {
            return vec![Key::of(change.object)];
        }
        queues::woken(view, change)
    }

    fn reconcile(&mut self, view: &View, key: &Key, now: jiff::Timestamp) -> Plan {
        match view.get(WORKLOAD, &key.namespace, &key.name) {
            Some(workload) => Turn { view, workload, features: self.features, now }.plan(),
            None => Plan::nothing(),
        }
    }
}

/// One look at one Workload.
struct Turn<'a> {
    view: &'a View,
    workload: &'a Object,
    features: Features,
    now: jiff::Timestamp,
}

/// What a step of the look comes to.
type Step = Option<Plan>;

impl Turn<'_> {
    fn plan(&self) -> Plan {
        if items(self.workload, "/metadata/ownerReferences").is_empty()
            && is_terminating(self.workload)
        {
            return without_finalizer(self.workload, SOURCE);
        }
        if is_finished(self.workload) {
            return Plan::nothing();
        }
        let steps = [
            Self::put_off,
            Self::activity,
            Self::local_queue_restarted,
            Self::gate,
            Self::cluster_queue,
            Self::admitted,
            Self::reserved,
        ];
        steps.iter().find_map(|step| step(self)).unwrap_or_else(|| self.inadmissible())
    }

    fn draft(&self) -> Draft {
        Draft::of(self.workload, self.now)
    }

    /// A write of the status, refused if it is outdated.
    fn write(draft: &Draft, source: &'static str) -> Plan {
        Plan::one(draft.apply(Versioned::Strict), source)
    }

    /// A check that wants a retry says when.
    fn put_off(&self) -> Step {
        let until = checks::put_off_until(self.workload).filter(|it| *it > self.now)?;
        let known = self.requeue_at().is_some_and(|it| it >= until);
        (!known).then(|| {
            let mut draft = self.draft();
            draft.put_off(until);
            Self::write(&draft, "Kueue pkg/workload/admissionchecks.go, NeedsRequeueAtUpdate")
        })
    }

    fn requeue_at(&self) -> Option<jiff::Timestamp> {
        text(self.workload, "/status/requeueState/requeueAt").parse().ok()
    }

    fn activity(&self) -> Step {
        if is_active(self.workload) { self.active() } else { self.inactive() }
    }

    fn active(&self) -> Step {
        if is_true(self.workload, "DeactivationTarget") {
            let mut workload = self.workload.clone();
            workload["spec"]["active"] = false.into();
            return Some(Plan::one(Request::update(WORKLOAD, workload, KUEUE), SOURCE));
        }
        if let Some(until) = self.requeue_at() {
            if let Some(wait) = later(until, self.now) {
                return Some(Plan::nothing().again(wait));
            }
            if progress(self.workload) == Progress::Pending {
                let mut draft = self.draft();
                draft.put_off_no_longer();
                return Some(Self::write(&draft, SOURCE));
            }
        }
        let not_requeued =
            condition(self.workload, "Requeued").filter(|it| it["status"] == "False")?;
        let (reason, message) = match text(not_requeued, "/reason") {
            "Deactivated" => ("Reactivated", "The workload was reactivated"),
            "AdmissionCheck" | "PodsReadyTimeout" => {
                ("BackoffFinished", "The workload backoff was finished")
            }
            _ => return None,
        };
        let mut draft = self.draft();
        draft.put_off_no_longer();
        draft.set_requeued(true, reason, message);
        Some(Self::write(&draft, SOURCE))
    }

    fn inactive(&self) -> Step {
        let mut draft = self.draft();
        if !is_evicted(self.workload) {
            let target = condition(self.workload, "DeactivationTarget");
            let message = "The workload is deactivated";
            let (cause, message) = match target {
                Some(target) => {
                    let why = text(target, "/message");
                    (text(target, "/reason"), format!("{message} due to {why}"))
                }
                None => ("", message.to_owned()),
            };
            draft.forget_requeuing();
            draft.evict("Deactivated", cause, &message);
            return Some(Self::write(&draft, "Kueue pkg/workload/workload.go, Evict"));
        }
        if self.workload.pointer("/status/requeueState").is_some_and(|it| !it.is_null()) {
            draft.forget_requeuing();
            return Some(Self::write(&draft, SOURCE));
        }
        None
    }

    fn requeued_by(&self, reason: &str) -> bool {
        condition(self.workload, "Requeued")
            .is_some_and(|it| it["status"] == "False" && it["reason"] == reason)
    }

    fn local_queue_restarted(&self) -> Step {
        let queue = queue::local_queue(self.view, self.workload)?;
        let restarted = queue::stop(queue) == Stop::None && self.requeued_by("LocalQueueStopped");
        restarted.then(|| {
            let mut draft = self.draft();
            let message = "The LocalQueue was restarted after being stopped";
            draft.set_requeued(true, "LocalQueueRestarted", message);
            Self::write(&draft, SOURCE)
        })
    }

    /// Tells that a gate holds it back, or no longer does. What the gate is called is told once.
    fn gate(&self) -> Step {
        if !self.features.admission_gated_by {
            return None;
        }
        let told = condition(self.workload, "QuotaReserved")
            .is_some_and(|it| it["reason"] == "AdmissionGated");
        let gated = is_gated(self.workload, self.features);
        let value = annotation(self.workload, ADMISSION_GATED_BY).unwrap_or_default();
        let (reason, message) = match (gated, told) {
            (true, false) => ("AdmissionGated", format!("Admission is gated by: {value}")),
            (false, true) => {
                ("Pending", "AdmissionGatedBy cleared, waiting for quota reservation".to_owned())
            }
            _ => return None,
        };
        let mut draft = self.draft();
        draft.unset_quota_reservation(reason, &message);
        let source = "Kueue pkg/controller/core/workload_controller.go, mayUpdateConditionForAdmissionGatedBy";
        Some(Self::write(&draft, source))
    }

    /// What follows from the ClusterQueue: its checks are the Workload's.
    fn cluster_queue(&self) -> Step {
        let cluster_queue = queue::cluster_queue(self.view, self.workload)?;
        if queue::stop(cluster_queue) == Stop::None && self.requeued_by("ClusterQueueStopped") {
            let mut draft = self.draft();
            let message = "The ClusterQueue was restarted after being stopped";
            draft.set_requeued(true, "ClusterQueueRestarted", message);
            return Some(Self::write(&draft, SOURCE));
        }
        let asked = checks::of_cluster_queue(cluster_queue, self.workload);
        let entries = checks::synced(self.workload, &asked, &seconds(self.now))?;
        let mut workload = self.workload.clone();
        workload["status"]["admissionChecks"] = Value::Array(entries);
        let write = Request::update(WORKLOAD, workload, KUEUE).on("status");
        let source =
            "Kueue pkg/controller/core/workload_controller.go, reconcileSyncAdmissionChecks";
        Some(Plan::one(write, source))
    }

    /// Admitted follows from quota and checks, until it is: it is not taken back before an eviction.
    fn admitted(&self) -> Step {
        let mut draft = self.draft();
        let changed = !is_admitted(self.workload) && draft.sync_admitted();
        changed.then(|| {
            Self::write(&draft, "Kueue pkg/workload/admissionchecks.go, SyncAdmittedCondition")
        })
    }

    fn reserved(&self) -> Step {
        has_quota_reservation(self.workload).then(|| {
            let evicted = self.evicted_by_checks();
            evicted.or_else(|| self.stopped()).unwrap_or_else(Plan::nothing)
        })
    }

    fn evicted_by_checks(&self) -> Step {
        if is_evicted(self.workload) {
            return None;
        }
        let source =
            "Kueue pkg/controller/core/workload_controller.go, reconcileCheckBasedEviction";
        let mut draft = self.draft();
        let rejected = checks::in_state(self.workload, "Rejected");
        if !rejected.is_empty() {
            let message = format!("Admission check(s): {}, were rejected", rejected.join(","));
            draft.set_deactivation_target("AdmissionCheck", &message);
            return Some(Self::write(&draft, source));
        }
        (!checks::in_state(self.workload, "Retry").is_empty()).then(|| {
            draft.evict("AdmissionCheck", "", "At least one admission check is false");
            Self::write(&draft, source)
        })
    }
}

fn later(until: jiff::Timestamp, now: jiff::Timestamp) -> Option<Duration> {
    until.duration_since(now).try_into().ok().filter(|it: &Duration| !it.is_zero())
}

/// Takes Kueue's finalizer off (Kueue `pkg/workload/workload.go`, `RemoveFinalizer`).
pub(in crate::kueue) fn without_finalizer(workload: &Object, source: &'static str) -> Plan {
    match without_the_finalizer(workload) {
        Some(workload) => Plan::one(Request::update(WORKLOAD, workload, KUEUE), source),
        None => Plan::nothing(),
    }
}

/// The object without Kueue's finalizer; none if it has none.
pub(in crate::kueue) fn without_the_finalizer(object: &Object) -> Option<Object> {
    if !crate::object::has_finalizer(object, IN_USE) {
        return None;
    }
    let mut object = object.clone();
    let finalizers = object["metadata"]["finalizers"].as_array_mut()?;
    finalizers.retain(|it| it != IN_USE);
    if finalizers.is_empty() {
        object["metadata"].as_object_mut()?.remove("finalizers");
    }
    Some(object)
}

#[cfg(test)]
mod tests;
