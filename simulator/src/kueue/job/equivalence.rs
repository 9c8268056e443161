//! Whether a Workload is still that of its job (Kueue `pkg/util/equality/podset.go`,
//! `EquivalentToWorkload`).

use serde_json::{Map, Value};

use super::pod_set::{count, running};
use crate::component::View;
use crate::kueue::quantity::Quantity;
use crate::kueue::workload::is_admitted;
use crate::object::{Object, controller, items, name};

/// Whether a Workload is that of a job with these pods. Labels and annotations do not matter.
pub(super) fn is_of(
    view: &View,
    workload: &Object,
    job: &Object,
    suspended: bool,
    pod_sets: &[Value],
) -> bool {
    if controller(workload).is_none_or(|it| it["name"] != name(job)) {
        return false;
    }
    let any_tolerations = is_admitted(workload);
    let as_made = || same(pod_sets, items(workload, "/spec/podSets"), any_tolerations);
    match running(view, workload) {
        // While it is suspended, its pods are as they were before it was admitted.
        Some(running) => same(pod_sets, &running, any_tolerations) || (suspended && as_made()),
        None => as_made(),
    }
}

fn same(some: &[Value], others: &[Value], any_tolerations: bool) -> bool {
    let pair = |(one, other): (&Value, &Value)| {
        let spec = |of: &Value, key: &str| of["template"]["spec"][key].clone();
        let equal = |key: &str| are_equal(&spec(one, key), &spec(other, key), false);
        count(one) == count(other)
            && one["minCount"] == other["minCount"]
            && equal("initContainers")
            && equal("containers")
            && (any_tolerations || equal("tolerations"))
    };
    some.len() == others.len() && some.iter().zip(others).all(pair)
}

/// Equal as typed objects are: what is empty is as good as not there, and quantities are compared by
/// value.
fn are_equal(one: &Value, other: &Value, quantities: bool) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let keys = one.keys().chain(other.keys());
            let of =
                |map: &Map<String, Value>, key: &str| map.get(key).cloned().unwrap_or_default();
            keys.into_iter().all(|key| {
                let amounts = quantities || matches!(key.as_str(), "requests" | "limits");
                are_equal(&of(one, key), &of(other, key), amounts)
            })
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            one.iter().zip(other).all(|(one, other)| are_equal(one, other, false))
        }
        (one, other) if is_empty(one) && is_empty(other) => true,
        (one, other) if quantities => {
            let (of_one, of_other) = (Quantity::of(one), Quantity::of(other));
            of_one.is_some() && of_one == of_other
        }
        (one, other) => one == other,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.values().all(is_empty),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn pods(cpu: &str, count: i64, labels: &Value) -> Vec<Value> {
        vec![json!({
            "name": "node",
            "count": count,
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "node", "resources": {"requests": {"cpu": cpu}}}]},
            },
        })]
    }

    #[rstest]
    #[case::same(pods("1000m", 1, &json!({})), true)]
    #[case::labels(pods("1", 1, &json!({"a": "b"})), true)]
    #[case::count(pods("1", 2, &json!({})), false)]
    #[case::cpu(pods("2", 1, &json!({})), false)]
    fn a_workload_is_of_a_job_with_the_same_pods(#[case] of_job: Vec<Value>, #[case] same: bool) {
        let job = json!({"metadata": {"name": "j"}});
        let workload = json!({
            "metadata": {"ownerReferences": [{"name": "j", "controller": true}]},
            "spec": {"podSets": pods("1", 1, &json!({}))},
        });
        assert_eq!(is_of(&View::default(), &workload, &job, true, &of_job), same);
    }

    #[test]
    fn what_is_empty_is_as_good_as_not_there() {
        assert!(are_equal(&json!({"a": [], "b": {"c": ""}}), &json!({}), false));
        assert!(!are_equal(&json!({"a": false}), &json!({}), false));
    }
}
