//! The rules of Jobs (Kubernetes `pkg/apis/batch/v1/defaults.go`, `pkg/registry/batch/job/strategy.go`,
//! `pkg/apis/batch/validation`).

use serde_json::{Value, json};

use super::pod_spec;
use crate::api::{Denied, Failure, Lookup, Operation, Review, Webhook, invalid};
use crate::component::Component;
use crate::object::{default_to, is, name, number, text, uid};
use crate::resource::JOB;

/// Parts of Jobs that the Job controller here does not know.
const UNSUPPORTED: [&str; 4] =
    ["podFailurePolicy", "successPolicy", "backoffLimitPerIndex", "maxFailedIndexes"];

/// What may not change.
const IMMUTABLE: [&str; 4] = ["completions", "selector", "completionMode", "managedBy"];

/// What of the template may change while a Job is suspended and has not started.
const MUTABLE_BEFORE_THE_START: [&str; 5] = [
    "/metadata/annotations",
    "/metadata/labels",
    "/spec/nodeSelector",
    "/spec/tolerations",
    "/spec/schedulingGates",
];

/// Label: the UID of the Job of a pod.
const UID: &str = "batch.kubernetes.io/controller-uid";

/// The rules of Jobs.
pub(super) struct JobRules;

impl Webhook for JobRules {
    fn name(&self) -> &'static str {
        "jobs.batch"
    }

    fn component(&self) -> Option<Component> {
        None
    }

    fn looks_at(&self, review: &Review<'_>) -> bool {
        review.writes(&[JOB])
    }

    fn mutate(
        &self,
        review: &Review<'_>,
        job: &mut Value,
        _stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        if !job["spec"]["template"].is_object() {
            return Ok(());
        }
        // A Job that says neither runs one pod to its end.
        if job.pointer("/spec/parallelism").is_none() && job.pointer("/spec/completions").is_none()
        {
            job["spec"]["completions"] = 1.into();
        }
        for (field, value) in [
            ("parallelism", json!(1)),
            ("backoffLimit", json!(6)),
            ("completionMode", json!("NonIndexed")),
            ("suspend", json!(false)),
            ("manualSelector", json!(false)),
            ("podReplacementPolicy", json!("TerminatingOrFailed")),
        ] {
            default_to(job, &["spec", field], value);
        }
        pod_spec::complete(&mut job["spec"]["template"]["spec"]);
        if review.operation == Operation::Create {
            if !is(job, "/spec/manualSelector") {
                select_own_pods(job);
            }
            job["status"] = json!({});
        }
        Ok(())
    }

    fn validate(
        &self,
        review: &Review<'_>,
        job: &Value,
        _stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        let unsupported = UNSUPPORTED.iter().find(|it| !job["spec"][**it].is_null());
        if let Some(field) = unsupported {
            return Err(Denied::Failure(Failure::unsupported(&format!("{field} of Jobs"))));
        }
        let pod = &job["spec"]["template"]["spec"];
        pod_spec::refuse_unsupported(pod)?;
        let mut wrong = pod_spec::wrong_in(pod, "spec.template.spec");
        if text(pod, "/restartPolicy") == "Always" {
            let supported = "supported values: \"OnFailure\", \"Never\"";
            wrong.push(format!(
                "spec.template.spec.restartPolicy: Unsupported value: \"Always\": {supported}"
            ));
        }
        let indexed = text(job, "/spec/completionMode") == "Indexed";
        if indexed && number(job, "/spec/completions").is_none() {
            let why = "when completion mode is Indexed";
            wrong.push(format!("spec.completions: Required value: {why}"));
        }
        if let Some(old) = review.old {
            wrong.extend(changed(old, job));
        }
        invalid(wrong)
    }
}

/// `generateSelector`.
fn select_own_pods(job: &mut Value) {
    let (named, own) = (name(job).to_owned(), uid(job).to_owned());
    for key in ["job-name", "batch.kubernetes.io/job-name"] {
        default_to(job, &["spec", "template", "metadata", "labels", key], named.clone());
    }
    for key in ["controller-uid", UID] {
        default_to(job, &["spec", "template", "metadata", "labels", key], own.clone());
    }
    default_to(job, &["spec", "selector", "matchLabels", UID], own);
}

