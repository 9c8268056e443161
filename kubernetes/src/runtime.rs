//! The runtime that an object resolves to, and its digest (SG-09).

use std::fmt::Write;

use dispatch_contract::names;
use dispatch_contract::resources::{RuntimeReference, TrainJob};
use kube::api::{ApiResource, DynamicObject};
use kube::{Api, Client, ResourceExt};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::request::{Limits, Request, RequestError, send_optional};

/// The kind that a reference without one means.
const DEFAULT_KIND: &str = "ClusterTrainingRuntime";

/// Reads the spec of the runtime that `reference` names, as the API server has it; `None` where
/// there is no such runtime, or no such kind in Trainer.
pub async fn read(
    client: &Client,
    limits: Limits,
    namespace: &str,
    reference: &RuntimeReference,
) -> Result<Option<Value>, RequestError> {
    let kind = reference.kind.as_deref().unwrap_or(DEFAULT_KIND);
    let group = reference.api_group.as_deref().unwrap_or(names::TRAINER_GROUP);
    if group != names::TRAINER_GROUP {
        return Ok(None);
    }
    let name = reference.name.as_str();
    let (resource, plural, namespaced) = match kind {
        "ClusterTrainingRuntime" => {
            ("clustertrainingruntimes.trainer.kubeflow.org", "clustertrainingruntimes", false)
        }
        "TrainingRuntime" => ("trainingruntimes.trainer.kubeflow.org", "trainingruntimes", true),
        _ => return Ok(None),
    };
    let described = ApiResource {
        group: names::TRAINER_GROUP.to_owned(),
        version: "v1alpha1".to_owned(),
        api_version: format!("{}/v1alpha1", names::TRAINER_GROUP),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    };
    let (api, object) = if namespaced {
        let api = Api::<DynamicObject>::namespaced_with(client.clone(), namespace, &described);
        (api, format!("{namespace}/{name}"))
    } else {
        (Api::<DynamicObject>::all_with(client.clone(), &described), name.to_owned())
    };
    let found = send_optional(limits, Request::new("get", resource, object), api.get(name)).await?;
    Ok(found.map(|mut runtime| runtime.data.get_mut("spec").map(Value::take).unwrap_or_default()))
}

/// The digest of a runtime's spec: SHA-256 over its JSON, keys in order and without blanks, in
/// hexadecimal after `sha256:`. Two specs have one digest exactly when they are equal as JSON.
pub fn digest(spec: &Value) -> String {
    let mut text = String::new();
    canonical(spec, &mut text);
    let mut digest = "sha256:".to_owned();
    for byte in Sha256::digest(text) {
        // Writing to a String cannot fail.
        let _ = write!(digest, "{byte:02x}");
    }
    digest
}

/// Writes JSON with the keys of every object in order, whatever order they were read in.
fn canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut keys: Vec<&String> = fields.keys().collect();
            keys.sort();
            text.push('{');
            for (index, key) in keys.into_iter().enumerate() {
                text.push_str(if index == 0 { "" } else { "," });
                text.push_str(&Value::String(key.clone()).to_string());
                text.push(':');
                canonical(&fields[key], text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { "," });
                canonical(item, text);
            }
            text.push(']');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}

/// How the runtime stands to the one that Start resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuntimeState {
    /// It is the one that Start resolved.
    Same,
    /// It was edited, or it is another one: `JobSet` would refuse what Trainer makes of it.
    Differs,
    /// There is no such runtime any more.
    Missing,
    /// The object carries no digest to compare with.
    NotRecorded,
}

/// Compares a runtime's spec, if there is one, with the digest that Start recorded (SG-09).
pub fn compare(trainjob: &TrainJob, spec: Option<&Value>) -> RuntimeState {
    match (trainjob.annotation(names::RUNTIME_DIGEST), spec) {
        (None, _) => RuntimeState::NotRecorded,
        (Some(_), None) => RuntimeState::Missing,
        (Some(recorded), Some(spec)) if recorded == digest(spec) => RuntimeState::Same,
        (Some(_), Some(_)) => RuntimeState::Differs,
    }
}

/// The runtime of an object as people name it: kind and name.
pub fn describe(trainjob: &TrainJob) -> String {
    let reference = &trainjob.spec.runtime_ref;
    format!("{} {}", reference.kind.as_deref().unwrap_or(DEFAULT_KIND), reference.name)
}

/// Reads the runtime of an object and compares it with the one that Start resolved.
pub async fn state(
    client: &Client,
    limits: Limits,
    trainjob: &TrainJob,
) -> Result<RuntimeState, RequestError> {
    let namespace = trainjob.namespace().unwrap_or_default();
    let spec = read(client, limits, &namespace, &trainjob.spec.runtime_ref).await?;
    Ok(compare(trainjob, spec.as_ref()))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::other_order(json!({"b": [1, {"d": null, "c": "x"}], "a": true}), true)]
    #[case::other_value(json!({"a": true, "b": [1, {"c": "y", "d": null}]}), false)]
    #[case::other_order_in_a_list(json!({"a": true, "b": [{"c": "x", "d": null}, 1]}), false)]
    #[case::a_key_less(json!({"a": true, "b": [1, {"c": "x"}]}), false)]
    #[case::a_text_for_a_number(json!({"a": true, "b": ["1", {"c": "x", "d": null}]}), false)]
    fn the_digest_is_of_the_value_not_of_the_text(#[case] other: Value, #[case] same: bool) {
        let spec = json!({"a": true, "b": [1, {"c": "x", "d": null}]});
        assert_eq!(digest(&spec) == digest(&other), same);
    }

    #[test]
    fn the_digest_never_changes_between_versions() {
        assert_eq!(
            digest(&json!({"template": {"spec": {}}})),
            "sha256:9e458ff901933284fece8c737809097941d8ebe88f74b2f74bc7741bac64c24b"
        );
    }

    #[rstest]
    #[case::same(Some(digest(&json!({"a": 1}))), Some(json!({"a": 1})), RuntimeState::Same)]
    #[case::edited(Some(digest(&json!({"a": 1}))), Some(json!({"a": 2})), RuntimeState::Differs)]
    #[case::gone(Some(digest(&json!({"a": 1}))), None, RuntimeState::Missing)]
    #[case::no_digest(None, Some(json!({"a": 1})), RuntimeState::NotRecorded)]
    fn a_runtime_is_compared_with_the_recorded_one(
        #[case] recorded: Option<String>,
        #[case] spec: Option<Value>,
        #[case] expected: RuntimeState,
    ) {
        let annotations = recorded.map(|digest| json!({names::RUNTIME_DIGEST: digest}));
        let trainjob: TrainJob =
            serde_json::from_value(json!({"metadata": {"name": "t", "annotations": annotations}}))
                .unwrap();
        assert_eq!(compare(&trainjob, spec.as_ref()), expected);
    }
}
