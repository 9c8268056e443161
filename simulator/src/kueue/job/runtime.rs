//! What Trainer would make of a TrainJob and its runtime. Kueue has Trainer's library in it, and
//! counts the pods of what that says (Kueue `pkg/controller/jobs/trainjob/trainjob_controller.go`,
//! `getChildJobSet`; Trainer `pkg/runtime/core/trainingruntime.go`,
//! `pkg/runtime/framework/plugins/jobset/builder.go`).

use serde_json::{Map, Value, json};

use super::pod_set::Failed;
use crate::object::{Object, items, number, text};

/// The label of a replicated job's template that says which step of the TrainJob it is.
const ANCESTOR: &str = "trainer.kubeflow.org/trainjob-ancestor-step";

/// The container that trains.
const NODE: &str = "node";

/// The replicated jobs of the `JobSet` that a TrainJob becomes.
pub(super) fn replicated_jobs(train_job: &Object, runtime: &Object) -> Result<Vec<Value>, Failed> {
    let policy = &runtime["spec"]["mlPolicy"];
    let source =
        ["torch", "mpi", "jax", "xgboost", "flux"].iter().find(|it| !policy[**it].is_null());
    if let Some(source) = source {
        return Err(Failed::Unsupported(format!("runtimes of {source}")));
    }
    let mut jobs = items(runtime, "/spec/template/spec/replicatedJobs").to_vec();
    for patch in items(train_job, "/spec/runtimePatches") {
        let at = "/trainingRuntimeSpec/template/spec/replicatedJobs";
        for patch in items(patch, at).iter().filter(|it| it["template"].is_object()) {
            for job in jobs.iter_mut().filter(|it| it["name"] == patch["name"]) {
                merge(&mut job["template"], &patch["template"]);
            }
        }
    }
    for job in &mut jobs {
        build(job, train_job, policy);
    }
    Ok(jobs)
}

fn build(job: &mut Value, train_job: &Object, policy: &Value) {
    let labels = job.pointer("/template/metadata/labels");
    let step = labels.and_then(|it| it[ANCESTOR].as_str()).unwrap_or_default().to_owned();
    let mut count = number(job, "/template/spec/parallelism").unwrap_or(1);
    let trainer = &train_job["spec"]["trainer"];
    match step.as_str() {
        "trainer" => {
            if policy.is_object() {
                count = number(policy, "/numNodes").unwrap_or(1);
            }
            count = number(trainer, "/numNodes").unwrap_or(count);
            job["replicas"] = 1.into();
            container(job, NODE, |it| train(it, trainer));
        }
        "dataset-initializer" | "model-initializer" => {
            let kind = step.trim_end_matches("-initializer").to_owned();
            let initializer = &train_job["spec"]["initializer"][kind];
            job["replicas"] = 1.into();
            container(job, &step, |it| initialize(it, initializer));
        }
        _ => {}
    }
    job["template"]["spec"]["parallelism"] = count.into();
    job["template"]["spec"]["completions"] = count.into();
}

fn container(job: &mut Value, name: &str, change: impl Fn(&mut Value)) {
    let all =
        job.pointer_mut("/template/spec/template/spec/containers").and_then(Value::as_array_mut);
    all.into_iter().flatten().filter(|it| it["name"] == name).for_each(change);
}

fn train(container: &mut Value, trainer: &Value) {
    for key in ["image", "command", "args"] {
        if !trainer[key].is_null() {
            container[key] = trainer[key].clone();
        }
    }
    let per_node = &trainer["resourcesPerNode"];
    let resources = ["limits", "requests"].iter().filter(|it| !per_node[**it].is_null());
    let resources: Map<_, _> =
        resources.map(|it| ((*it).to_owned(), per_node[*it].clone())).collect();
    if !resources.is_empty() {
        container["resources"] = resources.into();
    }
    upsert(container, items(trainer, "/env"));
}

