//! The metadata that the server itself writes, and what it says of an object's place and version.

use serde_json::{Map, Value, json};

use super::failure::Failure;
use super::server::State;
use crate::object::{Object, has_finalizer, is_terminating, items, number, text};
use crate::resource::{self, Resource};

/// What generated names end in: apimachinery `pkg/util/rand`, and `apiserver/pkg/storage/names`.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH: usize = 5;
const LONGEST_BASE: usize = 63 - SUFFIX_LENGTH;

/// What clients cannot change.
const SYSTEM: [&str; 9] = [
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "resourceVersion",
    "generateName",
];

/// Gives a new object what every object has, and takes from it what it cannot have yet.
pub(super) fn begin(state: &mut State, resource: &Resource, object: &mut Object) {
    let uid = uid(&mut state.random);
    let now = state.seconds();
    let Some(metadata) = object["metadata"].as_object_mut() else { return };
    for key in ["selfLink", "deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion"] {
        metadata.remove(key);
    }
    metadata.insert("uid".to_owned(), uid.into());
    metadata.insert("creationTimestamp".to_owned(), now.into());
    if counts_generations(resource) {
        metadata.insert("generation".to_owned(), 1.into());
    } else {
        metadata.remove("generation");
    }
    if resource == resource::NAMESPACE {
        let name = metadata.get("name").cloned().unwrap_or_default();
        object["metadata"]["labels"]["kubernetes.io/metadata.name"] = name;
        object["spec"]["finalizers"] = json!(["kubernetes"]);
        object["status"] = json!({"phase": "Active"});
    }
}

/// Keeps what clients cannot change.
pub(super) fn keep(old: &Object, new: &mut Object) {
    let Some(metadata) = new["metadata"].as_object_mut() else { return };
    metadata.remove("selfLink");
    for key in SYSTEM {
        match old["metadata"].get(key) {
            Some(value) => drop(metadata.insert(key.to_owned(), value.clone())),
            None => drop(metadata.remove(key)),
        }
    }
}

/// Counts a new generation where there is one.
pub(super) fn count_generation(resource: &Resource, old: &Object, new: &mut Object) {
    if !counts_generations(resource) {
        return;
    }
    let changed =
        if resource.custom { !rest(old).eq(rest(new)) } else { old["spec"] != new["spec"] };
    if changed {
        let next = number(old, "/metadata/generation").unwrap_or_default() + 1;
        new["metadata"]["generation"] = next.into();
    }
}

/// All but the metadata and the status.
fn rest(object: &Object) -> impl Iterator<Item = (&String, &Value)> {
    let fields = object.as_object().into_iter().flatten();
    fields.filter(|(key, _)| !["metadata", "status"].contains(&key.as_str()))
}

/// Marks an object as deleted. It is a new generation: registry `store.go`, markAsDeleting.
pub(super) fn mark_deleted(object: &mut Object, at: &str, grace_seconds: i64) {
    if let Some(generation) = number(object, "/metadata/generation").filter(|it| *it > 0) {
        object["metadata"]["generation"] = (generation + 1).into();
    }
    object["metadata"]["deletionTimestamp"] = at.into();
    object["metadata"]["deletionGracePeriodSeconds"] = grace_seconds.into();
}

/// Whether nothing holds an object any more that was deleted: registry `store.go`,
/// `ShouldDeleteDuringUpdate`.
pub(super) fn may_go(resource: &Resource, old: &Object, new: &Object) -> bool {
    let held = resource == resource::NAMESPACE && !items(new, "/spec/finalizers").is_empty();
    is_terminating(old)
        && items(new, "/metadata/finalizers").is_empty()
        && number(old, "/metadata/deletionGracePeriodSeconds").unwrap_or_default() == 0
        && !held
}

/// Refuses new finalizers of what is on its way out: apimachinery
/// `pkg/api/validation/objectmeta.go`, `ValidateNoNewFinalizers`.
pub(super) fn check_finalizers(
    resource: &Resource,
    old: &Object,
    new: &Object,
) -> Result<(), Failure> {
    if !is_terminating(old) {
        return Ok(());
    }
    let known = items(old, "/metadata/finalizers");
    let added = items(new, "/metadata/finalizers").iter().filter(|it| !known.contains(it));
    let added: Vec<String> = added.map(ToString::to_string).collect();
    if added.is_empty() {
        return Ok(());
    }
    let why = format!(
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being \
         deleted, found new finalizers []string{{{}}}",
        added.join(", ")
    );
    Err(Failure::invalid(resource, text(old, "/metadata/name"), &why))
}

/// What the store says of an object that is another than the one that is meant: apiserver
/// `pkg/storage/errors.go`, `NewInvalidObjError`.
pub(super) fn precondition_failed(
    resource: &Resource,
    object: &Object,
    what: &str,
    wanted: &str,
    is: &str,
) -> Failure {
    let mut key = "/registry".to_owned();
    let group = if resource.custom { resource.group } else { "" };
    let (namespace, name) = (text(object, "/metadata/namespace"), text(object, "/metadata/name"));
    for part in [group, resource.plural, namespace, name].iter().filter(|it| !it.is_empty()) {
        key.push('/');
        key.push_str(part);
    }
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, \
         AdditionalErrorMsg: Precondition failed: {what} in precondition: {wanted}, {what} in \
         object meta: {is}"
    );
    Failure::conflict(resource, name, &why)
}

