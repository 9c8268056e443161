//! What was written into an object, compared with a version of it, as SG-03 and SG-04 say.
//!
//! What is certainly another value, and what is certainly the same, are told apart; between the two lies
//! what the contract leaves open, such as a quantity that is written in another way. Nobody is blamed for
//! that, whatever he makes of it.

use std::fmt;

use dispatch_contract::{GateList, names, quantity};
use serde_json::{Map, Value};

/// What a comparison came to.
#[derive(Debug, Default)]
pub(super) struct Compared {
    /// Fields that are certainly not as they were written.
    pub(super) differences: Vec<Difference>,
    /// Whether there are fields of which that cannot be said.
    pub(super) is_open: bool,
}

/// A field that is not as it was written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Difference {
    /// Where, as a path from the root of the object.
    pub(super) field: String,
    /// What a message has to have to name the field: the last part of the path.
    pub(super) leaf: String,
    /// What was written; `None` where nothing was.
    pub(super) written: Option<Value>,
    /// What was found; `None` where nothing is.
    pub(super) found: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), short);
        write!(f, "{}: written {}, found {}", self.field, show(&self.written), show(&self.found))
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 80 { text } else { text.chars().take(79).chain(['…']).collect() }
}

/// The parts of the specification that `Start` compares.
const PARTS: [&str; 4] = ["runtimeRef", "trainer", "activeDeadlineSeconds", "runtimePatches"];

/// Lists whose entries have a key, as the API has them.
const KEYED: [(&str, &str); 4] = [
    ("runtimePatches", "manager"),
    ("replicatedJobs", "name"),
    ("env", "name"),
    ("claims", "name"),
];

/// The controller that a `TrainJob` gets unless somebody names another.
const DEFAULT_MANAGER: &str = "trainer.kubeflow.org/trainjob-controller";

/// The greatest length of a text in a body that is recorded whole.
const WHOLE_TEXT: usize = 2048;

/// Compares a version with what was written.
pub(super) fn compare(written: &Value, found: &Value) -> Compared {
    let mut compared = Compared::default();
    let none = Map::new();
    for part in ["labels", "annotations"] {
        for (key, value) in written["metadata"][part].as_object().unwrap_or(&none) {
            let field = format!("metadata.{part}[{key}]");
            let is = found["metadata"][part].get(key);
            if key != names::ADMISSION_GATED_BY {
                compared.text(field, key, value, is);
            } else if GateList::new(is.and_then(Value::as_str)).dispatch_entries() != 1 {
                compared.differs(field, key, Some(value), is);
            }
        }
    }
    for part in PARTS {
        if let Some(value) = written["spec"].get(part) {
            compared.value(format!("spec.{part}"), part, value, found["spec"].get(part));
        }
    }
    let managed_by = found["spec"].get("managedBy").filter(|it| !it.is_null());
    match (written["spec"].get("managedBy"), managed_by) {
        (Some(value), found) => {
            compared.value("spec.managedBy".to_owned(), "managedBy", value, found);
        }
        (None, Some(set)) if set != DEFAULT_MANAGER => {
            compared.differs("spec.managedBy".to_owned(), "managedBy", None, Some(set));
        }
        _ => {}
    }
    compared
}

/// Whether two inputs of `Start` certainly differ in what they ask for, and where.
pub(super) fn input_differs(one: &Value, other: &Value) -> Option<String> {
    let mut compared = Compared::default();
    for (written, found) in [(one, other), (other, one)] {
        for (key, value) in written.as_object().into_iter().flatten() {
            // A queue that is left out is the configured one, and a kind the default.
            if key != "queue" && (key != "runtimeRef" || value["name"] != found[key]["name"]) {
                compared.value(key.clone(), key, value, found.get(key));
            }
        }
    }
    compared.differences.first().map(|difference| difference.field.clone())
}

impl Compared {
    fn differs(
        &mut self,
        field: String,
        leaf: &str,
        written: Option<&Value>,
        found: Option<&Value>,
    ) {
        let (written, found) = (written.cloned(), found.cloned());
        self.differences.push(Difference { field, leaf: leaf.to_owned(), written, found });
    }

    /// A text that nobody may change.
    fn text(&mut self, field: String, leaf: &str, written: &Value, found: Option<&Value>) {
        if is_cut_off(written) {
            self.is_open = true;
        } else if found != Some(written) {
            self.differs(field, leaf, Some(written), found);
        }
    }

