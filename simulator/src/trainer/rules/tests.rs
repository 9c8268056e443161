use rstest::rstest;
use serde_json::json;

use super::*;
use crate::api::Operation;
use crate::testing::{Stored, review};

fn train_job() -> Value {
    let mut job = json!({
        "metadata": {"name": "a", "namespace": "n"},
        "spec": {"runtimeRef": {"name": "r"}, "trainer": {"numNodes": 1}},
    });
    let review = review(TRAIN_JOB, Operation::Create, None);
    TrainJobRules.mutate(&review, &mut job, &Stored::default()).unwrap();
    job
}

fn refused(old: Option<&Value>, new: &Value) -> Option<String> {
    let operation = if old.is_some() { Operation::Update } else { Operation::Create };
    match TrainJobRules.validate(&review(TRAIN_JOB, operation, old), new, &Stored::default()) {
        Ok(()) => None,
        Err(Denied::Invalid(why)) => Some(why),
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn a_train_job_gets_its_defaults() {
    let job = train_job();
    assert_eq!(job["spec"]["suspend"], false);
    assert_eq!(job["spec"]["managedBy"], MANAGERS[0]);
    assert_eq!(job["spec"]["runtimeRef"]["kind"], "ClusterTrainingRuntime");
    assert_eq!(refused(None, &job), None);
}

#[rstest]
#[case::trainer("/spec/trainer", json!({"numNodes": 2}), "spec.trainer: Invalid value: field is immutable")]
#[case::runtime(
    "/spec/runtimeRef/name", json!("s"), "spec.runtimeRef: Invalid value: field is immutable"
)]
fn what_may_not_change_is_refused(#[case] pointer: &str, #[case] value: Value, #[case] why: &str) {
    let old = train_job();
    let mut new = old.clone();
    *new.pointer_mut(pointer).unwrap() = value;
    assert_eq!(refused(Some(&old), &new).as_deref(), Some(why));
}

#[test]
fn a_train_job_needs_its_runtime() {
    let old = train_job();
    let mut new = old.clone();
    new["spec"].as_object_mut().unwrap().remove("runtimeRef");
    assert!(refused(Some(&old), &new).unwrap().contains("spec.runtimeRef: Required value"));
}

#[rstest]
#[case("a-1", true)]
#[case("1a", false)]
#[case("a-", false)]
#[case("A", false)]
fn a_name_is_a_label(#[case] name: &str, #[case] allowed: bool) {
    let mut job = train_job();
    job["metadata"]["name"] = name.into();
    assert_eq!(refused(None, &job).is_none(), allowed);
}

#[test]
fn containers_of_a_patch_may_not_change_once_they_are_set() {
    let patched = |image: &str| {
        let mut job = train_job();
        job["spec"]["runtimePatches"] = json!([{"manager": "x.y/z", "trainingRuntimeSpec":
            {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec":
                {"template": {"spec": {"containers": [{"name": "node", "image": image}]}}}}}]}}}}]);
        job
    };
    assert_eq!(refused(Some(&train_job()), &patched("a")), None);
    assert!(refused(Some(&patched("a")), &patched("b")).unwrap().ends_with("field is immutable"));
}

#[rstest]
#[case("/spec/trainer", json!("x"))]
#[case("/spec/suspend", json!("true"))]
#[case("/spec/runtimePatches", json!(["x"]))]
fn what_is_of_another_type_is_refused(#[case] pointer: &str, #[case] value: Value) {
    let mut job = train_job();
    job["spec"]["runtimePatches"] = json!([]);
    *job.pointer_mut(pointer).unwrap() = value;
    let review = review(TRAIN_JOB, Operation::Create, None);
    let answer = TrainJobRules.mutate(&review, &mut job, &Stored::default());
    assert!(matches!(answer, Err(Denied::Invalid(why)) if why.contains("must be of type")));
}
