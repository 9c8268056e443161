//! Garbage collection: what is owned goes with its owners (Kubernetes
//! `pkg/controller/garbagecollector`).

mod graph;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use jiff::Timestamp;
use serde_json::{Value, json};

use self::graph::{Item, blocks, dependents, is_deleting_dependents, owners};
use crate::api::{Delete, Failure, Precondition, Propagation, Request, Verb};
use crate::component::{Change, Controller, Key, Next, Plan, View};
use crate::object::{
    Object, has_finalizer, is_terminating, items, name, namespace, resource_version, text, uid,
};
use crate::resource::{self, EVENT, Resource};

/// The finalizer of what waits for what it owns.
const FOREGROUND: &str = "foregroundDeletion";

/// The finalizer of what leaves what it owns behind.
const ORPHAN: &str = "orphan";

/// How many objects it works on at once (`--concurrent-gc-syncs`).
const WORKERS: usize = 20;

const SOURCE: &str = "Kubernetes pkg/controller/garbagecollector/garbagecollector.go";

/// Deletes what has no owner any more.
#[derive(Default)]
pub(super) struct GarbageCollector {
    /// The UIDs of owners that the API does not have.
    absent: BTreeSet<String>,
    /// The owners that are being looked up: the request, and the UID that is meant.
    asked: BTreeMap<Key, Vec<(Request, String)>>,
}

impl Controller for GarbageCollector {
    fn name(&self) -> &'static str {
        "garbage-collector"
    }

    fn workers(&self) -> usize {
        WORKERS
    }

    fn watches(&self) -> &'static [&'static Resource] {
        static KINDS: LazyLock<Vec<&'static Resource>> =
            LazyLock::new(|| resource::ALL.iter().copied().filter(|it| **it != *EVENT).collect());
        &KINDS
    }

    /// As `processGraphChanges` has it. What comes while its owner waits is let be until the owner is
    /// looked at again.
    fn wakes(&self, view: &View, change: &Change<'_>) -> Vec<Key> {
        let mut keys = Vec::new();
        let seen = |owner: &Value| graph::find(view, owner, namespace(change.object));
        let is_orphaned = || owners(change.object).iter().any(|owner| seen(owner).is_none());
        let waits = !change.deleted && waits(change.object);
        if waits || (!change.deleted && is_orphaned()) {
            keys.push(graph::key(change.resource, change.object));
        }
        let began_to_wait = waits && !change.before.is_some_and(self::waits);
        if change.deleted || began_to_wait {
            let all = dependents(view, self.watches(), uid(change.object));
            keys.extend(all.iter().map(Item::key));
        }
        let owners_change = change.before.is_some_and(|it| owners(it) != owners(change.object));
        if change.deleted || owners_change {
            let of_before = change.before.map(owners).unwrap_or_default();
            for owner in of_before.iter().chain(owners(change.object)).filter_map(seen) {
                if is_deleting_dependents(owner.object) {
                    keys.push(owner.key());
                    keys.extend(self.blocking(view, owner));
                }
            }
        }
        keys
    }

    fn reconcile(&mut self, view: &View, key: &Key, _now: Timestamp) -> Plan {
        let Some(item) = graph::at(view, key) else { return Plan::nothing() };
        if is_terminating(item.object) {
            return self.leave(view, item);
        }
        self.collect(view, key, item)
    }

    fn answered(
        &mut self,
        key: &Key,
        request: &Request,
        answer: &Result<&Object, Failure>,
    ) -> Next {
        match (&request.verb, answer) {
            (Verb::Get, answer) => self.looked_up(key, request, answer),
            (_, Ok(_)) => Next::GoOn,
            (_, Err(failure)) if failure.code == 404 => Next::GoOn,
            // Another object of the name, or another version by now: it is looked at again.
            (_, Err(_)) => Next::TryAgain,
        }
    }
}

impl GarbageCollector {
    /// What keeps an owner that waits, and does not itself wait yet (`processDeletingDependentsItem`).
    fn blocking(&self, view: &View, owner: Item<'_>) -> Vec<Key> {
        let all = dependents(view, self.watches(), uid(owner.object)).into_iter();
        let blocking = all.filter(|it| blocks(it.object, uid(owner.object)));
        blocking.filter(|it| !is_deleting_dependents(it.object)).map(|it| it.key()).collect()
    }

