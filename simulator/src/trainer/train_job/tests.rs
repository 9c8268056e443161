use rstest::rstest;
use serde_json::json;

use super::*;
use crate::object::seconds;
use crate::testing::{at, body, verbs, view};

fn runtime() -> Value {
    json!({
        "metadata": {"name": "r", "namespace": "n"},
        "spec": {"template": {"spec": {"replicatedJobs": [
            {"name": "node", "template": {"spec": {"template": {"spec": {}}}}},
        ]}}},
    })
}

fn train_job(suspend: bool) -> Value {
    json!({
        "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
        "metadata": {"name": "a", "namespace": "n", "uid": "u"},
        "spec": {"suspend": suspend, "runtimeRef": {
            "apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": "r",
        }},
    })
}

fn made(suspend: bool, ended: Option<&str>) -> Value {
    let mut made = json!({
        "metadata": {"name": "a", "namespace": "n"}, "spec": {"suspend": suspend},
        "status": {"replicatedJobsStatus": [{"name": "node", "active": 1}]},
    });
    if let Some(ended) = ended {
        made["status"]["conditions"] = json!([{
            "type": ended, "status": "True", "reason": "R", "message": "m",
            "lastTransitionTime": "t",
        }]);
    }
    made
}

fn plan(train_job: Value, made: Option<Value>) -> Plan {
    let key = Key::of(&train_job);
    let mut objects = vec![(TRAIN_JOB, train_job), (TRAINING_RUNTIME, runtime())];
    objects.extend(made.map(|it| (JOB_SET, it)));
    TrainJobs::default().reconcile(&view(&objects), &key, at(0))
}

#[rstest]
#[case::where_there_is_none(false, None, true)]
#[case::where_both_run(false, Some(false), false)]
#[case::to_suspend(true, Some(false), true)]
#[case::to_resume(false, Some(true), true)]
#[case::while_both_are_suspended(true, Some(true), true)]
fn the_job_set_is_applied_unless_both_run(
    #[case] suspend: bool,
    #[case] job_set: Option<bool>,
    #[case] applied: bool,
) {
    let plan = plan(train_job(suspend), job_set.map(|it| made(it, None)));
    let mut expected = vec!["patch trainjobs/status"];
    if applied {
        expected.insert(0, "apply jobsets");
        assert_eq!(body(&plan, 0)["spec"]["suspend"], suspend);
    }
    assert_eq!(verbs(&plan), expected);
}

#[rstest]
#[case("Completed", "Complete")]
#[case("Failed", "Failed")]
fn the_end_of_the_job_set_is_its_own(#[case] of: &str, #[case] becomes: &str) {
    let plan = plan(train_job(false), Some(made(false, Some(of))));
    let status = &body(&plan, 0)["status"];
    assert_eq!(status["conditions"][0]["type"], becomes);
    assert_eq!(status["conditions"][0]["lastTransitionTime"], "t");
    assert_eq!(status["jobsStatus"][0]["active"], 1);
    assert_eq!(status["jobsStatus"][0]["ready"], 0);
}

#[rstest]
#[case::failed("Failed", "FailedJobs", true)]
#[case::at_the_deadline("Failed", DEADLINE_EXCEEDED, false)]
#[case::complete("Complete", "AllJobsCompleted", false)]
fn a_failed_one_without_its_job_set_runs_again(
    #[case] type_: &str,
    #[case] reason: &str,
    #[case] again: bool,
) {
    let mut job = train_job(false);
    job["status"]["conditions"] = json!([{"type": type_, "status": "True", "reason": reason}]);
    let plan = plan(job, None);
    assert_eq!(verbs(&plan).contains(&"apply jobsets".to_owned()), again);
    if again {
        assert_eq!(body(&plan, 1)["status"]["conditions"], Value::Null);
    }
}

#[test]
fn the_deadline_counts_from_the_last_resume() {
    let mut job = train_job(false);
    job["spec"]["activeDeadlineSeconds"] = 10.into();
    let resumed = |second| {
        json!([{
            "type": "Suspended", "status": "False", "reason": "Resumed", "message": "",
            "lastTransitionTime": seconds(at(second)),
        }])
    };
    job["status"] = json!({"conditions": resumed(-4), "jobsStatus": []});
    let plan = plan_of_status(&job);
    assert_eq!(plan.again, Some(std::time::Duration::from_secs(6)));
    job["status"]["conditions"] = resumed(-11);
    let plan = plan_of_status(&job);
    assert_eq!(verbs(&plan), ["delete jobsets", "patch trainjobs/status"]);
    assert_eq!(body(&plan, 1)["status"]["conditions"][1]["reason"], DEADLINE_EXCEEDED);
}

fn plan_of_status(job: &Value) -> Plan {
    plan(job.clone(), Some(made(false, None)))
}

#[test]
fn a_refused_job_set_is_told_and_tried_again() {
    let job = train_job(true);
    let key = Key::of(&job);
    let view = view(&[(TRAIN_JOB, job), (TRAINING_RUNTIME, runtime())]);
    let mut controller = TrainJobs::default();
    let plan = controller.reconcile(&view, &key, at(0));
    let refused = Err(Failure::new(422, "Invalid", "immutable"));
    let answer = controller.answered(&key, &plan.requests[0].request, &refused);
    assert_eq!(answer, Next::GoOn, "the status is written all the same");
    let answer = controller.answered(&key, &plan.requests[1].request, &Ok(&Value::Null));
    assert_eq!(answer, Next::TryAgain);
    let plan = controller.reconcile(&view, &key, at(1));
    assert_eq!(verbs(&plan), ["create events", "apply jobsets", "patch trainjobs/status"]);
    assert_eq!(body(&plan, 0)["reason"], "TrainJobResourcesCreationFailed");
}