    /// One value of the specification; `name` is that of the field that holds it.
    fn value(&mut self, field: String, name: &str, written: &Value, found: Option<&Value>) {
        match (written, found) {
            // Webhooks decode and encode the object, and leave out what is empty.
            (_, None | Some(Value::Null)) if is_empty(written) => {
                self.is_open |= !written.is_null();
            }
            (_, Some(found)) if found == written => {}
            _ if is_cut_off(written) => self.is_open = true,
            (Value::Object(fields), Some(Value::Object(_))) => {
                for (key, value) in fields {
                    let found = found.and_then(|found| found.get(key));
                    // Trainer's webhook writes the time of a patch.
                    if !(key == "time" && field.starts_with("spec.runtimePatches")) {
                        self.value(format!("{field}.{key}"), key, value, found);
                    }
                }
            }
            (Value::Array(written), Some(Value::Array(found))) => {
                self.list(field, name, written, found);
            }
            (_, Some(other)) if holds_quantities(&field) && quantity::equal(written, other) => {
                self.is_open = true;
            }
            _ => self.differs(field, name, Some(written), found),
        }
    }

    fn list(&mut self, field: String, name: &str, written: &[Value], found: &[Value]) {
        let keyed = KEYED.iter().find(|(list, _)| *list == name).map(|(_, key)| *key);
        // Lists of named things in a template may be keyed too; the contract does not say which.
        let named = |all: &[Value]| all.iter().all(|entry| entry["name"].is_string());
        let key = keyed.or_else(|| (named(written) && named(found)).then_some("name"));
        let Some(key) = key.filter(|_| !written.is_empty() || keyed.is_some()) else {
            let (written, found) = (Value::from(written), Value::from(found));
            return self.differs(field, name, Some(&written), Some(&found));
        };
        self.is_open |= keyed.is_none();
        for (index, entry) in written.iter().enumerate() {
            let is = entry.get(key);
            let text = is.and_then(Value::as_str).map_or(index.to_string(), str::to_owned);
            let place = format!("{field}[{text}]");
            match found.iter().find(|other| other.get(key) == is) {
                Some(found) => self.value(place, &text, entry, Some(found)),
                None => self.differs(place, &text, Some(entry), None),
            }
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(entries) => entries.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether a text of a recorded body is only its beginning.
fn is_cut_off(value: &Value) -> bool {
    value.as_str().is_some_and(|it| it.ends_with('…') && it.chars().count() > WHOLE_TEXT)
}

fn holds_quantities(field: &str) -> bool {
    [".limits.", ".requests.", ".divisor", ".sizeLimit"].iter().any(|part| field.contains(part))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn written() -> Value {
        json!({
            "metadata": {
                "labels": {"kueue.x-k8s.io/queue-name": "q", "empty": ""},
                "annotations": {names::ADMISSION_GATED_BY: names::GATE},
            },
            "spec": {
                "suspend": true,
                "runtimeRef": {"name": "torch"},
                "activeDeadlineSeconds": 60,
                "trainer": {"numNodes": 1, "args": ["a", "b"], "command": [],
                    "resourcesPerNode": {"requests": {"cpu": "1000m"}},
                    "env": [{"name": "A", "value": "1000m"}, {"name": "B", "value": ""}]},
                "runtimePatches": [{"manager": "dispatch", "time": "x",
                    "trainingRuntimeSpec": {"containers": [{"name": "c", "image": "i"}]}}],
            },
        })
    }

    fn with(pointer: &str, value: Value) -> Compared {
        let mut found = written();
        match found.pointer_mut(pointer) {
            Some(place) => *place = value,
            None => found["spec"]["managedBy"] = value,
        }
        compare(&written(), &found)
    }

    const GATES: &str = "/metadata/annotations/kueue.x-k8s.io~1admission-gated-by";

    #[rstest]
    #[case::nothing("/spec/suspend", json!(true))]
    #[case::suspend("/spec/suspend", json!(false))]
    #[case::others_gates(GATES, json!(format!("a.io/x, {}", names::GATE)))]
    #[case::defaults("/spec/runtimeRef", json!({"name": "torch", "kind": "TrainingRuntime"}))]
    #[case::others_patches("/spec/runtimePatches", json!([{"manager": "kueue"},
        written()["spec"]["runtimePatches"][0]]))]
    #[case::the_time_of_the_patch("/spec/runtimePatches/0/time", json!("y"))]
    #[case::the_default_manager("/spec/managedBy", json!(DEFAULT_MANAGER))]
    #[case::variables_in_another_order("/spec/trainer/env", json!([{"name": "C"},
        {"name": "B", "value": ""}, {"name": "A", "value": "1000m"}]))]
    fn what_others_own_is_the_same(#[case] pointer: &str, #[case] value: Value) {
        let compared = with(pointer, value);
        assert!(compared.differences.is_empty() && !compared.is_open, "{compared:?}");
    }

    #[rstest]
    #[case::a_quantity("/spec/trainer/resourcesPerNode/requests/cpu", json!("1"))]
    #[case::an_empty_list("/spec/trainer/command", Value::Null)]
    #[case::an_empty_text("/spec/trainer/env/1", json!({"name": "B"}))]
    #[case::named_entries_in_another_order(
        "/spec/runtimePatches/0/trainingRuntimeSpec/containers",
        json!([{"name": "side"}, {"name": "c", "image": "i"}]))]
    fn what_the_contract_leaves_open_is_open(#[case] pointer: &str, #[case] value: Value) {
        let compared = with(pointer, value);
        assert!(compared.differences.is_empty() && compared.is_open, "{compared:?}");
    }

    #[rstest]
    #[case::a_label("/metadata/labels/empty", json!("x"), "metadata.labels[empty]")]
    #[case::no_gate(GATES, Value::Null, "metadata.annotations[kueue.x-k8s.io/admission-gated-by]")]
    #[case::the_gate_twice(GATES, json!(format!("{0},{0}", names::GATE)),
        "metadata.annotations[kueue.x-k8s.io/admission-gated-by]")]
    #[case::the_runtime("/spec/runtimeRef/name", json!("x"), "spec.runtimeRef.name")]
    #[case::the_deadline("/spec/activeDeadlineSeconds", json!(61), "spec.activeDeadlineSeconds")]
    #[case::arguments("/spec/trainer/args", json!(["b", "a"]), "spec.trainer.args")]
    #[case::another_quantity("/spec/trainer/resourcesPerNode/requests/cpu", json!("2"),
        "spec.trainer.resourcesPerNode.requests.cpu")]
    #[case::a_value_that_is_no_quantity(
        "/spec/trainer/env/0/value", json!("1"), "spec.trainer.env[A].value")]
    #[case::an_empty_text_is_filled(
        "/spec/trainer/env/1/value", json!("x"), "spec.trainer.env[B].value")]
    #[case::a_variable_is_gone("/spec/trainer/env/0/name", json!("Z"), "spec.trainer.env[A]")]
    #[case::the_patch_is_gone("/spec/runtimePatches", json!([]), "spec.runtimePatches[dispatch]")]
    #[case::a_container("/spec/runtimePatches/0/trainingRuntimeSpec/containers/0/image", json!("x"),
        "spec.runtimePatches[dispatch].trainingRuntimeSpec.containers[c].image")]
    #[case::another_manager("/spec/managedBy", json!("x.io/y"), "spec.managedBy")]
    fn another_value_is_a_difference(
        #[case] pointer: &str,
        #[case] value: Value,
        #[case] field: &str,
    ) {
        let compared = with(pointer, value);
        let fields: Vec<_> = compared.differences.iter().map(|it| it.field.as_str()).collect();
        assert_eq!(fields, [field]);
    }

    #[test]
    fn inputs_differ_in_what_they_ask_for() {
        let one = json!({"name": "n", "runtimeRef": {"name": "r"}, "trainer": {"numNodes": 1}});
        let same = json!({"name": "n", "queue": "q", "labels": {},
            "runtimeRef": {"kind": "ClusterTrainingRuntime", "name": "r"},
            "trainer": {"numNodes": 1, "env": []}});
        let other = json!({"name": "n", "runtimeRef": {"name": "r"}, "trainer": {"numNodes": 2}});
        let more = json!({"name": "n", "runtimeRef": {"name": "r"}, "labels": {"a": "b"},
            "trainer": {"numNodes": 1}});
        assert_eq!(input_differs(&one, &same), None);
        assert_eq!(input_differs(&one, &other).as_deref(), Some("trainer.numNodes"));
        assert_eq!(input_differs(&one, &more).as_deref(), Some("labels"));
        assert_eq!(input_differs(&more, &one).as_deref(), Some("labels"));
    }
}
