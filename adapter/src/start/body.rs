//! The object that Start creates (SG-01).

use dispatch_contract::names;
use serde_json::{Map, Value, json};

use super::canonical::canonical;
use super::{Input, Runtime};

/// Which label tells people what the object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Labels {
    /// An object of dispatch.
    Object,
    /// A probe of preflight.
    Probe,
}

/// The object that Start creates, in the create request itself: gated, suspended, and with A at 0
/// (SG-01).
pub fn object(namespace: &str, input: &Input, runtime: &Runtime) -> Value {
    body(namespace, input, runtime, Labels::Object)
}

/// The `TrainJob` as it is created: gated and suspended in the create request itself, with A at 0 in
/// its annotation and in the pods of every replicated job.
pub(crate) fn body(namespace: &str, input: &Input, runtime: &Runtime, labels: Labels) -> Value {
    let request = &input.request;
    let mut all = request.labels.clone();
    let own = match labels {
        Labels::Object => names::MANAGED,
        Labels::Probe => names::PROBE,
    };
    all.insert(own.to_owned(), names::TRUE.to_owned());
    all.insert(names::QUEUE_NAME.to_owned(), input.queue.clone());
    if let Some(class) = &request.priority_class {
        all.insert(names::PRIORITY_CLASS.to_owned(), class.clone());
    }
    let mut annotations = request.annotations.clone();
    for (key, value) in [
        (names::ADMISSION_GATED_BY, names::GATE),
        (names::ADMISSION_COUNT, "0"),
        (names::SPEC_DIGEST, &input.digest),
        (names::RUNTIME_DIGEST, &runtime.digest),
    ] {
        annotations.insert(key.to_owned(), value.to_owned());
    }
    json!({
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {
            "name": request.name,
            "namespace": namespace,
            "labels": all,
            "annotations": annotations,
        },
        "spec": spec(input, runtime),
    })
}

fn spec(input: &Input, runtime: &Runtime) -> Value {
    let request = &input.request;
    let mut spec = json!({
        "suspend": true,
        "runtimeRef": {
            "apiGroup": names::TRAINER_GROUP,
            "kind": runtime.kind,
            "name": runtime.name,
        },
        "trainer": trainer(request.trainer.as_ref()),
        "runtimePatches": [runtime_patch(runtime)],
    });
    if let Some(initializer) = &request.initializer {
        spec["initializer"] = canonical(initializer);
    }
    if let Some(seconds) = request.active_deadline_seconds {
        spec["activeDeadlineSeconds"] = seconds.into();
    }
    spec
}

/// The caller's trainer with the two variables of dispatch. They refer to fields of the pod and
/// never change: a literal A in the environment could not be raised.
fn trainer(given: Option<&Value>) -> Value {
    let mut trainer: Map<String, Value> =
        given.map(canonical).as_ref().and_then(Value::as_object).cloned().unwrap_or_default();
    let mut env = trainer.get("env").and_then(Value::as_array).cloned().unwrap_or_default();
    for (name, path) in [
        (names::ENV_ADMISSION, format!("metadata.annotations['{}']", names::POD_ADMISSION)),
        (names::ENV_RESTART, format!("metadata.labels['{}']", names::RESTART_ATTEMPT)),
    ] {
        env.push(json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}));
    }
    trainer.insert("env".to_owned(), env.into());
    trainer.into()
}

fn runtime_patch(runtime: &Runtime) -> Value {
    let jobs: Vec<_> = runtime
        .jobs
        .iter()
        .map(|name| {
            json!({"name": name, "template": {"spec": {"template": {"metadata": {
                "annotations": {names::POD_ADMISSION: "0"}}}}}})
        })
        .collect();
    json!({
        "manager": names::RUNTIME_PATCH_MANAGER,
        "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}},
    })
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "literals of JSON read best in place")]
mod tests {
    use dispatch_contract::resources::TrainJob;
    use dispatch_contract::{AdmissionCount, StartRequest};

    use super::*;

    fn input(trainer: Value) -> Input {
        let request: StartRequest = serde_json::from_value(json!({
            "name": "dj-01arz3ndektsv4rrffq69g5fav-s1",
            "runtimeRef": {"name": "torch"},
            "priorityClass": "high",
            "labels": {"team": "a"},
            "trainer": trainer,
        }))
        .unwrap();
        Input { request, queue: "queue".to_owned(), digest: "sha256:in".to_owned() }
    }

    fn runtime() -> Runtime {
        Runtime {
            kind: "ClusterTrainingRuntime".to_owned(),
            name: "torch".to_owned(),
            digest: "sha256:rt".to_owned(),
            jobs: ["dataset-initializer".to_owned(), "node".to_owned()].into(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn an_object_is_created_gated_suspended_and_at_zero() {
        let written = body("n", &input(json!({})), &runtime(), Labels::Object);
        let trainjob: TrainJob = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(trainjob.annotation(names::ADMISSION_GATED_BY), Some(names::GATE));
        assert!(trainjob.is_suspended() && !trainjob.is_opened());
        assert_eq!(trainjob.admission_count(), Some(Ok(AdmissionCount::ZERO)));
        let expected = [("dataset-initializer", Some("0")), ("node", Some("0"))];
        assert_eq!(trainjob.patched_admissions(), expected.into());
        assert_eq!(trainjob.annotation(names::SPEC_DIGEST), Some("sha256:in"));
        assert_eq!(trainjob.annotation(names::RUNTIME_DIGEST), Some("sha256:rt"));
        assert_eq!(
            written["metadata"]["labels"],
            json!({"team": "a", names::MANAGED: "true", names::QUEUE_NAME: "queue",
                names::PRIORITY_CLASS: "high"})
        );
    }

    #[test]
    fn the_variables_of_dispatch_follow_the_callers_and_refer_to_the_pod() {
        let given = json!({"numNodes": 2, "env": [{"name": "A", "value": "1"}]});
        let written = body("n", &input(given), &runtime(), Labels::Object);
        let trainer = &written["spec"]["trainer"];
        assert_eq!(trainer["numNodes"], 2);
        let names: Vec<_> =
            trainer["env"].as_array().unwrap().iter().map(|e| e["name"].as_str()).collect();
        assert_eq!(names, [Some("A"), Some("DISPATCH_ADMISSION"), Some("DISPATCH_RESTART")]);
        assert_eq!(
            trainer["env"][1]["valueFrom"]["fieldRef"]["fieldPath"],
            "metadata.annotations['dispatch.phpboyscout.uk/admission']"
        );
    }

    #[test]
    fn a_probe_is_not_labelled_as_an_object() {
        let written = body("n", &input(json!({})), &runtime(), Labels::Probe);
        let labels = written["metadata"]["labels"].as_object().unwrap();
        assert!(labels.contains_key(names::PROBE) && !labels.contains_key(names::MANAGED));
    }
}
