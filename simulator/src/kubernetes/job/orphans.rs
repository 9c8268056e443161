//! Pods whose Job is gone are no longer tracked (Kubernetes `pkg/controller/job/job_controller.go`,
//! `syncOrphanPod`).

use jiff::Timestamp;

use super::pods::{is_tracked, job_of, untrack};
use crate::component::{Change, Controller, Key, Plan, View};
use crate::object::{controller, namespace, uid};
use crate::resource::{JOB, POD, Resource};

/// Takes the tracking finalizer from pods without a Job.
pub(in super::super) struct OrphanPods;

impl Controller for OrphanPods {
    fn name(&self) -> &'static str {
        "orphan-pods"
    }

    fn watches(&self) -> &'static [&'static Resource] {
        static KINDS: [&Resource; 2] = [JOB, POD];
        &KINDS
    }

    fn wakes(&self, view: &View, change: &Change<'_>) -> Vec<Key> {
        if *change.resource == *POD {
            let orphaned = !change.deleted && is_tracked(change.object);
            return orphaned.then(|| Key::of(change.object)).into_iter().collect();
        }
        if !change.deleted {
            return Vec::new();
        }
        let of = |pod: &serde_json::Value| {
            job_of(pod).is_some_and(|(_, job)| job == uid(change.object)) && is_tracked(pod)
        };
        view.within(POD, namespace(change.object)).filter(|it| of(it)).map(Key::of).collect()
    }

    fn reconcile(&mut self, view: &View, key: &Key, _now: Timestamp) -> Plan {
        let Some(pod) = view.get(POD, &key.namespace, &key.name).filter(|it| is_tracked(it)) else {
            return Plan::nothing();
        };
        // Of another kind's controller it is none of a Job's business.
        if controller(pod).is_some_and(|it| it["kind"] != JOB.kind) {
            return Plan::nothing();
        }
        let job = job_of(pod).and_then(|(job, wanted)| {
            view.get(JOB, &job.namespace, &job.name).filter(|it| uid(it) == wanted)
        });
        if job.is_some() {
            return Plan::nothing();
        }
        Plan::one(untrack(pod), "Kubernetes pkg/controller/job/job_controller.go, syncOrphanPod")
    }
}
