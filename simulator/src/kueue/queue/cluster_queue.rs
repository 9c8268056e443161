//! The controller of ClusterQueues (Kueue `pkg/controller/core/clusterqueue_controller.go`).

use serde_json::{Value, json};

use super::usage::{self, Amounts};
use crate::api::Request;
use crate::component::{Change, Controller, Key, Plan, View};
use crate::kueue::features::Features;
use crate::kueue::names::{IN_USE, KUEUE};
use crate::kueue::queue;
use crate::kueue::workload::controller::without_the_finalizer;
use crate::kueue::workload::{admitted_by, is_admissible, is_admitted, takes_quota};
use crate::object::{Object, has_finalizer, is_terminating, items, name, number, seconds, text};
use crate::resource::{
    ADMISSION_CHECK, CLUSTER_QUEUE, LOCAL_QUEUE, RESOURCE_FLAVOR, Resource, WORKLOAD,
};

const SOURCE: &str = "Kueue pkg/controller/core/clusterqueue_controller.go, Reconcile";

/// The controller.
pub(in crate::kueue) struct ClusterQueueController {
    features: Features,
}

impl ClusterQueueController {
    pub(in crate::kueue) fn new(features: Features) -> Self {
        Self { features }
    }
}

impl Controller for ClusterQueueController {
    fn name(&self) -> &'static str {
        "clusterqueue"
    }

    fn watches(&self) -> &'static [&'static Resource] {
        static WATCHED: [&Resource; 5] =
            [CLUSTER_QUEUE, WORKLOAD, LOCAL_QUEUE, ADMISSION_CHECK, RESOURCE_FLAVOR];
        &WATCHED
    }

    fn wakes(&self, view: &View, change: &Change<'_>) -> Vec<Key> {
        let object = change.object;
        match change.resource {
            it if it == CLUSTER_QUEUE => vec![Key::of(object)],
            it if it == ADMISSION_CHECK => {
                queue::users(view, object, queue::has_check).map(Key::of).collect()
            }
            it if it == RESOURCE_FLAVOR => {
                queue::users(view, object, queue::has_flavor).map(Key::of).collect()
            }
            it if it == WORKLOAD => {
                let both = [Some(object), change.before].into_iter().flatten();
                let queues = both.flat_map(|it| {
                    let queued = queue::cluster_queue_name(view, it).unwrap_or_default();
                    [queued, admitted_by(it)]
                });
                queues.filter(|it| !it.is_empty()).map(|it| Key::new("", it)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn reconcile(&mut self, view: &View, key: &Key, now: jiff::Timestamp) -> Plan {
        let Some(queue) = view.get(CLUSTER_QUEUE, "", &key.name) else { return Plan::nothing() };
        if is_terminating(queue) {
            let released = reserving(view, &key.name).next().is_none();
            return match without_the_finalizer(queue).filter(|_| released) {
                Some(queue) => Plan::one(Request::update(CLUSTER_QUEUE, queue, KUEUE), SOURCE),
                None => Plan::nothing(),
            };
        }
        if !has_finalizer(queue, IN_USE) {
            let queue = with_the_finalizer(queue);
            return Plan::one(Request::update(CLUSTER_QUEUE, queue, KUEUE), SOURCE);
        }
        let mut changed = queue.clone();
        self.tell(view, &mut changed, now);
        if changed == *queue {
            return Plan::nothing();
        }
        Plan::one(Request::update(CLUSTER_QUEUE, changed, KUEUE).on("status"), SOURCE)
    }
}

impl ClusterQueueController {
    fn tell(&self, view: &View, queue: &mut Object, now: jiff::Timestamp) {
        let of = name(queue).to_owned();
        let readiness = queue::readiness(view, queue);
        let (status, reason, message) = match &readiness {
            Ok(()) => ("True", "Ready", "Can admit new workloads"),
            Err((reason, message)) => ("False", *reason, message.as_str()),
        };
        set_active(queue, status, reason, message, now);
        let reserved = usage::taken_by(reserving(view, &of));
        let used = usage::taken_by(reserving(view, &of).filter(|it| is_admitted(it)));
        let waiting = view.all(WORKLOAD).filter(|it| {
            is_admissible(it, self.features)
                && queue::cluster_queue_name(view, it) == Some(of.as_str())
        });
        let told = [
            ("flavorsReservation", told(queue, &reserved, true)),
            ("flavorsUsage", told(queue, &used, true)),
            ("pendingWorkloads", waiting.count().into()),
            ("reservingWorkloads", reserving(view, &of).count().into()),
            ("admittedWorkloads", reserving(view, &of).filter(|it| is_admitted(it)).count().into()),
        ];
        for (key, value) in told {
            queue["status"][key] = value;
        }
    }
}

/// The Workloads that have quota of a ClusterQueue.
pub(super) fn reserving<'a>(view: &'a View, queue: &'a str) -> impl Iterator<Item = &'a Object> {
    view.all(WORKLOAD).filter(move |it| takes_quota(it) && admitted_by(it) == queue)
}

/// Sets `Active` of a queue of either kind.
pub(super) fn set_active(
    queue: &mut Object,
    status: &str,
    reason: &str,
    message: &str,
    now: jiff::Timestamp,
) {
    let generation = number(queue, "/metadata/generation").unwrap_or_default();
    let conditions = &mut queue["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else { return };
    crate::object::set_condition(conditions, "Active", status, reason, message, &seconds(now));
    for active in conditions.iter_mut().filter(|it| it["type"] == "Active") {
        active["observedGeneration"] = generation.into();
    }
}

/// Amounts as a queue's status tells them: for each flavor and resource that a ClusterQueue has quota
/// of. A ClusterQueue also tells what is borrowed.
pub(super) fn told(cluster_queue: &Object, amounts: &Amounts, borrowed: bool) -> Value {
    let groups = items(cluster_queue, "/spec/resourceGroups").iter();
    let flavors = groups.flat_map(|group| items(group, "/flavors")).map(|flavor| {
        let of = text(flavor, "/name");
        let resources = items(flavor, "/resources").iter().map(|resource| {
            let name = text(resource, "/name");
            let amount = amounts.get(&(of.to_owned(), name.to_owned())).copied();
            let total = amount.unwrap_or_default().text(name);
            let mut told = json!({"name": name, "total": total});
            if borrowed {
                told["borrowed"] = "0".into();
            }
            told
        });
        json!({"name": of, "resources": resources.collect::<Vec<_>>()})
    });
    flavors.collect::<Vec<_>>().into()
}

/// The object with Kueue's finalizer.
pub(in crate::kueue) fn with_the_finalizer(object: &Object) -> Object {
    let mut object = object.clone();
    let mut finalizers = items(&object, "/metadata/finalizers").to_vec();
    finalizers.push(IN_USE.into());
    object["metadata"]["finalizers"] = finalizers.into();
    object
}
