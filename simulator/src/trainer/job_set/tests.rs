use serde_json::json;

use super::*;

fn runtime() -> Value {
    json!({
        "metadata": {"name": "runtime", "namespace": "n"},
        "spec": {
            "mlPolicy": {"numNodes": 1},
            "template": {"spec": {"replicatedJobs": [{
                "groupName": "default", "name": "node", "replicas": 1,
                "template": {
                    "metadata": {"labels": {ANCESTOR: "trainer"}},
                    "spec": {"backoffLimit": 0, "template": {"spec": {
                        "containers": [{"image": "i", "name": "node"}], "restartPolicy": "Never",
                    }}},
                },
            }]}},
        },
    })
}

fn patch(manager: &str, admission: &str) -> Value {
    json!({"manager": manager, "trainingRuntimeSpec": {"template": {
        "metadata": {"labels": {"queue": manager}},
        "spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": {
            "metadata": {"annotations": {"admission": admission}},
        }}}}]},
    }}})
}

fn train_job() -> Value {
    json!({
        "metadata": {"name": "a", "namespace": "n", "uid": "u"},
        "spec": {
            "suspend": true,
            "runtimeRef": {
                "apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": "runtime",
            },
            "runtimePatches": [patch("one.x/y", "1"), patch("two.x/y", "2")],
            "trainer": {
                "numNodes": 2, "image": "j",
                "env": [{"name": "E", "value": ""}],
                "resourcesPerNode": {"requests": {"cpu": "2000m"}},
            },
        },
    })
}

#[test]
fn a_job_set_is_the_runtime_with_what_the_train_job_and_its_patches_say() {
    let made = job_set(&train_job(), &runtime()).unwrap();
    assert_eq!(made["metadata"]["labels"], json!({"queue": "two.x/y"}));
    assert_eq!(made["metadata"]["ownerReferences"][0]["uid"], "u");
    assert_eq!(made["spec"]["suspend"], true);
    let job = &made["spec"]["replicatedJobs"][0];
    assert_eq!(job["template"]["spec"]["completions"], 2);
    let pod = &job["template"]["spec"]["template"];
    assert_eq!(pod["metadata"]["annotations"], json!({"admission": "2"}));
    let container = json!({
        "name": "node", "image": "j", "env": [{"name": "E"}],
        "resources": {"requests": {"cpu": "2"}},
    });
    assert_eq!(pod["spec"]["containers"], json!([container]));
}

#[test]
fn what_the_embedded_cluster_does_not_have_is_not_guessed() {
    let mut torch = runtime();
    torch["spec"]["mlPolicy"]["torch"] = json!({});
    assert!(job_set(&train_job(), &torch).is_err());
}

#[test]
fn a_runtime_is_found_by_its_kind() {
    let mut job = train_job();
    assert_eq!(runtime_of(&job), Some((TRAINING_RUNTIME, "n", "runtime")));
    job["spec"]["runtimeRef"]["kind"] = "ClusterTrainingRuntime".into();
    assert_eq!(runtime_of(&job), Some((CLUSTER_TRAINING_RUNTIME, "", "runtime")));
    job["spec"]["runtimeRef"]["kind"] = "Other".into();
    assert_eq!(runtime_of(&job), None);
}
