//! What Start is given: checked before anything is created (CA-06).

use dispatch_contract::{CallError, ErrorKind, ObjectName, RuntimeRef, StartRequest, names};
use dispatch_kubernetes::runtime::digest;
use serde_json::{Value, json};

use crate::error::{fail, invalid};
use crate::{Config, Mode};

/// A request that Start takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// The request.
    pub(crate) request: StartRequest,
    /// The `LocalQueue`, the request's or the configured one.
    pub(crate) queue: String,
    /// The digest of all of it (SG-07).
    pub(crate) digest: String,
}

/// Checks the input of Start; an error names the field (CA-06).
pub fn check(request: &StartRequest, config: &Config) -> Result<(), CallError> {
    if config.mode == Mode::Plain {
        return Err(fail(ErrorKind::NotSupported, "mode: plain is not supported", &["CA-06"]));
    }
    request.name.parse::<ObjectName>().map_err(|error| invalid("name", error))?;
    check_runtime_ref(&request.runtime_ref)?;
    for (field, map) in [("labels", &request.labels), ("annotations", &request.annotations)] {
        for key in map.keys() {
            let reserved = names::RESERVED_PREFIXES.iter().find(|prefix| key.starts_with(*prefix));
            if let Some(prefix) = reserved {
                let why = format!("keys under {prefix} are not the caller's to set");
                return Err(invalid(&format!("{field}[{key}]"), why));
            }
        }
    }
    check_trainer(request.trainer.as_ref())?;
    if request.initializer.as_ref().is_some_and(|value| !value.is_object()) {
        return Err(invalid(
            "initializer",
            "is to be an object, as spec.initializer of a TrainJob",
        ));
    }
    if request.active_deadline_seconds.is_some_and(|seconds| seconds < 1) {
        return Err(invalid("activeDeadlineSeconds", "is to be at least 1"));
    }
    if queue(request, config).is_empty() {
        return Err(invalid("queue", "is missing here and in the configuration"));
    }
    Ok(())
}

/// The input that was checked, with what follows from it.
pub(crate) fn input(request: &StartRequest, config: &Config) -> Input {
    let queue = queue(request, config);
    let mut effective = request.clone();
    effective.queue = Some(queue.clone());
    let digest = digest(&json!(effective));
    Input { request: request.clone(), queue, digest }
}

fn queue(request: &StartRequest, config: &Config) -> String {
    request.queue.clone().or_else(|| config.queue.clone()).unwrap_or_default()
}

fn check_runtime_ref(runtime: &RuntimeRef) -> Result<(), CallError> {
    if runtime.name.is_empty() {
        return Err(invalid("runtimeRef.name", "is empty"));
    }
    match runtime.kind.as_deref() {
        None | Some("ClusterTrainingRuntime" | "TrainingRuntime") => Ok(()),
        Some(other) => Err(invalid(
            "runtimeRef.kind",
            format!("`{other}` is no runtime; expected ClusterTrainingRuntime or TrainingRuntime"),
        )),
    }
}

