//! Patches.

use serde_json::{Map, Value};

use super::failure::Failure;
use super::fields::{Schema, schema_of};
use crate::object::Object;
use crate::resource::Resource;

/// An object with a JSON merge patch (RFC 7386) in it.
pub(super) fn merged(old: &Object, patch: &Value) -> Result<Object, Failure> {
    if !patch.is_object() {
        return Err(Failure::new(400, "BadRequest", "a merge patch has to be an object"));
    }
    let mut new = old.clone();
    json_patch::merge(&mut new, patch);
    Ok(new)
}

/// An object with a JSON patch (RFC 6902) in it.
pub(super) fn patched(resource: &Resource, old: &Object, patch: &Value) -> Result<Object, Failure> {
    let operations: Vec<json_patch::PatchOperation> = serde_json::from_value(patch.clone())
        .map_err(|error| Failure::new(400, "BadRequest", error.to_string()))?;
    let mut new = old.clone();
    json_patch::patch(&mut new, &operations).map_err(|error| {
        let message =
            format!("the server rejected our request due to an error in our request: {error}");
        Failure::about(422, "Invalid", resource, crate::object::name(old), message)
    })?;
    Ok(new)
}

/// An object with a strategic merge patch in it: lists are merged by the keys of their items.
/// Of the directives, `$patch: delete` of an item and `$deleteFromPrimitiveList` are supported.
pub(super) fn strategic(
    resource: &Resource,
    old: &Object,
    patch: &Value,
) -> Result<Object, Failure> {
    if resource.custom {
        let message = "the body of the request was in an unknown format - accepted media types \
                       include: application/json-patch+json, application/merge-patch+json, \
                       application/apply-patch+yaml";
        return Err(Failure::new(415, "UnsupportedMediaType", message));
    }
    if !patch.is_object() {
        return Err(Failure::new(400, "BadRequest", "a strategic patch has to be an object"));
    }
    let mut new = old.clone();
    merge_strategic(schema_of(resource), &mut new, patch, "")?;
    Ok(new)
}

/// Lists that a strategic patch merges, though they are one whole to server-side apply: Kubernetes
/// `api/*/types.go`, patchStrategy.
const MERGED: [(&str, &str); 2] = [("/status/conditions", "type"), ("/spec/taints", "key")];

fn merge_strategic(
    schema: &'static Schema,
    target: &mut Value,
    patch: &Value,
    at: &str,
) -> Result<(), Failure> {
    match patch {
        Value::Object(fields) => {
            if !target.is_object() {
                *target = Value::Object(Map::new());
            }
            let Some(map) = target.as_object_mut() else { return Ok(()) };
            for (name, below) in fields {
                if let Some(list) = name.strip_prefix("$deleteFromPrimitiveList/") {
                    let gone = below.as_array().map_or(&[][..], Vec::as_slice);
                    if let Some(list) = map.get_mut(list).and_then(Value::as_array_mut) {
                        list.retain(|it| !gone.contains(it));
                    }
                } else if name.starts_with('$') {
                    let what = format!("{name} in a strategic merge patch");
                    return Err(Failure::unsupported(&what));
                } else if below.is_null() {
                    map.remove(name);
                } else {
                    let inner = map.entry(name.clone()).or_insert(Value::Null);
                    merge_strategic(schema.field(name), inner, below, &format!("{at}/{name}"))?;
                }
            }
        }
        Value::Array(items) => merge_list(schema, target, items, at)?,
        other => *target = other.clone(),
    }
    Ok(())
}

fn merge_list(
    schema: &'static Schema,
    target: &mut Value,
    items: &[Value],
    at: &str,
) -> Result<(), Failure> {
    let by_key = MERGED.iter().find(|(it, _)| *it == at).map(|(_, key)| *key);
    let element = |item: &Value| match by_key {
        Some(key) => item.get(key).map(|it| format!("{key}={it}")),
        None => schema.element(item),
    };
    let named: Option<Vec<String>> = items.iter().map(element).collect();
    let Some(named) = named else {
        *target = Value::Array(items.to_vec());
        return Ok(());
    };
    if !target.is_array() {
        *target = Value::Array(Vec::new());
    }
    let Some(all) = target.as_array_mut() else { return Ok(()) };
    for (item, name) in items.iter().zip(named) {
        if item.get("$patch").is_some_and(|it| it == "delete") {
            all.retain(|it| element(it).as_ref() != Some(&name));
            continue;
        }
        let known = all.iter().position(|it| element(it).as_ref() == Some(&name));
        let place = known.unwrap_or_else(|| {
            all.push(Value::Null);
            all.len() - 1
        });
        merge_strategic(schema.item(), &mut all[place], item, at)?;
    }
    Ok(())
}
