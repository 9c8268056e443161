//! What a write is about, and what its path may write.

use serde_json::{Value, json};

use super::failure::Failure;
use super::fields::{self, By, Managers};
use super::metadata;
use super::request::Write;
use super::stored::Stored;
use super::user::Caller;
use super::webhook::{Operation, Review};
use crate::object::{Object, items, text};
use crate::resource::{self, Resource};

/// What is written, by whom.
pub(super) struct Target<'a> {
    pub(super) resource: &'static Resource,
    pub(super) subresource: Option<&'a str>,
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    pub(super) caller: &'a Caller,
    pub(super) manager: &'a str,
    pub(super) dry_run: bool,
    pub(super) now: jiff::Timestamp,
}

impl Target<'_> {
    pub(super) fn review<'b>(
        &'b self,
        operation: Operation,
        old: Option<&'b Object>,
    ) -> Review<'b> {
        Review {
            operation,
            resource: self.resource,
            subresource: self.subresource,
            old,
            user: &self.caller.name,
            dry_run: self.dry_run,
            now: self.now,
        }
    }
}

impl<'a> Target<'a> {
    pub(super) fn write_as(&mut self, options: &'a Write) {
        self.manager = if options.manager.is_empty() { "unknown" } else { &options.manager };
        self.dry_run = options.dry_run;
    }

    pub(super) fn by<'b>(&'b self, api_version: &'b str, time: &'b str) -> By<'b> {
        let subresource = self.subresource.unwrap_or_default();
        By { manager: self.manager, api_version, subresource, time }
    }
}

/// What is applied: the part of the body that this path writes.
pub(super) fn configuration(target: &Target<'_>, mut body: Value) -> Result<Value, Failure> {
    let resource = target.resource;
    if body["apiVersion"].as_str() != Some(&resource.api_version()) {
        let message = format!(
            "Incorrect version specified in apply patch. Specified patch version: {}, expected: {}",
            text(&body, "/apiVersion"),
            resource.api_version()
        );
        return Err(Failure::new(400, "BadRequest", message));
    }
    metadata::check_kind(resource, &mut body)?;
    if body["metadata"].get("managedFields").is_some_and(|it| !it.is_null()) {
        return Err(Failure::new(400, "BadRequest", "metadata.managedFields must be nil"));
    }
    metadata::check_place(&mut body, target.namespace, target.name)?;
    metadata::normalize(&mut body);
    fields::check(resource, &body)?;
    let Some(fields) = body.as_object_mut() else { return Ok(body) };
    match target.subresource {
        None if resource.status => drop(fields.remove("status")),
        Some("status") if resource.custom => {
            fields.retain(|it, _| {
                ["apiVersion", "kind", "metadata", "status"].contains(&it.as_str())
            });
            let metadata = body["metadata"].as_object_mut();
            let kept = ["name", "namespace", "uid", "resourceVersion"];
            if let Some(metadata) = metadata {
                metadata.retain(|key, _| kept.contains(&key.as_str()));
            }
        }
        Some("status") => drop(fields.remove("spec")),
        _ => {}
    }
    Ok(body)
}

/// The managers that a write begins with, which the object then has: those that it sends, where it
/// may, or those there are.
pub(super) fn managers(target: &Target<'_>, old: &Stored, new: &mut Object) -> Managers {
    let stored = old.object()["metadata"].get("managedFields");
    let sent = new["metadata"].get("managedFields");
    if sent == stored {
        return old.managers().clone();
    }
    match sent.and_then(Value::as_array).map(Vec::as_slice) {
        Some([] | [Value::Null]) if target.subresource.is_none() => {}
        Some([one]) if target.subresource.is_none() && *one == json!({}) => {}
        Some([_, ..]) if target.subresource.is_none() => return Managers::of(new),
        _ => {
            new["metadata"]["managedFields"] = stored.cloned().unwrap_or_default();
            return old.managers().clone();
        }
    }
    new["metadata"].as_object_mut().and_then(|it| it.remove("managedFields"));
    Managers::default()
}

/// Takes back what this path does not write.
pub(super) fn reset(target: &Target<'_>, old: &Object, new: &mut Object) {
    let take = |new: &mut Object, key: &str| match old.get(key) {
        Some(value) => new[key] = value.clone(),
        None => drop(new.as_object_mut().and_then(|it| it.remove(key))),
    };
    match target.subresource {
        None if target.resource == resource::NAMESPACE => {
            take(new, "spec");
            take(new, "status");
        }
        None if target.resource.status => take(new, "status"),
        Some("status") if target.resource.custom => {
            let status = new.as_object_mut().and_then(|it| it.remove("status"));
            let managed = new["metadata"].get("managedFields").cloned();
            *new = old.clone();
            match status {
                Some(status) => new["status"] = status,
                None => drop(new.as_object_mut().and_then(|it| it.remove("status"))),
            }
            if let Some(managed) = managed {
                new["metadata"]["managedFields"] = managed;
            }
        }
        Some("status") => {
            take(new, "spec");
            if let Some(owners) = old["metadata"].get("ownerReferences") {
                new["metadata"]["ownerReferences"] = owners.clone();
            }
        }
        Some("finalize") => {
            let finalizers = items(new, "/spec/finalizers").to_vec();
            *new = old.clone();
            new["spec"]["finalizers"] = finalizers.into();
        }
        _ => {}
    }
}
