//! The runtime of a job: what of it Start needs, and what Start refuses (SG-09).

use std::collections::BTreeSet;

use dispatch_contract::resources::{RuntimeReference, TrainingRuntimeSpec};
use dispatch_contract::{CallError, ErrorKind, RuntimeRef};
use dispatch_kubernetes::request::{Outcome, RequestError};
use dispatch_kubernetes::runtime;
use serde_json::Value;

use crate::Adapter;
use crate::error::{fail, invalid, of_request};

/// What Start knows of a runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runtime {
    /// Its kind.
    pub(crate) kind: String,
    /// Its name.
    pub(crate) name: String,
    /// The digest of its spec.
    pub(crate) digest: String,
    /// The names of its replicated jobs.
    pub(crate) jobs: BTreeSet<String>,
    /// What the caller should know of it.
    pub(crate) warnings: Vec<String>,
}

/// Reads the runtime, and refuses one that dispatch cannot work with.
pub(crate) async fn resolve(
    adapter: &Adapter,
    reference: &RuntimeRef,
) -> Result<Runtime, CallError> {
    let resolved = RuntimeReference {
        api_group: None,
        kind: reference.kind.clone(),
        name: reference.name.clone(),
    };
    let found =
        runtime::read(adapter.client(), adapter.limits(), adapter.namespace(), &resolved).await;
    let kind = reference.kind.as_deref().unwrap_or("ClusterTrainingRuntime");
    match found.map_err(of_request)? {
        Some(spec) => judge(kind, &reference.name, &spec),
        None => Err(invalid("runtimeRef.name", format!("there is no {kind} {}", reference.name))),
    }
}

/// Whether a `TrainJob` was refused because a webhook has not seen the runtime. It is asked only of
/// runtimes that are there: then a webhook's cache is behind, and the next try may succeed.
///
/// Trainer says that the runtime "must be created before the TrainJob is created", Kueue that
/// "runtime 'r' not found", each from a cache of its own.
pub(crate) fn is_unseen(error: &RequestError, name: &str) -> bool {
    error.outcome == Outcome::Denied
        && (error.message.contains("must be created before the TrainJob")
            || error.message.contains(&format!("runtime '{name}' not found")))
}

/// What Start makes of a runtime's spec (SG-09).
pub(crate) fn judge(kind: &str, name: &str, spec: &Value) -> Result<Runtime, CallError> {
    let unusable = |why: String| {
        let message = format!("runtimeRef.name: {kind} {name} {why}");
        Err(fail(ErrorKind::Refused, message, &["SG-09"]))
    };
    let typed: TrainingRuntimeSpec = match serde_json::from_value(spec.clone()) {
        Ok(typed) => typed,
        Err(error) => return unusable(format!("cannot be read: {error}")),
    };
    let jobset = typed.template.spec;
    if jobset.ttl_seconds_after_finished.is_some() {
        return unusable(
            "sets ttlSecondsAfterFinished: a failed job would run again once its JobSet is \
             deleted; take the field out"
                .to_owned(),
        );
    }
    if jobset.replicated_jobs.is_empty() {
        return unusable("has no replicated jobs".to_owned());
    }
    let replaces_at_once = jobset.replicated_jobs.iter().filter(|job| {
        let policy = job.template.spec.as_ref().and_then(|s| s.pod_replacement_policy.as_deref());
        policy != Some("Failed")
    });
    let warnings = replaces_at_once
        .map(|job| {
            format!(
                "the job {} of {kind} {name} lacks podReplacementPolicy: Failed, so within one \
                 execution two pods of one rank may live at once",
                job.name
            )
        })
        .collect();
    Ok(Runtime {
        kind: kind.to_owned(),
        name: name.to_owned(),
        digest: runtime::digest(spec),
        jobs: jobset.replicated_jobs.iter().map(|job| job.name.clone()).collect(),
        warnings,
    })
}

#[cfg(test)]
mod tests {
    use dispatch_kubernetes::request::Request;
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::of_trainer(
        "admission webhook \"validator.trainjob.trainer.kubeflow.org\" denied the request: \
         spec.RuntimeRef: Invalid value: TrainingRuntime.trainer.kubeflow.org \"torch\" not found: \
         specified trainingRuntime must be created before the TrainJob is created",
        true
    )]
    #[case::of_kueue(
        "admission webhook \"vtrainjob.kb.io\" denied the request: runtime 'torch' not found",
        true
    )]
    #[case::another_runtime(
        "admission webhook \"vtrainjob.kb.io\" denied the request: runtime 'jax' not found",
        false
    )]
    #[case::another_reason("admission webhook \"vtrainjob.kb.io\" denied the request: no", false)]
    fn a_webhook_that_is_behind_is_told_from_one_that_refuses(
        #[case] message: &str,
        #[case] unseen: bool,
    ) {
        let request = Request::new("create", "trainjobs.trainer.kubeflow.org", "n/t");
        let message = message.to_owned();
        let error = RequestError { request, outcome: Outcome::Denied, message };
        assert_eq!(is_unseen(&error, "torch"), unseen);
    }

    fn spec(jobs: &Value) -> Value {
        json!({"template": {"spec": {"replicatedJobs": jobs}}})
    }

    #[test]
    fn a_runtime_that_deletes_finished_jobsets_is_refused() {
        let spec = json!({"template": {"spec": {"ttlSecondsAfterFinished": 0,
            "replicatedJobs": [{"name": "node"}]}}});
        let error = judge("ClusterTrainingRuntime", "torch", &spec).unwrap_err();
        assert_eq!((error.kind, error.rules[0].as_str()), (ErrorKind::Refused, "SG-09"));
        assert!(error.message.contains("ttlSecondsAfterFinished"), "{error}");
    }

    #[test]
    fn a_runtime_without_replicated_jobs_is_refused() {
        assert!(judge("TrainingRuntime", "empty", &spec(&json!([]))).is_err());
        assert!(judge("TrainingRuntime", "odd", &spec(&json!("node"))).is_err());
    }

    #[test]
    fn every_job_that_replaces_pods_at_once_is_warned_of() {
        let jobs = json!([
            {"name": "careful", "template": {"spec": {"podReplacementPolicy": "Failed"}}},
            {"name": "hasty", "template": {"spec": {"podReplacementPolicy": "TerminatingOrFailed"}}},
            {"name": "node"},
        ]);
        let runtime = judge("ClusterTrainingRuntime", "torch", &spec(&jobs)).unwrap();
        assert_eq!(runtime.warnings.len(), 2, "{:?}", runtime.warnings);
        assert!(runtime.warnings[0].starts_with("the job hasty of ClusterTrainingRuntime torch"));
        assert_eq!(runtime.jobs.len(), 3);
    }
}
