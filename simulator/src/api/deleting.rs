//! Deletes: apiserver `pkg/registry/generic/registry/store.go`, Delete, and
//! `pkg/registry/rest/delete.go`, `BeforeDelete`.

use std::sync::Arc;

use serde_json::json;

use super::failure::Failure;
use super::metadata::{mark_deleted, precondition_failed, set_finalizer};
use super::request::{Delete, List, Propagation};
use super::selector::Selection;
use super::server::State;
use super::stored::{Document, Stored};
use super::target::Target;
use super::webhook::Operation;
use super::writing::Written;
use crate::object::{Object, has_finalizer, is_terminating, items, name, number, seconds, text};
use crate::resource::{self, Resource};

/// The finalizers of the garbage collector.
const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

/// How long a pod may take that does not say it, in seconds.
const GRACE_S: i64 = 30;

impl State {
    /// Deletes an object.
    pub(super) fn delete(
        &mut self,
        target: &Target<'_>,
        options: &Delete,
    ) -> Result<Written, Failure> {
        let resource = target.resource;
        if let Some(subresource) = target.subresource {
            return Err(Failure::unsupported(&format!("a delete of {resource}/{subresource}")));
        }
        let found = self.store.find(resource, target.namespace, target.name).cloned();
        let found = found.ok_or_else(|| Failure::not_found(resource, target.name))?;
        let old = found.object();
        check(resource, old, options)?;
        let mut review = target.review(Operation::Delete, Some(old));
        review.dry_run = options.dry_run;
        self.validate(&review, old)?;
        let deletion = if resource == resource::NAMESPACE {
            of_namespace(old, options, &seconds(target.now))
        } else {
            of_object(resource, old, options, target.now)
        };
        if options.dry_run {
            return Ok(answer(resource, &found, !deletion.goes));
        }
        let mut last = found;
        if let Some(marked) = deletion.marked.filter(|it| it != last.object()) {
            last = self.store.put(resource, marked);
        }
        if deletion.goes {
            self.store.remove(resource, target.namespace, target.name);
        }
        Ok(answer(resource, &last, !deletion.goes))
    }

    /// Deletes all that are selected.
    pub(super) fn delete_collection(
        &mut self,
        target: &Target<'_>,
        list: &List,
        options: &Delete,
    ) -> Result<Written, Failure> {
        let resource = target.resource;
        let namespace = Some(target.namespace).filter(|it| !it.is_empty());
        let selection = Selection::parse(resource, namespace, &list.labels, &list.fields)?;
        let all = self.store.all(resource, namespace).filter(|it| selection.has(it.object()));
        let all: Vec<Arc<Stored>> = all.cloned().collect();
        let mut deleted = Vec::with_capacity(all.len());
        for stored in all {
            let object = stored.object();
            let one = Target {
                namespace: text(object, "/metadata/namespace"),
                name: name(object),
                ..*target
            };
            self.delete(&one, options)?;
            deleted.push(object.clone());
        }
        let list = json!({
            "kind": format!("{}List", resource.kind), "apiVersion": resource.api_version(),
            "metadata": {"resourceVersion": self.store.revision().to_string()}, "items": deleted,
        });
        Ok((200, Document::Other(list)))
    }
}

/// What becomes of an object that is deleted.
struct Deletion {
    /// As it is first stored, if it is.
    marked: Option<Object>,
    /// Whether it goes then.
    goes: bool,
}

fn check(resource: &Resource, old: &Object, options: &Delete) -> Result<(), Failure> {
    let is_other = |wanted: &str, is: &str| !wanted.is_empty() && wanted != is;
    let of = &options.precondition;
    let (uid, version) = (text(old, "/metadata/uid"), text(old, "/metadata/resourceVersion"));
    let (what, wanted, is, since) = if is_other(&of.uid, uid) {
        ("UID", &of.uid, uid, "deleted and then recreated")
    } else if is_other(&of.resource_version, version) {
        ("ResourceVersion", &of.resource_version, version, "modified")
    } else {
        return Ok(());
    };
    // Both measured: the store refuses it for custom resources, and the layer above it for Pods.
    if resource.custom {
        return Err(precondition_failed(resource, old, what, wanted, is));
    }
    let dot = if resource.group.is_empty() { "" } else { "." };
    let message = format!(
        "Operation cannot be fulfilled on {}{dot}{} \"{}\": the {what} in the precondition ({wanted}) \
         does not match the {what} in record ({is}). The object might have been {since}",
        resource.kind,
        resource.group,
        name(old)
    );
    Err(Failure::about(409, "Conflict", resource, name(old), message))
}