/// The variables of dispatch are added to `trainer.env`, so it has to be a list that lacks them.
fn check_trainer(trainer: Option<&Value>) -> Result<(), CallError> {
    let Some(trainer) = trainer else { return Ok(()) };
    let Some(fields) = trainer.as_object() else {
        return Err(invalid("trainer", "is to be an object, as spec.trainer of a TrainJob"));
    };
    let Some(env) = fields.get("env").filter(|env| !env.is_null()) else { return Ok(()) };
    let Some(env) = env.as_array() else {
        return Err(invalid("trainer.env", "is to be a list"));
    };
    for (index, variable) in env.iter().enumerate() {
        let name = variable.get("name").and_then(Value::as_str).unwrap_or_default();
        if [names::ENV_ADMISSION, names::ENV_RESTART].contains(&name) {
            let why = format!("{name} is dispatch's own variable");
            return Err(invalid(&format!("trainer.env[{index}].name"), why));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const NAME: &str = "dj-01arz3ndektsv4rrffq69g5fav-s1";

    fn request(changes: &Value) -> StartRequest {
        let mut request = json!({"name": NAME, "runtimeRef": {"name": "torch"}});
        for (key, value) in changes.as_object().unwrap() {
            request[key] = value.clone();
        }
        serde_json::from_value(request).unwrap()
    }

    fn config() -> Config {
        Config::kueue("n", "queue", "dispatch")
    }

    #[rstest]
    #[case::name(json!({"name": "train"}), "name: ")]
    #[case::upper_case_name(json!({"name": NAME.to_uppercase()}), "name: ")]
    #[case::runtime_name(json!({"runtimeRef": {"name": ""}}), "runtimeRef.name: ")]
    #[case::runtime_kind(
        json!({"runtimeRef": {"name": "x", "kind": "Deployment"}}), "runtimeRef.kind: ")]
    #[case::label_of_dispatch(
        json!({"labels": {names::MANAGED: "false"}}),
        "labels[dispatch.phpboyscout.uk/managed]: ")]
    #[case::prebuilt_workload(
        json!({"labels": {names::PREBUILT_WORKLOAD: "w"}}),
        "labels[kueue.x-k8s.io/prebuilt-workload-name]: ")]
    #[case::elastic_job(
        json!({"annotations": {names::ELASTIC_JOB: "true"}}),
        "annotations[kueue.x-k8s.io/elastic-job]: ")]
    #[case::gate(
        json!({"annotations": {names::ADMISSION_GATED_BY: "a.io/x"}}),
        "annotations[kueue.x-k8s.io/admission-gated-by]: ")]
    #[case::jobset(
        json!({"labels": {names::JOBSET_NAME: "x"}}),
        "labels[jobset.sigs.k8s.io/jobset-name]: ")]
    #[case::trainer(json!({"trainer": 1}), "trainer: ")]
    #[case::env(json!({"trainer": {"env": {"A": "1"}}}), "trainer.env: ")]
    #[case::own_variable(
        json!({"trainer": {"env": [{"name": "A"}, {"name": names::ENV_ADMISSION}]}}),
        "trainer.env[1].name: ")]
    #[case::initializer(json!({"initializer": []}), "initializer: ")]
    #[case::deadline(json!({"activeDeadlineSeconds": 0}), "activeDeadlineSeconds: ")]
    fn wrong_input_is_refused_with_the_name_of_the_field(
        #[case] changes: Value,
        #[case] starts_with: &str,
    ) {
        let error = check(&request(&changes), &config()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Invalid);
        assert!(error.message.starts_with(starts_with), "{error}");
    }

    #[test]
    fn without_any_queue_the_input_is_refused() {
        let config = Config { queue: None, ..config() };
        let error = check(&request(&json!({})), &config).unwrap_err();
        assert!(error.message.starts_with("queue: "), "{error}");
        assert!(check(&request(&json!({"queue": "q"})), &config).is_ok());
    }

    #[test]
    fn plain_mode_is_not_supported() {
        let config = Config { mode: Mode::Plain, ..config() };
        let error = check(&request(&json!({})), &config).unwrap_err();
        assert_eq!(error.kind, ErrorKind::NotSupported);
    }

    #[rstest]
    #[case::same(json!({}), true)]
    #[case::the_configured_queue_by_name(json!({"queue": "queue"}), true)]
    #[case::other_queue(json!({"queue": "other"}), false)]
    #[case::other_trainer(json!({"trainer": {"numNodes": 2}}), false)]
    #[case::other_label(json!({"labels": {"a": "b"}}), false)]
    fn the_digest_is_of_what_the_input_means(#[case] changes: Value, #[case] same: bool) {
        let digest = |changes: &Value| input(&request(changes), &config()).digest;
        assert_eq!(digest(&json!({})) == digest(&changes), same);
    }
}
