//! The caller's part of the spec, as Kueue can write it back.
//!
//! Kueue resumes a `TrainJob` by writing it back whole, from types that leave out an empty text or
//! list. `spec.trainer` and `spec.initializer` are immutable, so one such field that was there at
//! first makes that write invalid for ever: the job is admitted, holds its quota and never starts.
//! Everybody who reads the object takes the field for absent anyway, so it is left out.

use serde_json::Value;

/// Fields that hold lists of resources, which are left out where they are empty.
const RESOURCES: [&str; 2] = ["limits", "requests"];

/// Leaves out what Kueue would: nulls, empty lists, empty lists of resources, and the empty values
/// of variables. An empty object elsewhere is kept by Kueue, and means something.
pub(super) fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(key, value)| (key, canonical(value)))
                .filter(|(key, value)| !is_left_out(key, value))
                .map(|(key, value)| (key.clone(), value))
                .collect(),
        ),
        Value::Array(entries) => Value::Array(entries.iter().map(canonical).collect()),
        scalar => scalar.clone(),
    }
}

fn is_left_out(key: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(entries) => entries.is_empty(),
        Value::Object(fields) => fields.is_empty() && RESOURCES.contains(&key),
        Value::String(text) => text.is_empty() && key == "value",
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::value_of_a_variable(
        json!({"env": [{"name": "A", "value": ""}]}), json!({"env": [{"name": "A"}]}))]
    #[case::empty_list(json!({"args": [], "numNodes": 0}), json!({"numNodes": 0}))]
    #[case::empty_resources(
        json!({"resourcesPerNode": {"limits": {}}}), json!({"resourcesPerNode": {}}))]
    #[case::null(json!({"image": null}), json!({}))]
    #[case::arguments_may_be_empty(json!({"args": ["", "a"]}), json!({"args": ["", "a"]}))]
    #[case::nothing_to_leave_out(
        json!({"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"optional": false}}}]}),
        json!({"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"optional": false}}}]}))]
    fn what_kueue_would_leave_out_is_left_out(#[case] given: Value, #[case] expected: Value) {
        assert_eq!(canonical(&given), expected);
    }
}
