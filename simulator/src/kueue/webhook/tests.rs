use crate::api::{Operation, Review};
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::api::Lookup;
use crate::kueue::names::{PATCH_MANAGER, QUEUE_NAME};
use crate::object::{Object, name, namespace};
use crate::resource::{
    ADMISSION_CHECK, CLUSTER_QUEUE, JOB, JOB_SET, LOCAL_QUEUE, Resource, TRAIN_JOB,
    TRAINING_RUNTIME, WORKLOAD,
};

/// What is stored.
struct Stored(Vec<(&'static Resource, Object)>);

impl Lookup for Stored {
    fn get(&self, resource: &'static Resource, of: &str, called: &str) -> Option<&Object> {
        let found = self
            .0
            .iter()
            .find(|(kind, it)| *kind == resource && namespace(it) == of && name(it) == called);
        found.map(|(_, it)| it)
    }

    fn list(&self, resource: &'static Resource, of: Option<&str>) -> Vec<&Object> {
        let all = self.0.iter().filter(|(kind, _)| *kind == resource).map(|(_, it)| it);
        all.filter(|it| of.is_none_or(|of| namespace(it) == of)).collect()
    }
}

fn write(
    resource: &'static Resource,
    old: Option<&Object>,
    new: &Object,
    stored: &Stored,
) -> Result<Object, Denied> {
    write_part(resource, None, old, new, stored)
}

fn write_part(
    resource: &'static Resource,
    subresource: Option<&str>,
    old: Option<&Object>,
    new: &Object,
    stored: &Stored,
) -> Result<Object, Denied> {
    let operation = if old.is_some() { Operation::Update } else { Operation::Create };
    let now = jiff::Timestamp::UNIX_EPOCH;
    let review = Review { operation, resource, subresource, old, user: "u", dry_run: false, now };
    let features = Arc::new(Mutex::new(Features { admission_gated_by: true }));
    let webhooks: Vec<_> = all(&features).into_iter().filter(|it| it.looks_at(&review)).collect();
    let mut object = new.clone();
    for webhook in &webhooks {
        webhook.mutate(&review, &mut object, stored)?;
    }
    for webhook in &webhooks {
        webhook.validate(&review, &object, stored)?;
    }
    Ok(object)
}

fn train_job(queue: Option<&str>) -> Object {
    let mut object = json!({
        "metadata": {"name": "t", "namespace": "n", "uid": "t"},
        "spec": {"runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": "r"}},
    });
    if let Some(queue) = queue {
        object["metadata"]["labels"] = json!({ QUEUE_NAME: queue });
    }
    object
}

fn stored(default_queue: bool) -> Stored {
    let runtime = json!({"metadata": {"name": "r", "namespace": "n"}, "spec": {}});
    let mut all = vec![(TRAINING_RUNTIME, runtime)];
    if default_queue {
        let queue = json!({"metadata": {"name": "default", "namespace": "n"}, "spec": {}});
        all.push((LOCAL_QUEUE, queue));
    }
    Stored(all)
}

#[rstest]
#[case::of_a_queue(Some("q"), false, Some("q"))]
#[case::of_none(None, false, None)]
#[case::of_the_default(None, true, Some("default"))]
fn a_new_train_job_with_a_queue_is_suspended_and_gets_kueues_patch(
    #[case] queue: Option<&str>,
    #[case] default: bool,
    #[case] in_queue: Option<&str>,
) {
    let made = write(TRAIN_JOB, None, &train_job(queue), &stored(default)).unwrap();
    assert_eq!(crate::object::label(&made, QUEUE_NAME), in_queue);
    assert_eq!(crate::object::is(&made, "/spec/suspend"), in_queue.is_some());
    let patch = &made["spec"]["runtimePatches"][0];
    assert_eq!(patch["manager"], PATCH_MANAGER);
    let template = &patch["trainingRuntimeSpec"]["template"];
    assert_eq!(template["spec"], json!({}));
    assert_eq!(template["metadata"]["labels"][QUEUE_NAME].as_str(), in_queue);
}

#[test]
fn a_train_job_without_its_runtime_is_refused() {
    let refused = write(TRAIN_JOB, None, &train_job(None), &Stored(Vec::new())).unwrap_err();
    assert_eq!(refused, Denied::Webhook("runtime 'r' not found".to_owned()));
}

#[test]
fn a_part_of_a_managed_job_is_left_as_it_is() {
    let mut all = stored(false);
    all.0.push((TRAIN_JOB, train_job(Some("q"))));
    let job_set = json!({"metadata": {
        "name": "t", "namespace": "n", "labels": { QUEUE_NAME: "q" },
        "ownerReferences": [{
            "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "name": "t",
            "uid": "t", "controller": true,
        }],
    }, "spec": {}});
    let made = write(JOB_SET, None, &job_set, &all).unwrap();
    assert!(!crate::object::is(&made, "/spec/suspend"));
}

#[rstest]
#[case::queue_while_suspended(true, &[(QUEUE_NAME, "r")], true)]
#[case::queue_while_running(false, &[(QUEUE_NAME, "r")], false)]
#[case::prebuilt_while_suspended(true, &[(QUEUE_NAME, "q"), ("kueue.x-k8s.io/prebuilt-workload-name", "w")], true)]
#[case::prebuilt_while_running(false, &[(QUEUE_NAME, "q"), ("kueue.x-k8s.io/prebuilt-workload-name", "w")], false)]
#[case::priority_while_running(false, &[(QUEUE_NAME, "q"), ("kueue.x-k8s.io/priority-class", "p")], false)]
#[case::priority_while_suspended(true, &[(QUEUE_NAME, "q"), ("kueue.x-k8s.io/priority-class", "p")], true)]
#[case::no_queue(true, &[], true)]
fn labels_of_kueue_are_fixed_while_a_job_runs(
    #[case] suspended: bool,
    #[case] labels: &[(&str, &str)],
    #[case] allowed: bool,
) {
    let job = |labels: &[(&str, &str)]| {
        let labels: serde_json::Map<_, _> =
            labels.iter().map(|(key, value)| ((*key).to_owned(), Value::from(*value))).collect();
        json!({
            "metadata": {"name": "j", "namespace": "n", "labels": labels},
            "spec": {"suspend": suspended},
        })
    };
    let written = write(JOB, Some(&job(&[(QUEUE_NAME, "q")])), &job(labels), &stored(false));
    assert_eq!(written.is_ok(), allowed, "{written:?}");
}

fn workload(state: &str, updates: &Value) -> Object {
    json!({
        "metadata": {"name": "w", "namespace": "n"},
        "spec": {"queueName": "q", "podSets": [{"name": "main", "count": 1}]},
        "status": {
            "conditions": [{"type": "QuotaReserved", "status": "True"}],
            "admission": {"clusterQueue": "cq", "podSetAssignments": [{"name": "main"}]},
            "admissionChecks": [{"name": "c", "state": state, "podSetUpdates": updates}],
        },
    })
}

#[rstest]
#[case::ready(|it: &mut Value| it["status"]["admissionChecks"][0]["state"] = "Ready".into(), None)]
#[case::another_admission(
    |it: &mut Value| it["status"]["admission"]["clusterQueue"] = "other".into(),
    Some("status.admission: Invalid value"),
)]
#[case::of_no_pod_set(
    |it: &mut Value| it["status"]["admissionChecks"][0]["podSetUpdates"] = json!([{"name": "x"}]),
    Some("status.admissionChecks[0].podSetUpdates[0].name: Unsupported value: \"x\": supported values: \"main\""),
)]
#[case::other_pods(
    |it: &mut Value| it["spec"]["podSets"][0]["count"] = 2.into(),
    Some("spec.podSets.0: Invalid value"),
)]
#[case::another_queue(
    |it: &mut Value| it["spec"]["queueName"] = "other".into(),
    Some("queueName is immutable while workload quota reserved"),
)]
fn a_workload_with_quota_stays_what_it_is(
    #[case] change: fn(&mut Value),
    #[case] why: Option<&str>,
) {
    let old = workload("Pending", &json!([]));
    let mut new = old.clone();
    change(&mut new);
    let written = write_part(WORKLOAD, Some("status"), Some(&old), &new, &stored(false));
    match (written, why) {
        (Ok(_), None) => {}
        (Err(Denied::Webhook(told) | Denied::Invalid(told)), Some(why)) => {
            assert!(told.contains(why), "{told}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_ready_check_adds_to_the_pods_is_final() {
    let old = workload("Ready", &json!([]));
    let new = workload("Ready", &json!([{"name": "main", "labels": {"a": "b"}}]));
    assert!(write_part(WORKLOAD, Some("status"), Some(&old), &new, &stored(false)).is_err());
}

#[test]
fn new_objects_get_their_defaults_and_finalizers() {
    let queue = json!({"metadata": {"name": "cq"}, "spec": {"cohortName": "co"}});
    let made = write(CLUSTER_QUEUE, None, &queue, &stored(false)).unwrap();
    assert_eq!(made["metadata"]["finalizers"], json!(["kueue.x-k8s.io/resource-in-use"]));
    assert_eq!(made["spec"]["preemption"]["withinClusterQueue"], "Never");
    assert_eq!(made["spec"]["queueingStrategy"], "BestEffortFIFO");
    let workload = json!({"metadata": {"name": "w"}, "spec": {"podSets": [{}]}});
    let made = write(WORKLOAD, None, &workload, &stored(false)).unwrap();
    assert_eq!(made["spec"], json!({"active": true, "podSets": [{"name": "main", "count": 1}]}));
}

#[test]
fn what_would_be_ignored_is_refused() {
    let mut shared = stored(false);
    let queue = |name: &str| json!({"metadata": {"name": name}, "spec": {"cohortName": "co"}});
    shared.0.push((CLUSTER_QUEUE, queue("other")));
    let refused = write(CLUSTER_QUEUE, None, &queue("cq"), &shared).unwrap_err();
    let Denied::Failure(failure) = refused else { panic!("{refused:?}") };
    assert_eq!(failure.code, 501);
}

#[test]
fn the_controller_of_a_check_is_fixed() {
    let check = |of: &str| json!({"metadata": {"name": "c"}, "spec": {"controllerName": of}});
    assert!(write(ADMISSION_CHECK, Some(&check("a")), &check("b"), &stored(false)).is_err());
    assert!(write(ADMISSION_CHECK, Some(&check("a")), &check("a"), &stored(false)).is_ok());
}