fn changed(old: &Value, job: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    for field in IMMUTABLE {
        let (before, now) = (&old["spec"][field], &job["spec"][field]);
        // The completions of an indexed Job change with its parallelism.
        let grows = field == "completions"
            && text(job, "/spec/completionMode") == "Indexed"
            && job["spec"]["completions"] == job["spec"]["parallelism"];
        if before != now && !grows {
            wrong.push(format!("spec.{field}: Invalid value: {now}: field is immutable"));
        }
    }
    let mut before = old["spec"]["template"].clone();
    let now = &job["spec"]["template"];
    let started = old.pointer("/status/startTime").is_some_and(|it| !it.is_null());
    if is(old, "/spec/suspend") && !started {
        for pointer in MUTABLE_BEFORE_THE_START {
            take_over(&mut before, now, pointer);
        }
    }
    if before != *now {
        wrong.push(format!("spec.template: Invalid value: {now}: field is immutable"));
    }
    wrong
}

/// Makes a part of one what it is in the other.
fn take_over(object: &mut Value, from: &Value, pointer: &str) {
    let path: Vec<&str> = pointer.split('/').skip(1).collect();
    let Some((field, above)) = path.split_last() else { return };
    if let Some(wanted) = from.pointer(pointer) {
        default_to(object, &path, wanted.clone());
        if let Some(at) = object.pointer_mut(pointer) {
            at.clone_from(wanted);
        }
        return;
    }
    let above = format!("/{}", above.join("/"));
    let above = object.pointer_mut(&above).and_then(Value::as_object_mut);
    above.map(|it| it.remove(*field));
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::testing::{Stored, review};

    fn made(suspend: bool, started: bool) -> Value {
        let mut job = json!({
            "metadata": {"name": "a", "namespace": "n", "uid": "u"},
            "spec": {"suspend": suspend, "template": {"spec": {
                "containers": [{"name": "node", "image": "i:1"}], "restartPolicy": "Never",
            }}},
        });
        let review = review(JOB, Operation::Create, None);
        JobRules.mutate(&review, &mut job, &Stored::default()).unwrap();
        if started {
            job["status"]["startTime"] = "t".into();
        }
        job
    }

    #[test]
    fn a_job_gets_what_it_leaves_open() {
        let job = made(false, false);
        assert_eq!(job["spec"]["completions"], 1);
        assert_eq!(job["spec"]["parallelism"], 1);
        assert_eq!(job["spec"]["backoffLimit"], 6);
        assert_eq!(job["spec"]["podReplacementPolicy"], "TerminatingOrFailed");
        let own = json!({"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}});
        assert_eq!(job["spec"]["selector"], own);
        let labels = &job["spec"]["template"]["metadata"]["labels"];
        assert_eq!(labels["job-name"], "a");
        assert_eq!(labels["batch.kubernetes.io/controller-uid"], "u");
    }

    #[rstest]
    #[case::annotation_before_the_start(true, false, "/metadata/annotations", true)]
    #[case::annotation_after_the_start(true, true, "/metadata/annotations", false)]
    #[case::annotation_while_it_runs(false, false, "/metadata/annotations", false)]
    #[case::image_before_the_start(true, false, "/spec/image", false)]
    fn a_template_changes_only_before_the_start(
        #[case] suspended: bool,
        #[case] started: bool,
        #[case] pointer: &str,
        #[case] allowed: bool,
    ) {
        let old = made(suspended, started);
        let mut new = old.clone();
        let path: Vec<&str> =
            ["spec", "template"].into_iter().chain(pointer.split('/').skip(1)).collect();
        default_to(&mut new, &path, json!({"a": "1"}));
        let review = review(JOB, Operation::Update, Some(&old));
        let answer = JobRules.validate(&review, &new, &Stored::default());
        assert_eq!(answer.is_ok(), allowed, "{answer:?}");
    }
}
