//! Reading objects: they are kept as JSON, as they are stored.

use serde_json::Value;

use crate::resource::Resource;

/// An object of the API.
pub type Object = Value;

/// `metadata.name`; empty where there is none.
pub fn name(object: &Object) -> &str {
    text(object, "/metadata/name")
}

/// `metadata.namespace`; empty where there is none.
pub fn namespace(object: &Object) -> &str {
    text(object, "/metadata/namespace")
}

/// `metadata.uid`; empty where there is none.
pub fn uid(object: &Object) -> &str {
    text(object, "/metadata/uid")
}

/// `metadata.resourceVersion`; empty where there is none.
pub fn resource_version(object: &Object) -> &str {
    text(object, "/metadata/resourceVersion")
}

/// What is at a JSON pointer. serde's own allocates twice for each part of the pointer, and nothing is
/// asked for more often.
pub fn at<'a>(object: &'a Object, pointer: &str) -> Option<&'a Value> {
    pointer.split('/').skip(1).try_fold(object, |value, part| match value {
        Value::Object(fields) if part.contains('~') => {
            fields.get(&part.replace("~1", "/").replace("~0", "~"))
        }
        Value::Object(fields) => fields.get(part),
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        _ => None,
    })
}

/// A text by its JSON pointer; empty where there is none.
pub fn text<'a>(object: &'a Object, pointer: &str) -> &'a str {
    at(object, pointer).and_then(Value::as_str).unwrap_or_default()
}

/// A truth by its JSON pointer; false where there is none.
pub fn is(object: &Object, pointer: &str) -> bool {
    at(object, pointer).and_then(Value::as_bool).unwrap_or_default()
}

/// A number by its JSON pointer.
pub fn number(object: &Object, pointer: &str) -> Option<i64> {
    at(object, pointer).and_then(Value::as_i64)
}

/// The items of a list by its JSON pointer; none where there is no list.
pub fn items<'a>(object: &'a Object, pointer: &str) -> &'a [Value] {
    at(object, pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Sets what an object leaves open: `path` are the names of fields, one in another.
pub fn default_to(object: &mut Object, path: &[&str], value: impl Into<Value>) {
    let mut at = object;
    for field in path {
        if !(at.is_object() || at.is_null()) {
            return;
        }
        at = &mut at[*field];
    }
    if at.is_null() {
        *at = value.into();
    }
}

/// Whether both have something there, and not the same.
pub fn differ(one: &Object, other: &Object, pointer: &str) -> bool {
    let there = |object: &Object| at(object, pointer).filter(|it| !it.is_null()).cloned();
    match (there(one), there(other)) {
        (Some(one), Some(other)) => one != other,
        _ => false,
    }
}

/// A label.
pub fn label<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get("labels")?.get(key)?.as_str()
}

/// An annotation.
pub fn annotation<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get("annotations")?.get(key)?.as_str()
}

/// Whether it was deleted, and waits for finalizers or its grace period.
pub fn is_terminating(object: &Object) -> bool {
    at(object, "/metadata/deletionTimestamp").is_some_and(|it| !it.is_null())
}

/// Whether it has this finalizer.
pub fn has_finalizer(object: &Object, finalizer: &str) -> bool {
    items(object, "/metadata/finalizers").iter().any(|it| it == finalizer)
}

/// The reference to the owner that controls it.
pub fn controller(object: &Object) -> Option<&Value> {
    items(object, "/metadata/ownerReferences").iter().find(|it| it["controller"] == true)
}

/// Whether the object of this UID controls it.
pub fn is_controlled_by(object: &Object, uid: &str) -> bool {
    controller(object).is_some_and(|owner| owner["uid"] == uid)
}

/// The owner reference that makes an object of this resource the controller of another.
pub fn controlled_by(resource: &Resource, owner: &Object) -> Value {
    serde_json::json!({
        "apiVersion": resource.api_version(),
        "kind": resource.kind,
        "name": name(owner),
        "uid": uid(owner),
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

/// A condition of `status.conditions`, by its type.
pub fn condition<'a>(object: &'a Object, type_: &str) -> Option<&'a Value> {
    items(object, "/status/conditions").iter().find(|it| it["type"] == type_)
}

/// Whether a condition is True.
pub fn is_true(object: &Object, type_: &str) -> bool {
    condition(object, type_).is_some_and(|it| it["status"] == "True")
}

/// Sets a condition among others. Its `lastTransitionTime` stays where the status stays, and is
/// `now`, in seconds, where it changes. Returns whether anything changed.
pub fn set_condition(
    conditions: &mut Vec<Value>,
    type_: &str,
    status: &str,
    reason: &str,
    message: &str,
    now: &str,
) -> bool {
    let same = |it: &&mut Value| it["type"] == type_;
    let Some(found) = conditions.iter_mut().find(same) else {
        conditions.push(serde_json::json!({
            "type": type_, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": now,
        }));
        return true;
    };
    let before = found.clone();
    if found["status"] != status {
        found["lastTransitionTime"] = now.into();
    }
    found["status"] = status.into();
    found["reason"] = reason.into();
    found["message"] = message.into();
    *found != before
}

/// A time as objects have it: in seconds, in UTC.
pub fn seconds(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A time in microseconds, as Leases and newer Events have it.
pub fn microseconds(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_condition_keeps_its_time_while_its_status_stays() {
        let mut all = Vec::new();
        assert!(set_condition(&mut all, "Ready", "False", "A", "", "t1"));
        assert!(set_condition(&mut all, "Ready", "False", "B", "", "t2"));
        assert_eq!(all[0]["lastTransitionTime"], "t1");
        assert!(!set_condition(&mut all, "Ready", "False", "B", "", "t3"));
        assert!(set_condition(&mut all, "Ready", "True", "B", "", "t4"));
        assert_eq!(all[0]["lastTransitionTime"], "t4");
    }

    #[test]
    fn a_pointer_leads_through_objects_lists_and_escapes() {
        let object = json!({"a": [{"b/c": 1}, {"d": {"": 2}}]});
        for pointer in ["", "/a", "/a/0/b~1c", "/a/1/d/", "/a/2", "/a/x", "/a/0/b", "/e/f"] {
            assert_eq!(at(&object, pointer), object.pointer(pointer), "{pointer}");
        }
    }

    #[test]
    fn an_owner_controls_only_as_controller() {
        let owned = json!({"metadata": {"ownerReferences": [{"uid": "a"}, {"uid": "b", "controller": true}]}});
        assert!(is_controlled_by(&owned, "b"));
        assert!(!is_controlled_by(&owned, "a"));
    }
}
