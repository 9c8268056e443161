use rstest::rstest;
use serde_json::json;

use super::*;
use crate::testing::{Stored, at, review};

fn patch(admission: &str) -> Value {
    json!({"manager": "x.y/z", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [
        {"name": "node", "template": {"spec": {"template": {"metadata": {
            "annotations": {"admission": admission}}}}}},
    ]}}}})
}

fn train_job(admission: &str, suspend: bool) -> Value {
    json!({
        "metadata": {"name": "a", "namespace": "n"},
        "spec": {
            "suspend": suspend, "runtimePatches": [patch(admission)],
            "trainer": {"resourcesPerNode": {"requests": {"cpu": "1000m"}}},
            "runtimeRef": {
                "apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": "r",
            },
        },
    })
}

fn stored(active: i64) -> Stored {
    let runtime = json!({
        "metadata": {"name": "r", "namespace": "n"},
        "spec": {"template": {"spec": {"replicatedJobs": [
            {"name": "node", "template": {"spec": {"template": {"spec": {
                "containers": [{"name": "node"}]}}}}},
        ]}}},
    });
    let made = json!({
        "metadata": {"name": "a", "namespace": "n"},
        "status": {"replicatedJobsStatus": [{"name": "node", "active": active}]},
    });
    Stored(vec![(TRAINING_RUNTIME, runtime), (JOB_SET, made)])
}

#[rstest]
#[case::while_suspended("2", true, 0, None)]
#[case::while_it_runs("2", false, 0, Some("can only be modified when the TrainJob is suspended"))]
#[case::unchanged_while_it_runs("1", false, 1, None)]
#[case::with_active_jobs("2", true, 1, Some("ReplicatedJob node is still active"))]
fn patches_change_only_while_nothing_runs(
    #[case] admission: &str,
    #[case] suspend: bool,
    #[case] active: i64,
    #[case] refused: Option<&str>,
) {
    let old = train_job("1", false);
    let review = review(TRAIN_JOB, Operation::Update, Some(&old));
    let answer =
        TrainJobValidator.validate(&review, &train_job(admission, suspend), &stored(active));
    match (answer, refused) {
        (Ok(()), None) => {}
        (Err(Denied::Webhook(why)), Some(part)) => assert!(why.contains(part), "{why}"),
        (answer, _) => panic!("{answer:?}"),
    }
}

#[test]
fn the_time_of_a_patch_is_that_of_its_last_change() {
    let mutated = |old: Option<&Value>, mut new: Value, second: i64| {
        let mut review = review(TRAIN_JOB, Operation::Update, old);
        review.now = at(second);
        TrainJobDefaulter.mutate(&review, &mut new, &Stored::default()).unwrap();
        new
    };
    let made = mutated(None, train_job("1", true), 0);
    assert_eq!(made["spec"]["runtimePatches"][0]["time"], seconds(at(0)));
    assert_eq!(made["spec"]["trainer"]["resourcesPerNode"]["requests"]["cpu"], "1");
    let same = mutated(Some(&made), train_job("1", true), 1);
    assert_eq!(same["spec"]["runtimePatches"], made["spec"]["runtimePatches"]);
    let changed = mutated(Some(&made), train_job("2", true), 2);
    assert_eq!(changed["spec"]["runtimePatches"][0]["time"], seconds(at(2)));
}

#[test]
fn a_runtime_has_to_be_there() {
    let review = review(TRAIN_JOB, Operation::Create, None);
    let answer = TrainJobValidator.validate(&review, &train_job("1", true), &Stored::default());
    assert!(matches!(answer, Err(Denied::Webhook(why)) if why.contains("must be created before")));
}
