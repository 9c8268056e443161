//! What was created, compared with what was asked for (SG-03, SG-04).

use std::fmt;

use dispatch_contract::{GateList, names, quantity};
use serde_json::{Map, Value};

/// Lists whose entries have a key, as the API has them; entries are compared by it, wherever they
/// are. All other lists are equal or not.
const KEYED_LISTS: [(&str, &str); 4] = [
    ("runtimePatches", "manager"),
    ("replicatedJobs", "name"),
    ("env", "name"),
    ("claims", "name"),
];

/// The controller that a `TrainJob` gets unless somebody names another.
const DEFAULT_MANAGER: &str = "trainer.kubeflow.org/trainjob-controller";

/// What a closed object must not get from others as it is created: with the first two Kueue starts it
/// by other Workloads than the gated one (SG-08), with the marks it would count as opened or ended.
const NEVER_GAINED: [(&str, &str); 4] = [
    ("labels", names::PREBUILT_WORKLOAD),
    ("annotations", names::ELASTIC_JOB),
    ("annotations", names::OPENED),
    ("annotations", names::ENDED),
];

/// A field that is not as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Where, as a path from the root of the object.
    pub field: String,
    /// What was written; absent where nothing was.
    pub written: Option<Value>,
    /// What was found; absent where nothing is.
    pub found: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |value: &Option<Value>| match value {
            Some(value) => value.to_string(),
            None => "nothing".to_owned(),
        };
        write!(f, "{}: written {}, found {}", self.field, show(&self.written), show(&self.found))
    }
}

/// Where `found` differs from what was `written`: labels, annotations and all of the spec that was
/// written have to be in it; what others added beside does not matter.
///
/// Kueue owns `suspend`; in the list of gates dispatch's entry has to be there once, whatever else
/// is; nobody may have given the object to another controller, or what starts it by another way.
pub fn differences(written: &Value, found: &Value) -> Vec<Difference> {
    let mut compared = Comparison::default();
    for part in ["labels", "annotations"] {
        let path = format!("metadata.{part}");
        let empty = Map::new();
        let expected = written["metadata"][part].as_object().unwrap_or(&empty);
        for (key, value) in expected {
            let found = found["metadata"][part].get(key);
            if key == names::ADMISSION_GATED_BY {
                compared.gate(&format!("{path}[{key}]"), value, found);
            } else if found != Some(value) {
                compared.add(format!("{path}[{key}]"), Some(value), found);
            }
        }
    }
    for (part, key) in NEVER_GAINED {
        let gained = found["metadata"][part].get(key);
        if gained.is_some() && written["metadata"][part].get(key).is_none() {
            compared.add(format!("metadata.{part}[{key}]"), None, gained);
        }
    }
    let empty = Map::new();
    for (key, value) in written["spec"].as_object().unwrap_or(&empty) {
        if key != "suspend" {
            compared.value(&format!("spec.{key}"), key, value, found["spec"].get(key));
        }
    }
    let managed_by = found["spec"].get("managedBy");
    let set_by_another =
        managed_by.is_some_and(|value| !value.is_null() && value != DEFAULT_MANAGER);
    if set_by_another && written["spec"].get("managedBy").is_none() {
        compared.add("spec.managedBy".to_owned(), None, managed_by);
    }
    compared.differences
}

#[derive(Default)]
struct Comparison {
    differences: Vec<Difference>,
}

impl Comparison {
    fn add(&mut self, field: String, written: Option<&Value>, found: Option<&Value>) {
        let (written, found) = (written.cloned(), found.cloned());
        self.differences.push(Difference { field, written, found });
    }

    fn gate(&mut self, path: &str, written: &Value, found: Option<&Value>) {
        let gates = GateList::new(found.and_then(Value::as_str));
        if gates.dispatch_entries() != 1 {
            self.add(path.to_owned(), Some(written), found);
        }
    }

    /// One value of the spec; `name` is that of the field that holds it.
    fn value(&mut self, path: &str, name: &str, written: &Value, found: Option<&Value>) {
        match (written, found) {
            (_, None | Some(Value::Null)) if is_empty(written) => {}
            (Value::Object(fields), Some(Value::Object(_))) => {
                for (key, value) in fields {
                    let found = found.and_then(|found| found.get(key));
                    self.value(&format!("{path}.{key}"), key, value, found);
                }
            }
            (Value::Array(entries), Some(Value::Array(others))) => {
                match KEYED_LISTS.iter().find(|(list, _)| *list == name) {
                    Some((_, key)) => self.entries(path, key, entries, others),
                    None if entries == others => {}
                    None => self.add(path.to_owned(), Some(written), found),
                }
            }
            (_, Some(other)) if written == other => {}
            (_, Some(other)) if holds_quantities(path) && quantity::equal(written, other) => {}
            _ => self.add(path.to_owned(), Some(written), found),
        }
    }

