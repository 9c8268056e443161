//! Trainer's webhooks (Trainer `pkg/webhooks`, `pkg/runtime/framework/plugins/jobset`, `Validate`).

use serde_json::{Value, json};

use super::job_set::{ANCESTOR, container_of, runtime_of};
use super::patches::apply_patches;
use crate::api::{Denied, Failure, Lookup, Operation, Review, Webhook};
use crate::component::Component;
use crate::object::{is, items, name, namespace, seconds, text};
use crate::quantity;
use crate::resource::{CLUSTER_TRAINING_RUNTIME, JOB_SET, TRAIN_JOB, TRAINING_RUNTIME};

/// Where the container patches of a replicated job are.
const POD: &str = "/template/spec/template/spec";

/// Sets the time of patches, and writes quantities as Go does.
pub(super) struct TrainJobDefaulter;

impl Webhook for TrainJobDefaulter {
    fn name(&self) -> &'static str {
        "defaulter.trainjob.trainer.kubeflow.org"
    }

    fn component(&self) -> Option<Component> {
        Some(Component::Trainer)
    }

    fn looks_at(&self, review: &Review<'_>) -> bool {
        review.writes_main(&[TRAIN_JOB])
    }

    fn mutate(
        &self,
        review: &Review<'_>,
        object: &mut Value,
        _stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        let now = seconds(review.now);
        if let Some(resources) = object.pointer_mut("/spec/trainer/resourcesPerNode") {
            quantity::canonicalize(resources);
        }
        let patches = object.pointer_mut("/spec/runtimePatches").and_then(Value::as_array_mut);
        for patch in patches.into_iter().flatten() {
            let old = review.old.map(|it| items(it, "/spec/runtimePatches"));
            let old = old.into_iter().flatten().find(|it| it["manager"] == patch["manager"]);
            match old {
                Some(old) if without_time(old) == without_time(patch) => {
                    if let Some(patch) = patch.as_object_mut() {
                        patch.remove("time");
                    }
                    if !old["time"].is_null() {
                        patch["time"] = old["time"].clone();
                    }
                }
                Some(_) => patch["time"] = now.clone().into(),
                None if patch["time"].is_null() => patch["time"] = now.clone().into(),
                None => {}
            }
        }
        Ok(())
    }
}

fn without_time(patch: &Value) -> Value {
    let mut patch = patch.clone();
    if let Some(fields) = patch.as_object_mut() {
        fields.remove("time");
    }
    patch
}

/// Refuses what does not fit the runtime, and patches that change while pods may run.
pub(super) struct TrainJobValidator;

impl Webhook for TrainJobValidator {
    fn name(&self) -> &'static str {
        "validator.trainjob.trainer.kubeflow.org"
    }

    fn component(&self) -> Option<Component> {
        Some(Component::Trainer)
    }

    fn looks_at(&self, review: &Review<'_>) -> bool {
        review.writes_main(&[TRAIN_JOB])
    }

    fn validate(
        &self,
        review: &Review<'_>,
        object: &Value,
        stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        let Some((kind, within, named)) = runtime_of(object) else {
            let (kind, group) =
                (text(object, "/spec/runtimeRef/kind"), text(object, "/spec/runtimeRef/apiGroup"));
            return Err(Denied::Webhook(format!("unsupported runtime: {kind}.{group}")));
        };
        let Some(runtime) = stored.get(kind, within, named) else {
            let missing = Failure::not_found(kind, named).message;
            let reference = &object["spec"]["runtimeRef"];
            return Err(Denied::Webhook(format!(
                "spec.runtimeRef: Invalid value: {reference}: {missing}: specified {} must be \
                 created before the TrainJob is created",
                if *kind == *TRAINING_RUNTIME {
                    "trainingRuntime"
                } else {
                    "clusterTrainingRuntime"
                },
            )));
        };
        let mut template = runtime.pointer("/spec/template").cloned().unwrap_or_default();
        apply_patches(object, &mut template);
        let mut wrong = initializers(object, &template);
        if let Some(old) = review.old {
            wrong.extend(patches_may_change(old, object, stored));
        }
        wrong.extend(patches_fit(object, &template));
        refuse(&wrong)
    }
}

/// Errors as `ErrorList.ToAggregate` writes them.
fn refuse(wrong: &[String]) -> Result<(), Denied> {
    match wrong {
        [] => Ok(()),
        [one] => Err(Denied::Webhook(one.clone())),
        many => Err(Denied::Webhook(format!("[{}]", many.join(", ")))),
    }
}

fn initializers(object: &Value, template: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    for (field, job, config) in [
        ("dataset", "dataset-initializer", "datasetConfig"),
        ("model", "model-initializer", "modelConfig"),
    ] {
        if object["spec"]["initializer"][field].is_null() {
            continue;
        }
        let reference = &object["spec"]["runtimeRef"];
        let why = match containers_of(template, job) {
            None => format!("must have {job} job when trainJob is configured with input {config}"),
            Some(containers) if !containers.contains(&job) => {
                format!("must have container with name - {job} in the {job} job")
            }
            Some(_) => continue,
        };
        wrong.push(format!("spec.runtimeRef: Invalid value: {reference}: {why}"));
    }
    wrong
}

