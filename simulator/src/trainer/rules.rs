//! What the schemas of Trainer's kinds say themselves: defaults, and what may not change (Trainer
//! `pkg/apis/trainer/v1alpha1`, `manifests/base/crds`).

use serde_json::Value;

use crate::api::{Denied, Lookup, Review, Webhook, immutable, invalid};
use crate::component::Component;
use crate::object::{default_to, differ, items, name, number, text};
use crate::resource::{CLUSTER_TRAINING_RUNTIME, TRAIN_JOB, TRAINING_RUNTIME};

/// Who may manage a `TrainJob`.
const MANAGERS: [&str; 2] =
    ["trainer.kubeflow.org/trainjob-controller", "kueue.x-k8s.io/multikueue"];

/// The fields of a `TrainJob` that may not change.
const IMMUTABLE: [&str; 5] =
    ["runtimeRef", "initializer", "trainer", "activeDeadlineSeconds", "managedBy"];

/// The fields of a patched pod that may not change once they are set (`PodSpecPatch`).
const IMMUTABLE_IN_PODS: [&str; 6] = [
    "serviceAccountName",
    "volumes",
    "initContainers",
    "containers",
    "imagePullSecrets",
    "securityContext",
];

/// The longest name, and the most patches.
const LONGEST_NAME: usize = 63;
const MOST_PATCHES: usize = 16;

/// The types of fields.
const TYPES: [(&str, &str); 11] = [
    ("spec", "object"),
    ("spec.runtimeRef", "object"),
    ("spec.initializer", "object"),
    ("spec.trainer", "object"),
    ("spec.trainer.env", "array"),
    ("spec.trainer.numNodes", "integer"),
    ("spec.trainer.resourcesPerNode", "object"),
    ("spec.runtimePatches", "array"),
    ("spec.suspend", "boolean"),
    ("spec.activeDeadlineSeconds", "integer"),
    ("spec.managedBy", "string"),
];

/// The rules of `TrainJob`s.
pub(super) struct TrainJobRules;

impl Webhook for TrainJobRules {
    fn name(&self) -> &'static str {
        "trainjobs.trainer.kubeflow.org"
    }

    fn component(&self) -> Option<Component> {
        None
    }

    fn looks_at(&self, review: &Review<'_>) -> bool {
        review.writes(&[TRAIN_JOB])
    }

    fn mutate(
        &self,
        _review: &Review<'_>,
        object: &mut Value,
        _stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        invalid(wrong_types(object))?;
        default_to(object, &["spec", "suspend"], false);
        default_to(object, &["spec", "managedBy"], MANAGERS[0]);
        if object["spec"]["runtimeRef"].is_object() {
            default_to(object, &["spec", "runtimeRef", "apiGroup"], TRAIN_JOB.group);
            default_to(object, &["spec", "runtimeRef", "kind"], CLUSTER_TRAINING_RUNTIME.kind);
        }
        Ok(())
    }

    fn validate(
        &self,
        review: &Review<'_>,
        object: &Value,
        _stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        let mut wrong = wrong_in(object);
        if let Some(old) = review.old {
            wrong.extend(immutable(old, object, &IMMUTABLE, "field is immutable"));
            wrong.extend(changed_in_patches(old, object));
        }
        invalid(wrong)
    }
}

/// What is of another type than the schema says.
fn wrong_types(object: &Value) -> Vec<String> {
    let wrong = |path: &str, value: &Value, type_: &str| {
        let is = match type_ {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "boolean" => value.is_boolean(),
            "string" => value.is_string(),
            _ => value.is_i64(),
        };
        let found = match value {
            Value::Object(_) => "object",
            Value::Array(_) => "array",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            _ => "string",
        };
        (!is && !value.is_null()).then(|| {
            format!(
                "{path}: Invalid value: \"{found}\": {path} in body must be of type {type_}: \
                 \"{found}\""
            )
        })
    };
    let fields = TYPES.iter().filter_map(|(path, type_)| {
        let value = object.pointer(&format!("/{}", path.replace('.', "/")))?;
        wrong(path, value, type_)
    });
    let patches = items(object, "/spec/runtimePatches").iter().enumerate();
    let patches = patches
        .filter_map(|(at, patch)| wrong(&format!("spec.runtimePatches[{at}]"), patch, "object"));
    fields.chain(patches).collect()
}

