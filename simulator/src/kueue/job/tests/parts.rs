//! Jobs that are part of others.

use super::*;

fn job_set(queue: bool) -> Value {
    let labels = if queue { json!({ QUEUE_NAME: "q" }) } else { json!({}) };
    json!({
        "metadata": {
            "name": "t", "namespace": "n", "uid": "s", "resourceVersion": "3", "labels": labels,
            "ownerReferences": [{
                "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "name": "t",
                "uid": "u", "controller": true,
            }],
        },
        "spec": {"suspend": false, "replicatedJobs": [{
            "name": "node", "replicas": 1, "template": {"spec": {"template": {"spec": {}}}},
        }]},
    })
}

#[test]
fn a_part_of_a_job_runs_only_while_that_is_admitted() {
    let mut stage = Stage::new();
    stage.job(|_| {});
    stage.put(JOB_SET, job_set(true));
    let stopped = || json!({"metadata": {"resourceVersion": "3"}, "spec": {"suspend": true}});
    assert_eq!(stage.turn(Integration::JobSet, "t")[0].body, stopped());
    stage.workload(|it| quota(it, &[RESERVED]));
    assert_eq!(stage.turn(Integration::JobSet, "t")[0].body, stopped());
    let workload = stage.view.all(WORKLOAD).next().cloned().unwrap();
    let mut admitted = workload.clone();
    quota(&mut admitted, &[RESERVED, ADMITTED]);
    stage.put(WORKLOAD, admitted);
    assert!(stage.turn(Integration::JobSet, "t").is_empty());
}

#[test]
fn without_the_jobs_queue_its_job_set_gets_a_workload_of_its_own_without_a_gate() {
    let mut stage = Stage::new();
    stage.job(|it| {
        it["metadata"]["labels"] = json!({});
        it["metadata"]["annotations"] = json!({ADMISSION_GATED_BY: "a.b/c"});
    });
    let mut suspended = job_set(true);
    suspended["spec"]["suspend"] = true.into();
    stage.put(JOB_SET, suspended);
    let made = stage.turn(Integration::JobSet, "t").remove(0);
    assert_eq!((made.verb, made.kind), ("create", "Workload"));
    assert!(crate::object::name(&made.body).starts_with("jobset-t-"));
    assert_eq!(crate::object::annotation(&made.body, ADMISSION_GATED_BY), None);
}

#[test]
fn a_job_is_looked_at_when_what_it_is_part_of_gets_its_workload() {
    let mut stage = Stage::new();
    let job = json!({"metadata": {
        "name": "j", "namespace": "n",
        "ownerReferences": [{"uid": "s", "kind": "JobSet", "controller": true}],
    }});
    stage.put(JOB, job);
    let workload = json!({"metadata": {
        "name": "w", "namespace": "n",
        "ownerReferences": [{
            "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "t", "uid": "s",
            "controller": true,
        }],
    }});
    let change = Change { resource: WORKLOAD, object: &workload, before: None, deleted: false };
    let woken =
        |integration| JobController::new(integration, stage.features).wakes(&stage.view, &change);
    assert_eq!(woken(Integration::Job), [Key::new("n", "j")]);
    assert_eq!(woken(Integration::JobSet), [Key::new("n", "t")]);
    assert!(woken(Integration::TrainJob).is_empty());
}
