//! The `JobSet` that a `TrainJob` and its runtime make.

use serde_json::{Map, Value, json};

use super::merge::{merge, upsert};
use super::patches::apply_patches;
use crate::object::{controlled_by, items, name, namespace, number, text};
use crate::quantity;
use crate::resource::{CLUSTER_TRAINING_RUNTIME, JOB_SET, Resource, TRAIN_JOB, TRAINING_RUNTIME};

/// The label that says what a replicated job of a runtime is for.
pub(super) const ANCESTOR: &str = "trainer.kubeflow.org/trainjob-ancestor-step";

/// The replicated jobs that Trainer fills in, and the container of each.
const STEPS: [(&str, &str); 3] = [("trainer", "node"), (DATASET, DATASET), (MODEL, MODEL)];
const DATASET: &str = "dataset-initializer";
const MODEL: &str = "model-initializer";

/// The policies of a runtime that are not here.
const POLICIES: [&str; 5] = ["torch", "mpi", "jax", "xgboost", "flux"];

/// Something of a runtime that the embedded cluster does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the embedded cluster does not support {0} of a training runtime")]
pub struct Unsupported(String);

/// The container of a step of the `TrainJob`.
pub(super) fn container_of(step: &str) -> Option<&'static str> {
    STEPS.iter().find(|(of, _)| *of == step).map(|(_, container)| *container)
}

/// The kind, namespace and name of the runtime that a `TrainJob` names; none if Trainer knows no such
/// kind.
pub fn runtime_of(train_job: &Value) -> Option<(&'static Resource, &str, &str)> {
    let named = text(train_job, "/spec/runtimeRef/name");
    if text(train_job, "/spec/runtimeRef/apiGroup") != TRAIN_JOB.group {
        return None;
    }
    match text(train_job, "/spec/runtimeRef/kind") {
        "TrainingRuntime" => Some((TRAINING_RUNTIME, namespace(train_job), named)),
        "ClusterTrainingRuntime" => Some((CLUSTER_TRAINING_RUNTIME, "", named)),
        _ => None,
    }
}

/// The `JobSet`, as Trainer applies it (Trainer `pkg/runtime/core/trainingruntime.go`,
/// `pkg/runtime/framework/plugins/jobset`).
pub fn job_set(train_job: &Value, runtime: &Value) -> Result<Value, Unsupported> {
    refuse_unsupported(runtime)?;
    let mut template = runtime.pointer("/spec/template").cloned().unwrap_or_else(|| json!({}));
    apply_patches(train_job, &mut template);
    let mut spec = template["spec"].take();
    if let Some(jobs) = spec.get_mut("replicatedJobs").and_then(Value::as_array_mut) {
        for job in jobs {
            fill_in(job, train_job, runtime);
        }
    }
    spec["suspend"] = crate::object::is(train_job, "/spec/suspend").into();
    let mut metadata = json!({
        "name": name(train_job),
        "namespace": namespace(train_job),
        "ownerReferences": [controlled_by(TRAIN_JOB, train_job)],
    });
    for part in ["labels", "annotations"] {
        if template["metadata"][part].as_object().is_some_and(|all| !all.is_empty()) {
            metadata[part] = template["metadata"][part].take();
        }
    }
    Ok(json!({
        "apiVersion": JOB_SET.api_version(), "kind": JOB_SET.kind,
        "metadata": metadata, "spec": spec,
    }))
}

fn refuse_unsupported(runtime: &Value) -> Result<(), Unsupported> {
    let policy = &runtime["spec"]["mlPolicy"];
    if let Some(policy) = POLICIES.iter().find(|it| !policy[**it].is_null()) {
        return Err(Unsupported(format!("the policy {policy}")));
    }
    if !runtime["spec"]["podGroupPolicy"].is_null() {
        return Err(Unsupported("a policy for pod groups".to_owned()));
    }
    Ok(())
}

/// Fills in what the `TrainJob` says about one replicated job.
fn fill_in(job: &mut Value, train_job: &Value, runtime: &Value) {
    let step = job["template"]["metadata"]["labels"][ANCESTOR].as_str().map(str::to_owned);
    let step = step.as_deref().unwrap_or_default();
    let count = count(job, step, train_job, runtime);
    job["template"]["spec"]["parallelism"] = count.into();
    job["template"]["spec"]["completions"] = count.into();
    let pod = &mut job["template"]["spec"]["template"]["spec"];
    for kind in ["containers", "initContainers"] {
        let containers = pod.get_mut(kind).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            if let Some(resources) = container.get_mut("resources") {
                quantity::canonicalize(resources);
            }
        }
    }
    let Some(container) = container_of(step) else { return };
    let containers = pod.get_mut("containers").and_then(Value::as_array_mut);
    let containers = containers.into_iter().flatten().filter(|it| it["name"] == container);
    for container in containers {
        match step {
            "trainer" => fill_in_trainer(container, &train_job["spec"]["trainer"]),
            DATASET => fill_in_initializer(container, &train_job["spec"]["initializer"]["dataset"]),
            _ => fill_in_initializer(container, &train_job["spec"]["initializer"]["model"]),
        }
    }
    job["replicas"] = 1.into();
}

/// How many pods: of the trainer as many as the `TrainJob` or else the runtime's policy says
/// (`newRuntimeInfo`, `plainml.EnforceMLPolicy`).
fn count(job: &Value, step: &str, train_job: &Value, runtime: &Value) -> i64 {
    let own = number(job, "/template/spec/parallelism").unwrap_or(1);
    if step != "trainer" {
        return own;
    }
    let policy = &runtime["spec"]["mlPolicy"];
    let nodes = if policy.is_null() { own } else { policy["numNodes"].as_i64().unwrap_or(1) };
    number(train_job, "/spec/trainer/numNodes").unwrap_or(nodes)
}

/// `Builder.Trainer`.
fn fill_in_trainer(container: &mut Value, trainer: &Value) {
    for field in ["image", "command", "args"] {
        if !trainer[field].is_null() {
            container[field].clone_from(&trainer[field]);
        }
    }
    let wanted = &trainer["resourcesPerNode"];
    if !wanted["limits"].is_null() || !wanted["requests"].is_null() {
        let mut resources = json!({});
        for part in ["limits", "requests"] {
            if !wanted[part].is_null() {
                resources[part] = wanted[part].clone();
            }
        }
        quantity::canonicalize(&mut resources);
        container["resources"] = resources;
    }
    upsert_all(container, &trainer["env"]);
}

/// `Builder.Initializer`.
fn fill_in_initializer(container: &mut Value, initializer: &Value) {
    if !initializer["storageUri"].is_null() {
        let env = json!({"name": "STORAGE_URI", "value": initializer["storageUri"]});
        upsert(&mut container["env"], &env);
    }
    upsert_all(container, &initializer["env"]);
    let secret = &initializer["secretRef"]["name"];
    if !secret.is_null() {
        let from = json!([{"secretRef": {"name": secret}}]);
        merge(container, &json!({"envFrom": from}));
    }
}

fn upsert_all(container: &mut Value, env: &Value) {
    for variable in items(env, "") {
        let mut variable = variable.clone();
        // Go leaves an empty value out (Trainer `pkg/apply`, `EnvVars`).
        if let Some(fields) = variable.as_object_mut() {
            without_empty_value(fields);
        }
        upsert(&mut container["env"], &variable);
    }
}

fn without_empty_value(fields: &mut Map<String, Value>) {
    if fields.get("value").is_some_and(|it| it == "") {
        fields.remove("value");
    }
}

#[cfg(test)]
mod tests;