    /// An object that was deleted waits for its dependents, or leaves them behind.
    fn leave(&self, view: &View, item: Item<'_>) -> Plan {
        let all = dependents(view, self.watches(), uid(item.object));
        if has_finalizer(item.object, ORPHAN) {
            let plan = all.iter().fold(Plan::nothing(), |plan, dependent| {
                plan.and(without_owners(*dependent, &[uid(item.object)]), SOURCE)
            });
            return plan.and(without_finalizer(item, ORPHAN), SOURCE);
        }
        if !has_finalizer(item.object, FOREGROUND) {
            return Plan::nothing();
        }
        if all.iter().any(|it| blocks(it.object, uid(item.object))) {
            return Plan::nothing();
        }
        Plan::one(without_finalizer(item, FOREGROUND), SOURCE)
    }

    /// Deletes an object if none of its owners is there to stay (`attemptToDeleteItem`). Whether one
    /// is gone is asked of the API, if it was not seen.
    fn collect(&mut self, view: &View, key: &Key, item: Item<'_>) -> Plan {
        let (mut solid, mut dangling, mut waiting) = (false, Vec::new(), Vec::new());
        let mut unknown = Vec::new();
        for reference in owners(item.object) {
            let wanted = text(reference, "/uid");
            let owner = graph::find(view, reference, namespace(item.object));
            match owner {
                Some(owner) if is_deleting_dependents(owner.object) => waiting.push(wanted),
                Some(_) => solid = true,
                None if self.absent.contains(wanted) => dangling.push(wanted),
                None => match graph::look_up(reference, namespace(item.object)) {
                    Some(request) => unknown.push((request, wanted.to_owned())),
                    // Of a kind that the API does not have nothing is said.
                    None => solid = true,
                },
            }
        }
        if !unknown.is_empty() {
            let requests = unknown.iter().map(|(request, _)| request.clone());
            let plan = requests.fold(Plan::nothing(), |plan, request| plan.and(request, SOURCE));
            self.asked.insert(key.clone(), unknown);
            return plan;
        }
        if dangling.is_empty() && waiting.is_empty() {
            return Plan::nothing();
        }
        if solid {
            dangling.extend(waiting);
            return Plan::one(without_owners(item, &dangling), SOURCE);
        }
        let owns = !dependents(view, self.watches(), uid(item.object)).is_empty();
        let propagation = if has_finalizer(item.object, ORPHAN) {
            Propagation::Orphan
        } else if has_finalizer(item.object, FOREGROUND) || (!waiting.is_empty() && owns) {
            Propagation::Foreground
        } else {
            Propagation::Background
        };
        Plan::one(delete(item, propagation), SOURCE)
    }

    /// An owner that is not there, or is another one of the name, is remembered as absent
    /// (`absentOwnerCache`).
    fn looked_up(
        &mut self,
        key: &Key,
        request: &Request,
        answer: &Result<&Object, Failure>,
    ) -> Next {
        let asked = self.asked.get(key).into_iter().flatten();
        let Some((_, wanted)) = asked.into_iter().find(|(asked, _)| asked == request) else {
            return Next::GoOn;
        };
        match answer {
            // It is there, and was not seen yet.
            Ok(owner) if uid(owner) == wanted => Next::GoOn,
            Err(failure) if failure.code != 404 => Next::TryAgain,
            Ok(_) | Err(_) => {
                self.absent.insert(wanted.clone());
                Next::TryAgain
            }
        }
    }
}

/// Whether an object was deleted and stays for what it owns.
fn waits(object: &Value) -> bool {
    let finalizers = [FOREGROUND, ORPHAN];
    is_terminating(object) && finalizers.iter().any(|it| has_finalizer(object, it))
}

fn delete(item: Item<'_>, propagation: Propagation) -> Request {
    let mut request = Request::get(item.resource, namespace(item.object), name(item.object));
    request.verb = Verb::Delete(Delete {
        propagation: Some(propagation),
        precondition: Precondition {
            uid: uid(item.object).to_owned(),
            resource_version: resource_version(item.object).to_owned(),
        },
        ..Delete::default()
    });
    request
}

fn without_finalizer(item: Item<'_>, finalizer: &str) -> Request {
    let left = items(item.object, "/metadata/finalizers").iter().filter(|it| *it != finalizer);
    patch(item, "finalizers", left.cloned().collect())
}

fn without_owners(item: Item<'_>, gone: &[&str]) -> Request {
    let left = owners(item.object).iter().filter(|it| !gone.contains(&text(it, "/uid")));
    patch(item, "ownerReferences", left.cloned().collect())
}

/// Of the version that was seen, and of this object alone.
fn patch(item: Item<'_>, field: &str, left: Vec<Value>) -> Request {
    let left = if left.is_empty() { Value::Null } else { Value::Array(left) };
    let metadata = json!({
        "uid": uid(item.object), "resourceVersion": resource_version(item.object), (field): left,
    });
    let (within, named) = (namespace(item.object), name(item.object));
    Request::merge_patch(item.resource, within, named, json!({ "metadata": metadata }), "")
}

#[cfg(test)]
mod tests;