fn of_namespace(old: &Object, options: &Delete, now: &str) -> Deletion {
    if is_terminating(old) {
        let held = !items(old, "/spec/finalizers").is_empty()
            || !items(old, "/metadata/finalizers").is_empty();
        return Deletion { marked: None, goes: !held };
    }
    let mut marked = old.clone();
    marked["metadata"]["deletionTimestamp"] = now.into();
    marked["status"]["phase"] = "Terminating".into();
    set_garbage_finalizers(resource::NAMESPACE, &mut marked, options);
    Deletion { marked: Some(marked), goes: false }
}

fn of_object(
    resource: &Resource,
    old: &Object,
    options: &Delete,
    now: jiff::Timestamp,
) -> Deletion {
    let mut marked = old.clone();
    let is_graceful = resource == resource::POD;
    let left = number(old, "/metadata/deletionGracePeriodSeconds");
    let mut grace = 0;
    let is_on_its_way = is_terminating(old) && left.is_some_and(|it| it > 0);
    if is_graceful && is_on_its_way {
        let left = left.unwrap_or_default();
        match options.grace_period_seconds.map(|it| it.max(0)) {
            // Less than it had: the end is drawn forward.
            Some(wanted) if wanted < left => {
                grace = wanted;
                let at: Option<jiff::Timestamp> =
                    text(old, "/metadata/deletionTimestamp").parse().ok();
                let end = at.unwrap_or(now) - jiff::SignedDuration::from_secs(left - wanted);
                let end = end.max(now);
                marked["metadata"]["deletionTimestamp"] = seconds(end).into();
                marked["metadata"]["deletionGracePeriodSeconds"] = wanted.into();
            }
            // It is on its way already.
            _ => return Deletion { marked: None, goes: false },
        }
    } else if is_graceful && !is_terminating(old) {
        grace = grace_of(old, options);
        let end = now + jiff::SignedDuration::from_secs(grace);
        mark_deleted(&mut marked, &seconds(end), grace);
    }
    set_garbage_finalizers(resource, &mut marked, options);
    let held = !items(&marked, "/metadata/finalizers").is_empty();
    if !is_graceful && held && !is_terminating(old) {
        mark_deleted(&mut marked, &seconds(now), 0);
    }
    // What goes at once is not stored before, as `errDeleteNow` has it.
    let stored = (is_graceful && !is_terminating(old)) || is_on_its_way || held;
    Deletion { marked: stored.then_some(marked), goes: !held && grace == 0 }
}

/// How long a pod may take: Kubernetes `pkg/registry/core/pod/strategy.go`, `CheckGracefulDelete`.
fn grace_of(pod: &Object, options: &Delete) -> i64 {
    let ended = ["Succeeded", "Failed"].contains(&text(pod, "/status/phase"));
    if text(pod, "/spec/nodeName").is_empty() || ended {
        return 0;
    }
    let own = || number(pod, "/spec/terminationGracePeriodSeconds").unwrap_or(GRACE_S);
    let period = options.grace_period_seconds.unwrap_or_else(own);
    if period < 0 { 1 } else { period }
}

/// What becomes of what an object owns: what the deletion says, else the object's finalizers, else the
/// kind (store.go, shouldOrphanDependents and shouldDeleteDependents).
fn propagation(resource: &Resource, object: &Object, options: &Delete) -> Propagation {
    // Kubernetes `pkg/registry/core/event/strategy.go`, `pkg/registry/batch/job/strategy.go`,
    // DefaultGarbageCollectionPolicy: nothing is collected of Events, and a Job leaves its pods behind,
    // as it did before there was a collector.
    if resource == resource::EVENT {
        return Propagation::Background;
    }
    let by_itself = || match resource {
        _ if has_finalizer(object, ORPHAN) => Propagation::Orphan,
        _ if has_finalizer(object, FOREGROUND) => Propagation::Foreground,
        it if it == resource::JOB => Propagation::Orphan,
        _ => Propagation::Background,
    };
    options.propagation.unwrap_or_else(by_itself)
}

/// Sets the finalizers of the garbage collector as the deletion says: store.go,
/// deletionFinalizersForGarbageCollection.
fn set_garbage_finalizers(resource: &Resource, object: &mut Object, options: &Delete) {
    let policy = propagation(resource, object, options);
    set_finalizer(object, ORPHAN, policy == Propagation::Orphan);
    set_finalizer(object, FOREGROUND, policy == Propagation::Foreground);
}

/// Kinds whose deletions are answered by the object, though it is gone.
fn returns_deleted(resource: &Resource) -> bool {
    [resource::POD, resource::SERVICE, resource::SERVICE_ACCOUNT].contains(&resource)
}

fn answer(resource: &Resource, last: &Arc<Stored>, stays: bool) -> Written {
    if stays || returns_deleted(resource) {
        return (200, Document::Stored(Arc::clone(last)));
    }
    let last = last.object();
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "details": {
            "name": name(last), "group": resource.group, "kind": resource.plural,
            "uid": text(last, "/metadata/uid"),
        },
    });
    (200, Document::Other(status))
}