    fn entries(&mut self, path: &str, key: &str, written: &[Value], found: &[Value]) {
        for (index, entry) in written.iter().enumerate() {
            let name = entry.get(key);
            let place = match name.and_then(Value::as_str) {
                Some(name) => format!("{path}[{name}]"),
                None => format!("{path}[{index}]"),
            };
            let found = found.iter().find(|other| other.get(key) == name);
            match found {
                Some(found) => self.value(&place, "", entry, Some(found)),
                None => self.add(place, Some(entry), None),
            }
        }
    }
}

/// What the webhooks of Kueue and Trainer, which decode and encode the object, may leave out.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(entries) => entries.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn holds_quantities(path: &str) -> bool {
    path.starts_with("spec.trainer.resourcesPerNode.limits.")
        || path.starts_with("spec.trainer.resourcesPerNode.requests.")
        || path.ends_with(".resourceFieldRef.divisor")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn written() -> Value {
        json!({
            "metadata": {
                "name": "t",
                "labels": {names::MANAGED: "true", names::QUEUE_NAME: "q", "empty": ""},
                "annotations": {names::ADMISSION_GATED_BY: names::GATE,
                    names::ADMISSION_COUNT: "0"},
            },
            "spec": {
                "suspend": true,
                "runtimeRef": {"kind": "ClusterTrainingRuntime", "name": "torch"},
                "activeDeadlineSeconds": 60,
                "trainer": {"numNodes": 1, "args": ["a", "b"],
                    "resourcesPerNode": {"requests": {"cpu": "1000m"}},
                    "env": [{"name": "A", "value": "1"}, {"name": "B", "value": ""}]},
                "runtimePatches": [{"manager": names::RUNTIME_PATCH_MANAGER,
                    "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [
                        {"name": "node", "template": {"a": "0"}}]}}}}],
            },
        })
    }

    /// The object that was written, as it is found after `change` set values at JSON pointers.
    fn found(changes: &[(&str, Value)]) -> Value {
        let mut found = written();
        for (pointer, value) in changes {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            let key = key.replace("~1", "/");
            match found.pointer_mut(parent).unwrap() {
                Value::Object(fields) if value == "DELETED" => drop(fields.remove(&key)),
                Value::Object(fields) => drop(fields.insert(key, value.clone())),
                Value::Array(entries) => entries[key.parse::<usize>().unwrap()] = value.clone(),
                _ => panic!("nothing at {pointer}"),
            }
        }
        found
    }

    const GATED_BY: &str = "/metadata/annotations/kueue.x-k8s.io~1admission-gated-by";

    #[rstest]
    #[case::nothing_changed(&[])]
    #[case::suspend_is_kueues(&[("/spec/suspend", json!(false))])]
    #[case::labels_of_others(&[("/metadata/labels/team", json!("a"))])]
    #[case::gates_of_others(&[(GATED_BY, json!(format!("a.io/x, {}", names::GATE)))])]
    #[case::default_manager(&[("/spec/managedBy", json!(DEFAULT_MANAGER))])]
    #[case::defaults(&[("/spec/runtimeRef/apiGroup", json!(names::TRAINER_GROUP))])]
    #[case::time_of_the_patch(
        &[("/spec/runtimePatches/0/time", json!("2026-01-01T00:00:00Z"))])]
    #[case::canonical_quantity(
        &[("/spec/trainer/resourcesPerNode/requests/cpu", json!("1"))])]
    #[case::empty_text_left_out(&[("/spec/trainer/env/1", json!({"name": "B"}))])]
    #[case::variables_in_another_order(&[("/spec/trainer/env",
        json!([{"name": "C"}, {"name": "B", "value": ""}, {"name": "A", "value": "1"}]))])]
    fn what_others_own_is_no_difference(#[case] changes: &[(&str, Value)]) {
        assert_eq!(differences(&written(), &found(changes)), []);
    }

    #[test]
    fn patches_of_other_managers_are_no_difference() {
        let mut found = written();
        let patches = found["spec"]["runtimePatches"].as_array_mut().unwrap();
        patches.insert(0, json!({"manager": names::KUEUE_RUNTIME_PATCH_MANAGER}));
        assert_eq!(differences(&written(), &found), []);
    }

    #[rstest]
    #[case::label("/metadata/labels/empty", json!("x"), "metadata.labels[empty]")]
    #[case::empty_label_removed("/metadata/labels/empty", json!("DELETED"), "metadata.labels[empty]")]
    #[case::queue(
        "/metadata/labels/kueue.x-k8s.io~1queue-name", json!("other"),
        "metadata.labels[kueue.x-k8s.io/queue-name]")]
    #[case::gate_removed(
        GATED_BY, json!("DELETED"), "metadata.annotations[kueue.x-k8s.io/admission-gated-by]")]
    #[case::gate_replaced(
        GATED_BY, json!("a.io/x"), "metadata.annotations[kueue.x-k8s.io/admission-gated-by]")]
    #[case::gate_twice(
        GATED_BY, json!(format!("{0},{0}", names::GATE)),
        "metadata.annotations[kueue.x-k8s.io/admission-gated-by]")]
    #[case::count(
        "/metadata/annotations/dispatch.phpboyscout.uk~1admission-count", json!("7"),
        "metadata.annotations[dispatch.phpboyscout.uk/admission-count]")]
    #[case::prebuilt_workload(
        "/metadata/labels/kueue.x-k8s.io~1prebuilt-workload-name", json!("w"),
        "metadata.labels[kueue.x-k8s.io/prebuilt-workload-name]")]
    #[case::elastic_job(
        "/metadata/annotations/kueue.x-k8s.io~1elastic-job", json!("true"),
        "metadata.annotations[kueue.x-k8s.io/elastic-job]")]
    #[case::opened_by_another(
        "/metadata/annotations/dispatch.phpboyscout.uk~1opened", json!("true"),
        "metadata.annotations[dispatch.phpboyscout.uk/opened]")]
    #[case::ended_by_another(
        "/metadata/annotations/dispatch.phpboyscout.uk~1ended", json!("Failed"),
        "metadata.annotations[dispatch.phpboyscout.uk/ended]")]
    #[case::runtime("/spec/runtimeRef/name", json!("other"), "spec.runtimeRef.name")]
    #[case::nodes("/spec/trainer/numNodes", json!(2), "spec.trainer.numNodes")]
    #[case::quantity(
        "/spec/trainer/resourcesPerNode/requests/cpu", json!("2"),
        "spec.trainer.resourcesPerNode.requests.cpu")]
    #[case::arguments("/spec/trainer/args", json!(["b", "a"]), "spec.trainer.args")]
    #[case::more_arguments("/spec/trainer/args", json!(["a", "b", "c"]), "spec.trainer.args")]
    #[case::variable(
        "/spec/trainer/env/0", json!({"name": "A", "value": "2"}), "spec.trainer.env[A].value")]
    #[case::variable_removed(
        "/spec/trainer/env/0", json!({"name": "C"}), "spec.trainer.env[A]")]
    #[case::trainer_removed("/spec/trainer", json!("DELETED"), "spec.trainer")]
    #[case::deadline("/spec/activeDeadlineSeconds", json!(61), "spec.activeDeadlineSeconds")]
    #[case::own_patch(
        "/spec/runtimePatches/0/trainingRuntimeSpec/template/spec/replicatedJobs/0/template/a",
        json!("1"),
        "spec.runtimePatches[dispatch.phpboyscout.uk/adapter].trainingRuntimeSpec.template.spec.\
         replicatedJobs[node].template.a")]
    #[case::own_patch_removed(
        "/spec/runtimePatches", json!([]), "spec.runtimePatches[dispatch.phpboyscout.uk/adapter]")]
    #[case::another_controller(
        "/spec/managedBy", json!("kueue.x-k8s.io/multikueue"), "spec.managedBy")]
    fn a_change_is_named_by_its_field(
        #[case] pointer: &str,
        #[case] value: Value,
        #[case] field: &str,
    ) {
        let found = differences(&written(), &found(&[(pointer, value)]));
        let fields: Vec<_> = found.iter().map(|difference| difference.field.as_str()).collect();
        assert_eq!(fields, [field]);
    }

    #[test]
    fn a_difference_tells_what_was_written_and_what_was_found() {
        let found = differences(&written(), &found(&[("/spec/trainer/numNodes", json!(2))]));
        assert_eq!(found[0].to_string(), "spec.trainer.numNodes: written 1, found 2");
    }
}
