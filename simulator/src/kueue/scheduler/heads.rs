//! Who is next in a ClusterQueue, and who was put aside.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::component::{Change, Key, View};
use crate::kueue::features::Features;
use crate::kueue::queue;
use crate::kueue::workload::{
    admitted_by, has_quota_reservation, is_active, is_admissible, is_finished, priority,
    queued_since, takes_quota,
};
use crate::object::{Object, condition, is_true, label, name, text, uid};
use crate::resource::{
    ADMISSION_CHECK, CLUSTER_QUEUE, LOCAL_QUEUE, NAMESPACE, RESOURCE_FLAVOR, WORKLOAD,
};

/// Why a Workload was put aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parked {
    /// It cannot have quota now. Those behind it can, unless the queue is strict.
    Inadmissible,
    /// It waits for those that were evicted for it, and goes on being the first.
    PendingPreemption,
}

/// What the scheduler keeps.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Workloads with the quota that they were given, until that is seen.
    assumed: BTreeMap<Key, Object>,
    /// Workloads that were put aside, until something frees quota or changes them.
    parked: BTreeMap<Key, Parked>,
}

impl State {
    pub(super) fn is_assumed(&self, key: &Key) -> bool {
        self.assumed.contains_key(key)
    }

    pub(super) fn assumed(&self) -> impl Iterator<Item = &Object> {
        self.assumed.values()
    }

    pub(super) fn assume(&mut self, workload: Object) {
        self.assumed.insert(Key::of(&workload), workload);
    }

    pub(super) fn forget(&mut self, key: &Key) {
        self.assumed.remove(key);
    }

    pub(super) fn park(&mut self, key: Key, why: Parked) {
        self.parked.insert(key, why);
    }

    pub(super) fn unpark_all(&mut self) {
        self.parked.clear();
    }

    /// Takes a change in; gives the ClusterQueues whose turn it is.
    pub(super) fn see(&mut self, view: &View, change: &Change<'_>) -> Vec<Key> {
        let object = change.object;
        let changed = change.deleted
            || change.before.is_none_or(|before| {
                ["/spec", "/metadata/deletionTimestamp", "/metadata/labels"]
                    .iter()
                    .any(|at| before.pointer(at) != object.pointer(at))
            });
        let queues: Vec<String> = match change.resource {
            it if it == WORKLOAD => return self.see_workload(view, change),
            it if it == LOCAL_QUEUE && changed => {
                vec![text(object, "/spec/clusterQueue").to_owned()]
            }
            it if it == CLUSTER_QUEUE && changed => vec![name(object).to_owned()],
            it if it == RESOURCE_FLAVOR && changed => names(view, object, queue::has_flavor),
            it if it == ADMISSION_CHECK => {
                let was = change.before.is_some_and(|it| is_true(it, "Active"));
                if !change.deleted && was == is_true(object, "Active") {
                    return Vec::new();
                }
                names(view, object, queue::has_check)
            }
            it if it == NAMESPACE && changed => {
                view.all(CLUSTER_QUEUE).map(|it| name(it).to_owned()).collect()
            }
            _ => return Vec::new(),
        };
        self.unpark_all();
        queues.iter().map(|it| Key::new("", it)).collect()
    }

    /// Kueue `pkg/controller/core/workload_controller.go`, Create, Update, Delete.
    fn see_workload(&mut self, view: &View, change: &Change<'_>) -> Vec<Key> {
        let (object, key) = (change.object, Key::of(change.object));
        let over = change.deleted || is_finished(object) || !is_active(object);
        if over || has_quota_reservation(object) {
            self.assumed.remove(&key);
            self.parked.remove(&key);
        }
        let same = |before: &Object| {
            let of = |it: &Object, type_| condition(it, type_).cloned();
            before["spec"] == object["spec"]
                && ["Evicted", "Requeued"].iter().all(|it| of(before, it) == of(object, it))
        };
        if !change.before.is_some_and(same) {
            self.parked.remove(&key);
        }
        let gives = |before: &Object| {
            let changed = |at: &str| before.pointer(at) != object.pointer(at);
            takes_quota(before)
                && (over
                    || !takes_quota(object)
                    || changed("/status/reclaimablePods")
                    || changed("/spec/priority"))
        };
        if change.before.is_some_and(gives) || (change.deleted && takes_quota(object)) {
            self.assumed.remove(&key);
            self.unpark_all();
        }
        let both = [Some(object), change.before];
        let of = |it: &Object| {
            let queued = queue::cluster_queue_name(view, it).map(str::to_owned);
            queued.into_iter().chain([admitted_by(it).to_owned()]).collect::<Vec<_>>()
        };
        let mut queues: Vec<String> = both.into_iter().flatten().flat_map(of).collect();
        queues.retain(|it| !it.is_empty());
        queues.sort();
        queues.dedup();
        queues.iter().map(|it| Key::new("", it)).collect()
    }

    /// The Workload whose turn it is.
    pub(super) fn head<'a>(
        &self,
        view: &'a View,
        cluster_queue: &Object,
        features: Features,
        now: jiff::Timestamp,
    ) -> Option<&'a Object> {
        let strict = text(cluster_queue, "/spec/queueingStrategy") == "StrictFIFO";
        for workload in self.waiting(view, name(cluster_queue), features, now) {
            match self.parked.get(&Key::of(workload)) {
                None => return Some(workload),
                Some(Parked::Inadmissible) if !strict => {}
                Some(_) => return None,
            }
        }
        None
    }

    /// Those that wait in a ClusterQueue: by priority, then by how long they wait.
    fn waiting<'a>(
        &self,
        view: &'a View,
        cluster_queue: &str,
        features: Features,
        now: jiff::Timestamp,
    ) -> Vec<&'a Object> {
        let all = view.all(WORKLOAD).filter(|it| {
            is_admissible(it, features)
                && queue::cluster_queue_name(view, it) == Some(cluster_queue)
                && !self.is_assumed(&Key::of(it))
                && !is_put_off(it, now)
        });
        let mut all: Vec<_> = all.collect();
        all.sort_by_key(|it| (-priority(it), queued_since(it).to_owned(), uid(it).to_owned()));
        all
    }
}

/// Kueue `pkg/cache/queue/cluster_queue.go`, `backoffWaitingTimeExpired`.
fn is_put_off(workload: &Object, now: jiff::Timestamp) -> bool {
    let until = text(workload, "/status/requeueState/requeueAt").parse::<jiff::Timestamp>();
    condition(workload, "Requeued").is_some_and(|it| it["status"] == "False")
        || until.is_ok_and(|until| now < until)
}

fn names(view: &View, what: &Object, uses: fn(&Object, &str) -> bool) -> Vec<String> {
    queue::users(view, what, uses).map(|it| name(it).to_owned()).collect()
}

/// Whether a selector of labels selects an object. None selects nothing.
pub(super) fn selects(selector: &Value, object: &Object) -> bool {
    let Some(selector) = selector.as_object() else { return false };
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    labels
        .is_none_or(|labels| labels.iter().all(|(key, value)| label(object, key) == value.as_str()))
}