fn wrong_in(object: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    if text(object, "/spec/runtimeRef/name").is_empty() {
        wrong.push("spec.runtimeRef: Required value".to_owned());
    }
    if !is_label(name(object)) {
        wrong.push("metadata.name must match RFC 1035 DNS label format".to_owned());
    }
    if name(object).len() > LONGEST_NAME {
        wrong.push("metadata.name must be no more than 63 characters".to_owned());
    }
    if !MANAGERS.contains(&text(object, "/spec/managedBy")) {
        let rule = "ManagedBy must be trainer.kubeflow.org/trainjob-controller or \
                    kueue.x-k8s.io/multikueue if set";
        wrong.push(format!("spec.managedBy: Invalid value: {rule}"));
    }
    if let Some(limit) = number(object, "/spec/activeDeadlineSeconds").filter(|it| *it < 1) {
        let rule = "should be greater than or equal to 1";
        wrong.push(format!(
            "spec.activeDeadlineSeconds: Invalid value: {limit}: \
             spec.activeDeadlineSeconds in body {rule}"
        ));
    }
    let patches = items(object, "/spec/runtimePatches");
    if patches.len() > MOST_PATCHES {
        wrong.push("spec.runtimePatches: Too many: must have at most 16 items".to_owned());
    }
    for (at, patch) in patches.iter().enumerate() {
        if text(patch, "/manager").is_empty() {
            wrong.push(format!("spec.runtimePatches[{at}].manager: Required value"));
        }
        if patches.iter().take(at).any(|it| it["manager"] == patch["manager"]) {
            let key = text(patch, "/manager");
            wrong.push(format!(
                "spec.runtimePatches[{at}]: Duplicate value: {{\"manager\":\"{key}\"}}"
            ));
        }
    }
    wrong
}

/// A letter, then letters, digits and hyphens; in the end no hyphen.
fn is_label(name: &str) -> bool {
    let inner = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-';
    name.starts_with(|it: char| it.is_ascii_lowercase())
        && name.chars().all(inner)
        && !name.ends_with('-')
}

/// What changed in pods that were patched before, by manager and replicated job.
fn changed_in_patches(old: &Value, new: &Value) -> Vec<String> {
    const POD: &str = "/template/spec/template/spec";
    const JOBS: &str = "/trainingRuntimeSpec/template/spec/replicatedJobs";
    let mut wrong = Vec::new();
    let all = items(new, "/spec/runtimePatches").iter().enumerate();
    for (at, patch) in all {
        let same = items(old, "/spec/runtimePatches").iter();
        let Some(before) = same.into_iter().find(|it| it["manager"] == patch["manager"]) else {
            continue;
        };
        for (index, job) in items(patch, JOBS).iter().enumerate() {
            let same = items(before, JOBS).iter().find(|it| it["name"] == job["name"]);
            for field in IMMUTABLE_IN_PODS {
                if same.is_some_and(|it| differ(it, job, &format!("{POD}/{field}"))) {
                    let path = format!(
                        "spec.runtimePatches[{at}].trainingRuntimeSpec.template.spec.\
                         replicatedJobs[{index}].template.spec.template.spec.{field}"
                    );
                    wrong.push(format!("{path}: Invalid value: field is immutable"));
                }
            }
        }
    }
    wrong
}

/// The defaults of training runtimes.
pub(super) struct RuntimeRules;

impl Webhook for RuntimeRules {
    fn name(&self) -> &'static str {
        "trainingruntimes.trainer.kubeflow.org"
    }

    fn component(&self) -> Option<Component> {
        None
    }

    fn looks_at(&self, review: &Review<'_>) -> bool {
        review.writes(&[TRAINING_RUNTIME, CLUSTER_TRAINING_RUNTIME])
    }

    fn mutate(
        &self,
        _review: &Review<'_>,
        object: &mut Value,
        _stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        crate::jobset::default_replicated_jobs(object, "/spec/template/spec/replicatedJobs");
        Ok(())
    }
}

#[cfg(test)]
mod tests;
