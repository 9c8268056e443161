//! Sees to it that a job has one Workload, and that it is its own (Kueue
//! `pkg/controller/jobframework/reconciler.go`, `ensureOneWorkload`).

use serde_json::{Value, json};

use super::{Turn, equivalence, merge_patch};
use crate::api::Request;
use crate::component::Plan;
use crate::kueue::names::{ADMISSION_GATED_BY, JOB_UID, KUEUE, PREBUILT_WORKLOAD, PRIORITY_CLASS};
use crate::kueue::workload::controller::without_finalizer;
use crate::kueue::workload::has_quota_reservation;
use crate::kueue::workload::status::{Draft, Versioned};
use crate::object::{
    Object, annotation, controlled_by, controller, is_controlled_by, items, label, name, namespace,
    text, uid,
};
use crate::resource::WORKLOAD;

const SOURCE: &str = "Kueue pkg/controller/jobframework/reconciler.go, ensureOneWorkload";

impl<'a> Turn<'a> {
    /// The job's Workload, if it has one that suits; or what has to be done first.
    pub(super) fn ensure_one_workload(&self) -> Result<Option<&'a Object>, Plan> {
        if let Some(prebuilt) = label(self.job, PREBUILT_WORKLOAD) {
            return self.prebuilt(prebuilt);
        }
        let pod_sets = self.pod_sets()?;
        let all: Vec<_> =
            self.integration.workloads_of(self.view, namespace(self.job), name(self.job)).collect();
        let suits = |it: &&&Object| self.is_own(it, &pod_sets);
        let Some(found) = all.iter().find(suits).copied() else {
            return self.none_suits(&all).map(|()| None);
        };
        let others: Vec<_> = all.into_iter().filter(|it| uid(it) != uid(found)).collect();
        if !others.is_empty() {
            return Err(deleted(&others));
        }
        self.copy_gates(found)?;
        self.copy_priority(found)?;
        Ok(Some(found))
    }

    fn is_own(&self, workload: &Object, pod_sets: &[Value]) -> bool {
        let suspended = self.integration.is_suspended(self.job);
        equivalence::is_of(self.view, workload, self.job, suspended, pod_sets)
    }

    /// A Workload made beforehand becomes the job's. Nobody copies a gate to it.
    fn prebuilt(&self, name: &str) -> Result<Option<&'a Object>, Plan> {
        let Some(workload) = self.view.get(WORKLOAD, namespace(self.job), name) else {
            return Ok(None);
        };
        if !is_controlled_by(workload, uid(self.job)) {
            if controller(workload).is_some() {
                return Ok(None);
            }
            let mut owners = items(workload, "/metadata/ownerReferences").to_vec();
            owners.push(controlled_by(self.integration.resource(), self.job));
            let mut workload = workload.clone();
            workload["metadata"]["ownerReferences"] = owners.into();
            workload["metadata"]["labels"][JOB_UID] = uid(self.job).into();
            return Err(Plan::one(Request::update(WORKLOAD, workload, KUEUE), SOURCE));
        }
        if !self.is_own(workload, &self.pod_sets()?) {
            let message = "The prebuilt workload is out of sync with its user job";
            let mut draft = Draft::of(workload, self.now);
            if !crate::kueue::workload::is_finished(workload) {
                draft.finish("OutOfSync", message);
                return Err(Plan::one(draft.apply(Versioned::Strict), SOURCE));
            }
            return Ok(None);
        }
        Ok(Some(workload))
    }

    /// None of the job's Workloads is that of the job as it is now.
    fn none_suits(&self, all: &[&'a Object]) -> Result<(), Plan> {
        let suspended = self.integration.is_suspended(self.job);
        let (updated, rest) = match all {
            [first, rest @ ..] if suspended && !has_quota_reservation(first) => {
                (Some(*first), rest)
            }
            _ => (None, all),
        };
        let mut plan = Plan::nothing();
        if !suspended && self.integration.ended(self.job).is_none() {
            let only = if let [only] = rest { Some(*only) } else { None };
            let stop = self.stop(only);
            if !stop.done {
                return Err(stop.plan);
            }
            plan = stop.plan;
        }
        if !rest.is_empty() {
            return Err(plan.with(deleted(rest)));
        }
        if let Some(workload) = updated {
            return Err(plan.and(self.updated(workload)?, SOURCE));
        }
        if plan.requests.is_empty() { Ok(()) } else { Err(plan) }
    }

    /// A Workload without quota is changed to what the job is now.
    fn updated(&self, workload: &Object) -> Result<Request, Plan> {
        let mut updated = workload.clone();
        updated["spec"] = self.new_workload()?["spec"].take();
        if let Some(active) = workload["spec"].get("active") {
            updated["spec"]["active"] = active.clone();
        }
        Ok(Request::update(WORKLOAD, updated, KUEUE))
    }

    /// The Workload's gates are the job's, also while it is not active.
    fn copy_gates(&self, workload: &Object) -> Result<(), Plan> {
        let of = |it| annotation(it, ADMISSION_GATED_BY).unwrap_or_default();
        let gates = of(self.job);
        if !self.features.admission_gated_by || gates == of(workload) {
            return Ok(());
        }
        let mut changed = workload.clone();
        if gates.is_empty() {
            let metadata = changed["metadata"].as_object_mut();
            let annotations = metadata.and_then(|it| it.get_mut("annotations")?.as_object_mut());
            if let Some(annotations) = annotations {
                annotations.remove(ADMISSION_GATED_BY);
                if annotations.is_empty() {
                    changed["metadata"].as_object_mut().map(|it| it.remove("annotations"));
                }
            }
        } else {
            changed["metadata"]["annotations"][ADMISSION_GATED_BY] = json!(gates);
        }
        let source = "Kueue pkg/controller/jobframework/reconciler.go, UpdateAdmissionGatedBy";
        Err(Plan::one(merge_patch::strict(WORKLOAD, workload, &changed), source))
    }

    fn copy_priority(&self, workload: &Object) -> Result<(), Plan> {
        let class = label(self.job, PRIORITY_CLASS).unwrap_or_default();
        if text(workload, "/spec/priorityClassRef/name") == class {
            return Ok(());
        }
        let mut changed = workload.clone();
        self.set_priority(&mut changed)?;
        let source = "Kueue pkg/controller/jobframework/reconciler.go, UpdateWorkloadPriority";
        Err(Plan::one(Request::update(WORKLOAD, changed, KUEUE), source))
    }
}

/// Workloads go: first the finalizer, then they themselves.
fn deleted(workloads: &[&Object]) -> Plan {
    workloads.iter().fold(Plan::nothing(), |plan, workload| {
        let delete = Request::delete(WORKLOAD, workload, None);
        plan.with(without_finalizer(workload, SOURCE)).and(delete, SOURCE)
    })
}