fn initialize(container: &mut Value, initializer: &Value) {
    if let Some(uri) = initializer["storageUri"].as_str() {
        upsert(container, &[json!({"name": "STORAGE_URI", "value": uri})]);
    }
    upsert(container, items(initializer, "/env"));
    if initializer["secretRef"].is_object() {
        let mut from = items(container, "/envFrom").to_vec();
        from.push(json!({"secretRef": {"name": text(initializer, "/secretRef/name")}}));
        container["envFrom"] = from.into();
    }
}

/// Sets environment variables, each in the place of the one of its name.
fn upsert(container: &mut Value, variables: &[Value]) {
    let mut all = items(container, "/env").to_vec();
    for variable in variables {
        match all.iter_mut().find(|it| it["name"] == variable["name"]) {
            Some(known) => *known = variable.clone(),
            None => all.push(variable.clone()),
        }
    }
    if !all.is_empty() {
        container["env"] = all.into();
    }
}

/// A strategic merge, as far as patches of a TrainJob go: lists whose entries have names are merged by
/// name, other lists are replaced.
fn merge(into: &mut Value, patch: &Value) {
    match (into, patch) {
        (Value::Object(into), Value::Object(patch)) => {
            for (key, value) in patch {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (Value::Array(into), Value::Array(patch)) if is_named(into) && is_named(patch) => {
            for value in patch {
                match into.iter_mut().find(|it| it["name"] == value["name"]) {
                    Some(known) => merge(known, value),
                    None => into.push(value.clone()),
                }
            }
        }
        (into, patch) => *into = patch.clone(),
    }
}

fn is_named(list: &[Value]) -> bool {
    list.iter().all(|it| it["name"].is_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime() -> Object {
        json!({"spec": {"mlPolicy": {"numNodes": 2}, "template": {"spec": {"replicatedJobs": [{
            "name": "node",
            "template": {
                "metadata": {"labels": {ANCESTOR: "trainer"}},
                "spec": {"template": {"spec": {"containers": [
                    {"name": "node", "image": "a", "env": [{"name": "X", "value": "1"}]}, {"name": "other"},
                ]}}},
            },
        }]}}}})
    }

    #[test]
    fn a_train_job_says_what_its_node_runs_and_how_many_there_are() {
        let train_job = json!({"spec": {
            "trainer": {
                "numNodes": 3,
                "image": "b",
                "resourcesPerNode": {"requests": {"cpu": "4"}},
                "env": [{"name": "X", "value": "2"}, {"name": "Y", "value": "3"}],
            },
            "runtimePatches": [{"manager": "m", "trainingRuntimeSpec": {"template": {"spec": {
                "replicatedJobs": [{"name": "node", "template": {"spec": {"template": {
                    "metadata": {"annotations": {"a": "1"}},
                }}}}],
            }}}}],
        }});
        let jobs = replicated_jobs(&train_job, &runtime()).unwrap();
        assert_eq!(jobs[0]["template"]["spec"]["parallelism"], 3);
        let template = &jobs[0]["template"]["spec"]["template"];
        assert_eq!(template["metadata"]["annotations"], json!({"a": "1"}));
        assert_eq!(
            template["spec"]["containers"],
            json!([
                {
                    "name": "node", "image": "b", "resources": {"requests": {"cpu": "4"}},
                    "env": [{"name": "X", "value": "2"}, {"name": "Y", "value": "3"}],
                },
                {"name": "other"},
            ])
        );
    }

    #[test]
    fn without_a_trainer_it_is_as_the_runtime_says() {
        let jobs = replicated_jobs(&json!({}), &runtime()).unwrap();
        assert_eq!(jobs[0]["template"]["spec"]["completions"], 2);
        assert_eq!(jobs[0]["replicas"], 1);
    }

    #[test]
    fn runtimes_of_a_framework_are_not_supported() {
        let runtime = json!({"spec": {"mlPolicy": {"torch": {}}}});
        assert!(replicated_jobs(&json!({}), &runtime).is_err());
    }
}
