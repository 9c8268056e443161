//! The controller of LocalQueues (Kueue `pkg/controller/core/localqueue_controller.go`).

use crate::api::Request;
use crate::component::{Change, Controller, Key, Plan, View};
use crate::kueue::features::Features;
use crate::kueue::names::KUEUE;
use crate::kueue::queue::cluster_queue::{reserving, set_active, told};
use crate::kueue::queue::{Stop, stop, usage};
use crate::kueue::workload::{is_admissible, is_admitted, queue_name};
use crate::object::{Object, is_true, name, namespace, text};
use crate::resource::{CLUSTER_QUEUE, LOCAL_QUEUE, Resource, WORKLOAD};

/// The controller.
pub(in crate::kueue) struct LocalQueueController {
    features: Features,
}

impl LocalQueueController {
    pub(in crate::kueue) fn new(features: Features) -> Self {
        Self { features }
    }
}

impl Controller for LocalQueueController {
    fn name(&self) -> &'static str {
        "localqueue"
    }

    fn watches(&self) -> &'static [&'static Resource] {
        static WATCHED: [&Resource; 3] = [LOCAL_QUEUE, CLUSTER_QUEUE, WORKLOAD];
        &WATCHED
    }

    fn wakes(&self, view: &View, change: &Change<'_>) -> Vec<Key> {
        let object = change.object;
        match change.resource {
            it if it == LOCAL_QUEUE => vec![Key::of(object)],
            it if it == WORKLOAD => {
                let both = [Some(object), change.before].into_iter().flatten();
                both.map(|it| Key::new(namespace(it), queue_name(it))).collect()
            }
            _ => {
                let all = view.all(LOCAL_QUEUE);
                let of = all.filter(|it| text(it, "/spec/clusterQueue") == name(object));
                of.map(Key::of).collect()
            }
        }
    }

    fn reconcile(&mut self, view: &View, key: &Key, now: jiff::Timestamp) -> Plan {
        let Some(queue) = view.get(LOCAL_QUEUE, &key.namespace, &key.name) else {
            return Plan::nothing();
        };
        let mut changed = queue.clone();
        self.tell(view, &mut changed, now);
        if changed == *queue {
            return Plan::nothing();
        }
        let source = "Kueue pkg/controller/core/localqueue_controller.go, UpdateStatusIfChanged";
        Plan::one(Request::update(LOCAL_QUEUE, changed, KUEUE).on("status"), source)
    }
}

impl LocalQueueController {
    fn tell(&self, view: &View, queue: &mut Object, now: jiff::Timestamp) {
        const CLOSED: &str = "Can't submit new workloads to clusterQueue";
        let of = text(queue, "/spec/clusterQueue").to_owned();
        let cluster_queue = view.get(CLUSTER_QUEUE, "", &of);
        let (status, reason, message) = match cluster_queue {
            _ if stop(queue) != Stop::None => {
                ("False", "Stopped", "Can't submit new workloads to localQueue")
            }
            None => ("False", "ClusterQueueDoesNotExist", CLOSED),
            Some(it) if is_true(it, "Active") => {
                ("True", "Ready", "Can submit new workloads to localQueue")
            }
            Some(_) => ("False", "ClusterQueueIsInactive", CLOSED),
        };
        set_active(queue, status, reason, message, now);
        let (within, called) = (namespace(queue).to_owned(), name(queue).to_owned());
        let mine = |it: &&Object| namespace(it) == within && queue_name(it) == called;
        let reserved = || reserving(view, &of).filter(mine);
        let waiting = view.within(WORKLOAD, &within).filter(mine);
        let waiting = waiting.filter(|it| is_admissible(it, self.features)).count();
        queue["status"]["pendingWorkloads"] =
            if stop(queue) == Stop::None { waiting.into() } else { 0.into() };
        queue["status"]["reservingWorkloads"] = reserved().count().into();
        queue["status"]["admittedWorkloads"] =
            reserved().filter(|it| is_admitted(it)).count().into();
        if let Some(cluster_queue) = cluster_queue {
            let used = usage::taken_by(reserved().filter(|it| is_admitted(it)));
            queue["status"]["flavorsReservation"] =
                told(cluster_queue, &usage::taken_by(reserved()), false);
            queue["status"]["flavorsUsage"] = told(cluster_queue, &used, false);
        }
    }
}