/// The names of all containers of a replicated job.
fn containers_of<'a>(template: &'a Value, job: &str) -> Option<Vec<&'a str>> {
    let job = items(template, "/spec/replicatedJobs").iter().find(|it| it["name"] == job)?;
    let all = ["initContainers", "containers"]
        .into_iter()
        .flat_map(|kind| items(job, &format!("{POD}/{kind}")))
        .map(|it| text(it, "/name"));
    Some(all.collect())
}

/// Patches change only while the new object is suspended, and no Job of the `JobSet` is active
/// (`checkRuntimePatchesImmutability`).
fn patches_may_change(old: &Value, object: &Value, stored: &dyn Lookup) -> Vec<String> {
    let of = |it: &Value| it.pointer("/spec/runtimePatches").cloned().unwrap_or_else(|| json!([]));
    if of(old) == of(object) {
        return Vec::new();
    }
    if !is(object, "/spec/suspend") {
        return vec![forbidden(
            "RuntimePatches can only be modified when the TrainJob is suspended",
        )];
    }
    let made = stored.get(JOB_SET, namespace(object), name(object));
    let jobs = made.map(|it| items(it, "/status/replicatedJobsStatus")).into_iter().flatten();
    jobs.filter(|it| it["active"].as_i64().unwrap_or_default() > 0)
        .map(|it| {
            let job = text(it, "/name");
            forbidden(&format!(
                "RuntimePatches cannot be modified when the JobSet's ReplicatedJob {job} is still \
                 active"
            ))
        })
        .collect()
}

fn forbidden(why: &str) -> String {
    format!("spec.runtimePatches: Forbidden: {why}")
}

fn patches_fit(object: &Value, template: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let patches = items(object, "/spec/runtimePatches");
    let shown = Value::from(patches);
    let mut refuse = |why: String| {
        wrong.push(format!("spec.runtimePatches: Invalid value: {shown}: {why}"));
    };
    for patch in patches {
        let manager = text(patch, "/manager");
        if !is_domain_prefixed_path(manager) {
            refuse(format!("must be a domain-prefixed path (such as \"acme.io/foo\"): {manager}"));
        }
        for job in items(patch, "/trainingRuntimeSpec/template/spec/replicatedJobs") {
            let job_name = text(job, "/name");
            let Some(containers) = containers_of(template, job_name) else {
                refuse(
                    "must not have replicated job that doesn't exist in the runtime job template"
                        .to_owned(),
                );
                continue;
            };
            for (kind, singular) in
                [("initContainers", "initContainer"), ("containers", "container")]
            {
                for container in items(job, &format!("{POD}/{kind}")) {
                    let container_name = text(container, "/name");
                    let filled_in = ["dataset-initializer", "model-initializer", "node"];
                    if !containers.contains(&container_name) {
                        refuse(format!(
                            "must not have {singular} that doesn't exist in the runtime job \
                             {job_name}"
                        ));
                    } else if kind == "containers"
                        && !items(container, "/env").is_empty()
                        && filled_in.contains(&container_name)
                    {
                        refuse(
                            "must not have envs for the dataset-initializer, model-initializer, \
                             node containers"
                                .to_owned(),
                        );
                    }
                }
            }
        }
    }
    wrong
}

/// `domain/path`, both not empty (Kubernetes `validation.IsDomainPrefixedPath`).
fn is_domain_prefixed_path(text: &str) -> bool {
    text.split_once('/').is_some_and(|(domain, path)| {
        let allowed =
            |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || "-.".contains(it);
        !domain.is_empty() && domain.chars().all(allowed) && !path.is_empty()
    })
}

/// Refuses runtimes whose replicated jobs do not have the container that is filled in.
pub(super) struct RuntimeValidator;

impl Webhook for RuntimeValidator {
    fn name(&self) -> &'static str {
        "validator.trainingruntime.trainer.kubeflow.org"
    }

    fn component(&self) -> Option<Component> {
        Some(Component::Trainer)
    }

    fn looks_at(&self, review: &Review<'_>) -> bool {
        review.writes(&[TRAINING_RUNTIME, CLUSTER_TRAINING_RUNTIME])
    }

    fn validate(
        &self,
        review: &Review<'_>,
        object: &Value,
        _stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        if review.operation != Operation::Create {
            return Ok(());
        }
        let mut wrong = Vec::new();
        let jobs = items(object, "/spec/template/spec/replicatedJobs");
        for (at, job) in jobs.iter().enumerate() {
            let step = job["template"]["metadata"]["labels"][ANCESTOR].as_str();
            let Some((step, container)) = step.and_then(|it| Some((it, container_of(it)?))) else {
                continue;
            };
            let path = format!("spec.template.spec.replicatedJobs[{at}]");
            if job["replicas"] != 1 {
                let replicas = &job["replicas"];
                wrong.push(format!("{path}.replicas: Invalid value: {replicas}: always must be 1"));
            }
            let containers = items(job, &format!("{POD}/containers"));
            if !containers.iter().any(|it| it["name"] == container) {
                let shown = Value::from(containers);
                wrong.push(format!(
                    "{path}.template.spec.template.spec.containers: Invalid value: {shown}: must \
                     have a container for the {step} step"
                ));
            }
        }
        refuse(&wrong)
    }
}

#[cfg(test)]
mod tests;