/// Sets whether an object has a finalizer.
pub(super) fn set_finalizer(object: &mut Object, finalizer: &str, wanted: bool) {
    if has_finalizer(object, finalizer) == wanted {
        return;
    }
    let mut all = items(object, "/metadata/finalizers").to_vec();
    if wanted {
        all.push(finalizer.into());
    } else {
        all.retain(|it| it != finalizer);
    }
    object["metadata"]["finalizers"] = all.into();
    without_empty(object);
}

/// The kinds whose generations are counted: all custom resources, and of the built-in ones those
/// whose strategies do.
fn counts_generations(resource: &Resource) -> bool {
    resource.custom || [resource::JOB, resource::POD].contains(&resource)
}

/// Takes out what is null, and of the metadata what is empty: neither is stored.
pub(super) fn normalize(object: &mut Object) {
    without_null(object);
    without_empty(object);
}

fn without_null(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if map.values().any(Value::is_null) {
                map.retain(|_, it| !it.is_null());
            }
            map.values_mut().for_each(without_null);
        }
        Value::Array(items) => items.iter_mut().for_each(without_null),
        _ => {}
    }
}

fn without_empty(object: &mut Object) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    for key in ["labels", "annotations"] {
        if metadata.get(key).and_then(Value::as_object).is_some_and(Map::is_empty) {
            metadata.remove(key);
        }
    }
    for key in ["finalizers", "ownerReferences"] {
        if metadata.get(key).and_then(Value::as_array).is_some_and(Vec::is_empty) {
            metadata.remove(key);
        }
    }
    for key in ["generateName", "namespace", "uid", "resourceVersion"] {
        if metadata.get(key).is_some_and(|it| it == "") {
            metadata.remove(key);
        }
    }
}

/// Checks that a body is of this kind, and says so.
pub(super) fn check_kind(resource: &Resource, body: &mut Object) -> Result<(), Failure> {
    let bad = |message: String| Err(Failure::new(400, "BadRequest", message));
    let Some(map) = body.as_object_mut() else {
        return bad("the object provided is unrecognized: it is no object".to_owned());
    };
    let (version, kind) = (resource.api_version(), resource.kind);
    let said = |key: &str| map.get(key).and_then(Value::as_str).unwrap_or_default();
    if !["", &version].contains(&said("apiVersion")) {
        let (found, expected) = (said("apiVersion"), version);
        return bad(format!(
            "the API version in the data ({found}) does not match the expected API version ({expected})"
        ));
    }
    if !["", kind].contains(&said("kind")) {
        return bad(format!("the kind in the data ({}) is not {kind}", said("kind")));
    }
    map.insert("apiVersion".to_owned(), version.into());
    map.insert("kind".to_owned(), kind.into());
    if !map.get("metadata").is_some_and(Value::is_object) {
        map.insert("metadata".to_owned(), json!({}));
    }
    Ok(())
}

/// Checks that a body is of the place that the path names, and says so.
pub(super) fn check_place(body: &mut Object, namespace: &str, name: &str) -> Result<(), Failure> {
    let bad = |message: String| Err(Failure::new(400, "BadRequest", message));
    if !["", namespace].contains(&text(body, "/metadata/namespace")) {
        let said = text(body, "/metadata/namespace");
        return bad(format!(
            "the namespace of the provided object does not match the namespace sent on the request: \
             {said} and {namespace}"
        ));
    }
    let said = text(body, "/metadata/name");
    if !name.is_empty() && !["", name].contains(&said) {
        return bad(format!(
            "the name of the object ({said}) does not match the name on the URL ({name})"
        ));
    }
    if !namespace.is_empty() {
        body["metadata"]["namespace"] = namespace.into();
    }
    if !name.is_empty() {
        body["metadata"]["name"] = name.into();
    }
    Ok(())
}

/// Gives a new object its name, if it is to be generated; and checks it.
pub(super) fn check_name(
    state: &mut State,
    resource: &Resource,
    body: &mut Object,
) -> Result<(), Failure> {
    if text(body, "/metadata/name").is_empty() {
        let base: String =
            text(body, "/metadata/generateName").chars().take(LONGEST_BASE).collect();
        if base.is_empty() {
            let why = "metadata.name: Required value: name or generateName is required";
            return Err(Failure::invalid(resource, "", why));
        }
        let mut letter = || char::from(ALPHABET[state.random.usize(..ALPHABET.len())]);
        let suffix: String = (0..SUFFIX_LENGTH).map(|_| letter()).collect();
        body["metadata"]["name"] = format!("{base}{suffix}").into();
    }
    let name = text(body, "/metadata/name");
    let is_path = resource.group == "rbac.authorization.k8s.io";
    if is_path || is_subdomain(name) {
        return Ok(());
    }
    let why = format!(
        "metadata.name: Invalid value: \"{name}\": a lowercase RFC 1123 subdomain must consist of \
         lower case alphanumeric characters, '-' or '.', and must start and end with an \
         alphanumeric character"
    );
    Err(Failure::invalid(resource, name, &why))
}

fn is_subdomain(name: &str) -> bool {
    let is_letter = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit();
    let is_part = |part: &str| {
        part.starts_with(is_letter)
            && part.ends_with(is_letter)
            && part.chars().all(|it| is_letter(it) || it == '-')
    };
    name.len() <= 253 && name.split('.').all(is_part)
}

/// A UID of the form of version 4.
fn uid(random: &mut fastrand::Rng) -> String {
    let bits = random.u128(..);
    let bits = (bits & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let text = format!("{bits:032x}");
    let parts = [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]];
    parts.join("-")
}
