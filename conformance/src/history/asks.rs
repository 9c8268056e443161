//! What the body of a write asks for, in the contract's words: shared by faults that wait for such
//! a request, by judges and by reports.

use dispatch_contract::names;
use serde_json::{Map, Value};

use super::Request;

/// What a write asks for, as far as the contract speaks of it. Of a body that carries a whole
/// object, this is what the object has afterwards, whether or not it had it before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asks {
    /// The state of each check that a Workload's status names, with the check's name.
    pub checks: Vec<(String, String)>,
    /// The types of the conditions that its status has as True.
    pub conditions: Vec<String>,
    /// The admission count of a `TrainJob`.
    pub count: Option<String>,
    /// The admission count that pods are to carry: of a `TrainJob`'s runtime patch, of a `JobSet`'s
    /// or a Job's template, or of a pod itself. The first one that is found.
    pub pod_count: Option<String>,
    /// `spec.suspend`.
    pub suspend: Option<bool>,
    /// `spec.active` of a Workload.
    pub active: Option<bool>,
    /// Whether a `TrainJob` carries the opened mark.
    pub opened: bool,
    /// Whether a `TrainJob` carries the hold mark.
    pub held: bool,
    /// Whether a `TrainJob` carries the ended mark.
    pub ended: bool,
}

impl Asks {
    /// What a request asks for; nothing, of one that has no body.
    pub fn of(request: &Request) -> Self {
        match &request.body {
            Some(body) => Self::of_body(body),
            None => Self::default(),
        }
    }

    /// What a body asks for: an object, a part of one, or a JSON patch.
    pub fn of_body(body: &Value) -> Self {
        let laid_out;
        let object = match body {
            Value::Array(operations) => {
                laid_out = lay_out(operations);
                &laid_out
            }
            object => object,
        };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let annotations = &object["metadata"]["annotations"];
        Self {
            checks: checks(object),
            conditions: conditions(object),
            count: text(&annotations[names::ADMISSION_COUNT]),
            pod_count: pod_count(object, 0),
            suspend: object["spec"]["suspend"].as_bool(),
            active: object["spec"]["active"].as_bool(),
            opened: annotations[names::OPENED].is_string(),
            held: annotations[names::HELD].is_string(),
            ended: annotations[names::ENDED].is_string(),
        }
    }

    /// Whether it sets a check to this state, such as `Ready`.
    pub fn sets_check(&self, state: &str) -> bool {
        self.checks.iter().any(|(_, set)| set == state)
    }

    /// In words, the most telling first; empty where the contract speaks of nothing in it.
    pub fn words(&self) -> Vec<String> {
        let mut words: Vec<_> =
            self.checks.iter().map(|(name, state)| format!("{name} {state}")).collect();
        words.extend(self.count.as_ref().map(|count| format!("count {count}")));
        words.extend(self.pod_count.as_ref().map(|count| format!("pods {count}")));
        words.extend(self.suspend.map(|suspend| format!("suspend {suspend}")));
        words.extend(self.active.map(|active| format!("active {active}")));
        let marks = [(self.opened, "opened"), (self.held, "held"), (self.ended, "ended")];
        words.extend(marks.iter().filter(|(is, _)| *is).map(|(_, mark)| (*mark).to_owned()));
        words
    }
}

fn checks(object: &Value) -> Vec<(String, String)> {
    let checks = object["status"]["admissionChecks"].as_array();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    checks.into_iter().flatten().map(|it| (text(&it["name"]), text(&it["state"]))).collect()
}

fn conditions(object: &Value) -> Vec<String> {
    let conditions = object["status"]["conditions"].as_array();
    let is_true = conditions.into_iter().flatten().filter(|it| it["status"] == "True");
    is_true.filter_map(|it| it["type"].as_str()).map(str::to_owned).collect()
}

/// The deepest that a pod template lies: `TrainJob`, runtime patch, `JobSet`, Job, pod.
const DEPTH: usize = 24;

/// The first annotation for pods that is found below an object.
fn pod_count(value: &Value, depth: usize) -> Option<String> {
    if depth > DEPTH {
        return None;
    }
    match value {
        Value::Object(fields) => {
            let own = fields.get("annotations").map(|it| &it[names::POD_ADMISSION]);
            let own = own.and_then(Value::as_str).map(str::to_owned);
            own.or_else(|| {
                fields
                    .iter()
                    .filter(|(name, _)| *name != "managedFields" && *name != "status")
                    .find_map(|(_, value)| pod_count(value, depth + 1))
            })
        }
        Value::Array(items) => items.iter().find_map(|item| pod_count(item, depth + 1)),
        _ => None,
    }
}

/// Lays the operations of a JSON patch out as the part of an object that they set.
fn lay_out(operations: &[Value]) -> Value {
    let mut object = Value::Object(Map::new());
    for operation in operations {
        let sets = matches!(operation["op"].as_str(), Some("add" | "replace"));
        let path = operation["path"].as_str().unwrap_or_default();
        if !sets || path.split('/').count() > DEPTH {
            continue;
        }
        let mut at = &mut object;
        for step in path.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            // An index is laid out as a key: what lies in a list is found below it all the same.
            if !at.is_object() {
                *at = Value::Object(Map::new());
            }
            at = &mut at[step.as_str()];
        }
        *at = operation["value"].clone();
    }
    object
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_ready_is_a_check_of_a_workloads_status() {
        let body = json!({"status": {"admissionChecks": [{"name": "c", "state": "Ready"}]}});
        let asks = Asks::of_body(&body);
        assert!(asks.sets_check("Ready") && !asks.sets_check("Pending"));
        assert_eq!(asks.words(), ["c Ready"]);
    }

    #[test]
    fn a_raise_sets_the_count_and_that_of_the_pods() {
        let body = json!({
            "metadata": {"annotations": {names::ADMISSION_COUNT: "3"}},
            "spec": {"runtimePatches": [{"trainingRuntimeSpec": {"template": {"spec": {
                "replicatedJobs": [{"name": "node", "template": {"spec": {"template": {"metadata": {
                    "annotations": {names::POD_ADMISSION: "3"}}}}}}]}}}}]},
        });
        let asks = Asks::of_body(&body);
        assert_eq!((asks.count.as_deref(), asks.pod_count.as_deref()), (Some("3"), Some("3")));
    }

    #[test]
    fn a_json_patch_asks_for_what_it_adds_and_replaces() {
        let body = json!([
            {"op": "replace", "path": "/spec/suspend", "value": true},
            {"op": "add", "path": "/metadata/annotations/dispatch.phpboyscout.uk~1ended", "value": "x"},
            {"op": "remove", "path": "/spec/active"},
        ]);
        let asks = Asks::of_body(&body);
        assert_eq!(asks.suspend, Some(true));
        assert_eq!(asks.ended, names::ENDED.ends_with("/ended"));
        assert_eq!(asks.active, None);
    }

    #[test]
    fn a_body_of_another_shape_asks_for_nothing() {
        for body in [json!(null), json!(3), json!([3, {"op": "add"}]), json!({"spec": 3})] {
            assert_eq!(Asks::of_body(&body), Asks::default(), "{body}");
        }
    }
}
