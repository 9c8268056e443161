//! What pods, and the templates of pods, get where they leave something open (Kubernetes
//! `pkg/apis/core/v1/defaults.go`).

use serde_json::{Value, json};

use crate::api::{Denied, Failure};
use crate::object::{default_to, items, text};
use crate::quantity;

/// Parts of pods that the scheduler here does not know.
const UNSUPPORTED: [&str; 3] = ["affinity", "topologySpreadConstraints", "resourceClaims"];

/// Sets the defaults of a spec.
pub(super) fn complete(spec: &mut Value) {
    for (field, value) in [
        ("restartPolicy", json!("Always")),
        ("dnsPolicy", json!("ClusterFirst")),
        ("schedulerName", json!("default-scheduler")),
        ("securityContext", json!({})),
        ("terminationGracePeriodSeconds", json!(30)),
    ] {
        default_to(spec, &[field], value);
    }
    for kind in ["containers", "initContainers"] {
        let containers = spec.get_mut(kind).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            complete_container(container);
        }
    }
}

fn complete_container(container: &mut Value) {
    default_to(container, &["imagePullPolicy"], pull_policy(text(container, "/image")));
    default_to(container, &["terminationMessagePath"], "/dev/termination-log");
    default_to(container, &["terminationMessagePolicy"], "File");
    default_to(container, &["resources"], json!({}));
    quantity::canonicalize(&mut container["resources"]);
    let ports = container.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten() {
        default_to(port, &["protocol"], "TCP");
    }
    let env = container.get_mut("env").and_then(Value::as_array_mut);
    for variable in env.into_iter().flatten() {
        if variable.pointer("/valueFrom/fieldRef").is_some() {
            default_to(variable, &["valueFrom", "fieldRef", "apiVersion"], "v1");
        }
    }
}

/// An image without a tag, or of the tag latest, is pulled each time.
fn pull_policy(image: &str) -> &'static str {
    let last = image.rsplit('/').next().unwrap_or_default();
    let latest = !last.contains('@') && last.split_once(':').is_none_or(|(_, tag)| tag == "latest");
    if latest { "Always" } else { "IfNotPresent" }
}

/// Refuses what would have to be guessed.
pub(super) fn refuse_unsupported(spec: &Value) -> Result<(), Denied> {
    let there = |field: &&&str| match &spec[**field] {
        Value::Null => false,
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    };
    match UNSUPPORTED.iter().find(there) {
        Some(field) => Err(Denied::Failure(Failure::unsupported(&format!("{field} of pods")))),
        None => Ok(()),
    }
}

/// What is wrong with a spec at this path.
pub(super) fn wrong_in(spec: &Value, path: &str) -> Vec<String> {
    let containers = items(spec, "/containers");
    let mut wrong = Vec::new();
    if containers.is_empty() {
        wrong.push(format!("{path}.containers: Required value"));
    }
    for (at, container) in containers.iter().enumerate() {
        for field in ["name", "image"] {
            if text(container, &format!("/{field}")).is_empty() {
                wrong.push(format!("{path}.containers[{at}].{field}: Required value"));
            }
        }
        if containers.iter().take(at).any(|it| it["name"] == container["name"]) {
            let name = &container["name"];
            wrong.push(format!("{path}.containers[{at}].name: Duplicate value: {name}"));
        }
    }
    wrong
}
