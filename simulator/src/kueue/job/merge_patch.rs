//! What changed between two versions of an object, as a JSON merge patch.

use serde_json::{Map, Value};

use crate::api::Request;
use crate::kueue::names::KUEUE;
use crate::object::{Object, name, namespace};
use crate::resource::Resource;

/// The patch that makes one of the other; none where they are the same.
fn between(before: &Value, after: &Value) -> Option<Value> {
    if before == after {
        return None;
    }
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        return Some(after.clone());
    };
    let gone = old.keys().filter(|key| !new.contains_key(*key));
    let mut patch: Map<_, _> = gone.map(|key| (key.clone(), Value::Null)).collect();
    for (key, value) in new {
        match old.get(key) {
            Some(known) => patch.extend(between(known, value).map(|it| (key.clone(), it))),
            None => drop(patch.insert(key.clone(), value.clone())),
        }
    }
    Some(Value::Object(patch))
}

/// The request that writes what changed, refused if the object is another version by now. It is sent
/// also where nothing changed (Kueue `pkg/util/client/client.go`, `Patch`).
pub(in crate::kueue) fn strict(
    resource: &'static Resource,
    before: &Object,
    after: &Object,
) -> Request {
    let mut patch = between(before, after).unwrap_or_else(|| Value::Object(Map::new()));
    patch["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"].clone();
    Request::merge_patch(resource, namespace(before), name(before), patch, KUEUE)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(json!({"a": 1}), json!({"a": 1}), None)]
    #[case(json!({"a": 1, "b": 2}), json!({"a": 1, "c": 3}), Some(json!({"b": null, "c": 3})))]
    #[case(json!({"a": {"b": 1, "c": [1]}}), json!({"a": {"b": 1, "c": [2]}}), Some(json!({"a": {"c": [2]}})))]
    #[case(json!({"a": {"b": 1}}), json!({"a": 1}), Some(json!({"a": 1})))]
    fn a_patch_holds_what_changed(
        #[case] before: Value,
        #[case] after: Value,
        #[case] patch: Option<Value>,
    ) {
        assert_eq!(between(&before, &after), patch);
    }
}
