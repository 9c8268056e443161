//! Merges a patch into a Job's template, as Kubernetes merges its own types.

use serde_json::{Map, Value};

/// Lists of a pod that are merged by a key (Kubernetes `api/core/v1/types.go`, `patchMergeKey`).
/// Others are replaced as a whole.
fn merge_key(field: &str) -> Option<&'static str> {
    match field {
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "volumes"
        | "env"
        | "imagePullSecrets"
        | "schedulingGates"
        | "resourceClaims" => Some("name"),
        "volumeMounts" => Some("mountPath"),
        "volumeDevices" => Some("devicePath"),
        "ports" => Some("containerPort"),
        "topologySpreadConstraints" => Some("topologyKey"),
        "hostAliases" => Some("ip"),
        "ownerReferences" => Some("uid"),
        _ => None,
    }
}

/// Merges a patch into an object: maps field by field, lists by their keys where they have some, and
/// what is null goes (Kubernetes `apimachinery/pkg/util/strategicpatch`).
pub(super) fn merge(object: &mut Value, patch: &Value) {
    let Some(fields) = patch.as_object() else {
        object.clone_from(patch);
        return;
    };
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    for (field, wanted) in fields {
        if wanted.is_null() {
            if let Some(object) = object.as_object_mut() {
                object.remove(field);
            }
            continue;
        }
        merge_field(&mut object[field.as_str()], field, wanted);
    }
}

fn merge_field(value: &mut Value, field: &str, wanted: &Value) {
    match (wanted.as_array(), merge_key(field)) {
        (Some(items), Some(key)) => merge_list(value, items, key),
        _ if wanted.is_object() => merge(value, wanted),
        _ => value.clone_from(wanted),
    }
}

/// Items of a known key are merged. New ones come first: the patch's order wins over the list's
/// (`mergeSliceWithoutSpecialElements`, which sorts by the patch).
fn merge_list(value: &mut Value, items: &[Value], key: &str) {
    if !value.is_array() {
        *value = Value::Array(Vec::new());
    }
    let Some(list) = value.as_array_mut() else { return };
    let mut new = Vec::new();
    for item in items {
        match list.iter_mut().find(|it| it[key] == item[key]) {
            Some(found) => merge(found, item),
            None => new.push(item.clone()),
        }
    }
    list.splice(0..0, new);
}

/// Puts an item into a list of named items: in place of the one of its name, or at the end (Trainer
/// `pkg/apply`, `UpsertEnvVars`).
pub(super) fn upsert(value: &mut Value, item: &Value) {
    if !value.is_array() {
        *value = Value::Array(Vec::new());
    }
    let Some(list) = value.as_array_mut() else { return };
    match list.iter_mut().find(|it| it["name"] == item["name"]) {
        Some(found) => found.clone_from(item),
        None => list.push(item.clone()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn maps_merge_and_lists_merge_by_their_keys() {
        let mut template = json!({"spec": {
            "containers": [{"name": "node", "image": "a"}],
            "tolerations": [{"key": "x"}],
        }});
        let patch = json!({
            "metadata": {"annotations": {"a": "1"}},
            "spec": {
                "containers": [{"name": "node", "env": [{"name": "E", "value": "1"}]}],
                "tolerations": [{"key": "y"}],
                "nodeSelector": {"n": "1"},
            },
        });
        merge(&mut template, &patch);
        let expected = json!({
            "metadata": {"annotations": {"a": "1"}},
            "spec": {
                "containers": [
                    {"name": "node", "image": "a", "env": [{"name": "E", "value": "1"}]},
                ],
                "tolerations": [{"key": "y"}],
                "nodeSelector": {"n": "1"},
            },
        });
        assert_eq!(template, expected);
    }
}
