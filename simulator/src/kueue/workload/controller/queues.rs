//! What follows for a Workload from queues that are stopped, missing or on their way out.

use super::{Step, Turn};
use crate::component::{Change, Key, Plan, View};
use crate::kueue::queue::{self, Stop};
use crate::kueue::workload::{self, is_admitted, is_evicted};
use crate::object::{Object, is_terminating, name, namespace, text};
use crate::resource::{CLUSTER_QUEUE, LOCAL_QUEUE, WORKLOAD};

/// The Workloads whose turn it is after a change of a queue.
pub(super) fn woken(view: &View, change: &Change<'_>) -> Vec<Key> {
    let object = change.object;
    let changed = |pointer: &str| {
        change.before.is_none_or(|before| before.pointer(pointer) != object.pointer(pointer))
    };
    let matters = change.deleted
        || is_terminating(object)
        || changed("/spec/stopPolicy")
        || (change.resource == CLUSTER_QUEUE && changed("/spec/admissionChecksStrategy"));
    if !matters {
        return Vec::new();
    }
    if change.resource == LOCAL_QUEUE {
        return of_local_queue(view, object);
    }
    if change.resource == CLUSTER_QUEUE {
        let queues = view.all(LOCAL_QUEUE);
        let queues = queues.filter(|it| text(it, "/spec/clusterQueue") == name(object));
        return queues.flat_map(|it| of_local_queue(view, it)).collect();
    }
    Vec::new()
}

fn of_local_queue(view: &View, queue: &Object) -> Vec<Key> {
    let all = view.within(WORKLOAD, namespace(queue));
    all.filter(|it| workload::queue_name(it) == name(queue)).map(Key::of).collect()
}

impl Turn<'_> {
    /// A stopped queue takes quota back; what is admitted, it evicts only if it is drained (Kueue
    /// `reconcileOnLocalQueueActiveState`, `reconcileOnClusterQueueActiveState`).
    pub(super) fn stopped(&self) -> Step {
        let local = queue::local_queue(self.view, self.workload);
        let of_local = self.stopped_by(local, "LocalQueue", workload::queue_name(self.workload));
        let cluster = queue::cluster_queue_name(self.view, self.workload).unwrap_or_default();
        let of_cluster = || {
            let queue = self.view.get(CLUSTER_QUEUE, "", cluster);
            self.stopped_by(queue, "ClusterQueue", cluster)
        };
        of_local.or_else(of_cluster)
    }

    fn stopped_by(&self, queue: Option<&Object>, kind: &str, name: &str) -> Step {
        let source =
            "Kueue pkg/controller/core/workload_controller.go, reconcileOn*QueueActiveState";
        let stop = queue.map_or(Stop::None, queue::stop);
        let mut draft = self.draft();
        if is_admitted(self.workload) {
            let drained = stop == Stop::HoldAndDrain && !is_evicted(self.workload);
            return drained.then(|| {
                let message = format!("The {kind} is stopped");
                draft.evict(&format!("{kind}Stopped"), "", &message);
                Self::write(&draft, source)
            });
        }
        let why = if queue.is_none_or(is_terminating) {
            "terminating or missing"
        } else if stop != Stop::None {
            "stopped"
        } else {
            return None;
        };
        draft.unset_quota_reservation("Inadmissible", &format!("{kind} {name} is {why}"));
        Some(Self::write(&draft, source))
    }

    /// What waits in a queue that does not admit is told so.
    pub(super) fn inadmissible(&self) -> Plan {
        let local_name = workload::queue_name(self.workload);
        let message = match queue::local_queue(self.view, self.workload) {
            None => format!("LocalQueue {local_name} doesn't exist"),
            Some(local) if queue::stop(local) != Stop::None => {
                format!("LocalQueue {local_name} is inactive")
            }
            Some(local) => {
                let name = text(local, "/spec/clusterQueue");
                match self.view.get(CLUSTER_QUEUE, "", name) {
                    None => format!("ClusterQueue {name} doesn't exist"),
                    Some(queue) if queue::readiness(self.view, queue).is_err() => {
                        format!("ClusterQueue {name} is inactive")
                    }
                    Some(_) => return Plan::nothing(),
                }
            }
        };
        let mut draft = self.draft();
        if draft.unset_quota_reservation("Inadmissible", &message) {
            return Self::write(&draft, super::SOURCE);
        }
        Plan::nothing()
    }
}
