//! Deletes.

use rstest::rstest;
use serde_json::json;

use super::*;

fn held(name: &str) -> Value {
    let mut map = map(name, "1");
    map["metadata"]["finalizers"] = json!(["example.com/hold"]);
    map
}

#[test]
fn an_object_goes_at_once_and_the_answer_says_which() {
    let cluster = Cluster::new();
    let made = cluster.created(MAPS, &map("a", "1"));
    let (code, status) = cluster.delete(&at(MAPS, "a"), &Value::Null);
    assert_eq!((code, &status["status"]), (200, &json!("Success")));
    assert_eq!(status["details"]["uid"], made["metadata"]["uid"]);
    assert_eq!(cluster.get(&at(MAPS, "a")).0, 404);
}

#[test]
fn an_object_with_a_finalizer_goes_with_its_last_one() {
    let cluster = Cluster::new();
    cluster.created(MAPS, &held("a"));
    let (_, marked) = cluster.delete(&at(MAPS, "a"), &Value::Null);
    assert_eq!(marked["metadata"]["deletionTimestamp"], "2026-01-01T00:00:00Z");
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 0);
    cluster.pass(5);
    assert_eq!(cluster.delete(&at(MAPS, "a"), &Value::Null), (200, marked.clone()));
    let patch = json!({"metadata": {"finalizers": null}, "data": {"a": "2"}});
    let (code, gone) = cluster.merge(&at(MAPS, "a"), &patch);
    assert_eq!((code, &gone["data"]["a"]), (200, &json!("2")));
    assert_eq!(cluster.get(&at(MAPS, "a")).0, 404);
}

#[test]
fn the_deletion_of_a_custom_resource_is_a_new_generation() {
    let cluster = Cluster::new();
    let mut held = workload("w");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    cluster.created(WORKLOADS, &held);
    let (_, marked) = cluster.delete(&at(WORKLOADS, "w"), &Value::Null);
    assert_eq!(marked["metadata"]["generation"], 2);
}

#[rstest]
#[case::background("Background", None)]
#[case::foreground("Foreground", Some("foregroundDeletion"))]
#[case::orphan("Orphan", Some("orphan"))]
fn what_becomes_of_dependents_is_said_by_a_finalizer(
    #[case] policy: &str,
    #[case] finalizer: Option<&str>,
) {
    let cluster = Cluster::new();
    cluster.created(JOBS, &json!({"metadata": {"name": "j"}, "spec": {}}));
    cluster.delete(&at(JOBS, "j"), &json!({"propagationPolicy": policy}));
    let (code, job) = cluster.get(&at(JOBS, "j"));
    match finalizer {
        Some(finalizer) => assert_eq!(job["metadata"]["finalizers"], json!([finalizer])),
        None => assert_eq!(code, 404),
    }
}

#[test]
fn what_no_longer_waits_for_its_dependents_goes_without_another_version() {
    let cluster = Cluster::new();
    cluster.created(JOBS, &json!({"metadata": {"name": "j"}, "spec": {}}));
    let (_, waits) = cluster.delete(&at(JOBS, "j"), &json!({"propagationPolicy": "Foreground"}));
    cluster.delete(&at(JOBS, "j"), &json!({"propagationPolicy": "Background"}));
    assert_eq!(cluster.get(&at(JOBS, "j")).0, 404);
    let next = cluster.created(MAPS, &map("a", "1"));
    let version = |object: &Value| -> u64 {
        object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
    };
    assert_eq!(version(&next), version(&waits) + 2, "the deletion, and this one");
}

#[rstest]
#[case::of_a_job(JOBS, json!({}), Some("orphan"))]
#[case::of_a_job_in_the_foreground(JOBS, json!({"finalizers": ["foregroundDeletion"]}), Some("foregroundDeletion"))]
#[case::of_another_kind(MAPS, json!({}), None)]
#[case::of_another_kind_that_says_it(MAPS, json!({"finalizers": ["orphan"]}), Some("orphan"))]
fn without_a_policy_a_job_alone_leaves_its_dependents_behind(
    #[case] all: &str,
    #[case] mut metadata: Value,
    #[case] finalizer: Option<&str>,
) {
    let cluster = Cluster::new();
    metadata["name"] = "a".into();
    cluster.created(all, &json!({"metadata": metadata, "spec": {}}));
    cluster.delete(&at(all, "a"), &Value::Null);
    let (code, left) = cluster.get(&at(all, "a"));
    match finalizer {
        Some(finalizer) => assert_eq!(left["metadata"]["finalizers"], json!([finalizer])),
        None => assert_eq!(code, 404),
    }
}

#[rstest]
#[case::uid(json!({"uid": "other"}))]
#[case::version(json!({"resourceVersion": "1"}))]
fn another_object_than_the_one_that_is_meant_stays(#[case] preconditions: Value) {
    let cluster = Cluster::new();
    cluster.created(MAPS, &map("a", "1"));
    let (code, status) = cluster.delete(&at(MAPS, "a"), &json!({"preconditions": preconditions}));
    assert_eq!((code, &status["reason"]), (409, &json!("Conflict")));
    assert!(message(&status).contains("in the precondition"), "{status}");
    assert_eq!(cluster.get(&at(MAPS, "a")).0, 200);
}

#[test]
fn a_pod_on_a_node_has_its_grace_period() {
    let cluster = Cluster::new();
    cluster.created(PODS, &pod("p", Some("n")));
    let (_, marked) = cluster.delete(&at(PODS, "p"), &Value::Null);
    assert_eq!(marked["metadata"]["deletionTimestamp"], "2026-01-01T00:00:07Z");
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 7);
    assert_eq!(marked["metadata"]["generation"], 2);
    assert_eq!(cluster.delete(&at(PODS, "p"), &Value::Null), (200, marked.clone()));
    cluster.pass(2);
    let (_, gone) = cluster.delete(&at(PODS, "p"), &json!({"gracePeriodSeconds": 0}));
    assert_eq!(gone["metadata"]["deletionTimestamp"], "2026-01-01T00:00:02Z");
    assert_eq!(gone["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!(cluster.get(&at(PODS, "p")).0, 404);
}

#[rstest]
#[case::that_was_not_scheduled(None, None)]
#[case::that_has_ended(Some("n"), Some("Succeeded"))]
#[case::that_has_failed(Some("n"), Some("Failed"))]
fn a_pod_goes_at_once(#[case] node: Option<&str>, #[case] phase: Option<&str>) {
    let cluster = Cluster::new();
    cluster.created(PODS, &pod("p", node));
    if let Some(phase) = phase {
        let status = format!("{}/status", at(PODS, "p"));
        cluster.merge(&status, &json!({"status": {"phase": phase}}));
    }
    cluster.delete(&at(PODS, "p"), &Value::Null);
    assert_eq!(cluster.get(&at(PODS, "p")).0, 404);
}

#[test]
fn a_pod_with_a_finalizer_stays_after_its_grace_period() {
    let cluster = Cluster::new();
    let mut held = pod("p", None);
    held["metadata"]["finalizers"] = json!(["batch.kubernetes.io/job-tracking"]);
    cluster.created(PODS, &held);
    cluster.delete(&at(PODS, "p"), &Value::Null);
    assert!(cluster.object(&at(PODS, "p"))["metadata"]["deletionTimestamp"].is_string());
    cluster.merge(&at(PODS, "p"), &json!({"metadata": {"finalizers": []}}));
    assert_eq!(cluster.get(&at(PODS, "p")).0, 404);
}

#[test]
fn a_collection_is_deleted_by_what_is_selected() {
    let cluster = Cluster::new();
    cluster.created(MAPS, &labelled("a", "1"));
    cluster.created(MAPS, &labelled("b", "2"));
    let (code, _) = cluster.delete(&format!("{MAPS}?labelSelector=l%3D1"), &Value::Null);
    assert_eq!(code, 200);
    assert_eq!(cluster.object(MAPS)["items"].as_array().unwrap().len(), 1);
}

#[test]
fn a_namespace_goes_when_it_is_finalized_and_takes_nothing_new_before() {
    let cluster = Cluster::new();
    let spaces = "/api/v1/namespaces";
    cluster.created(spaces, &json!({"metadata": {"name": "n"}}));
    let (_, marked) = cluster.delete(&at(spaces, "n"), &Value::Null);
    assert_eq!(marked["status"]["phase"], "Terminating");
    let (code, status) = cluster.post("/api/v1/namespaces/n/configmaps", &map("a", "1"));
    assert_eq!((code, &status["reason"]), (403, &json!("Forbidden")));
    assert_eq!(status["details"]["causes"][0]["reason"], "NamespaceTerminating");
    let mut finalized = marked.clone();
    finalized["spec"]["finalizers"] = json!([]);
    assert_eq!(cluster.put("/api/v1/namespaces/n/finalize", &finalized).0, 200);
    assert_eq!(cluster.get(&at(spaces, "n")).0, 404);
}

#[test]
fn what_is_on_its_way_out_takes_no_new_finalizer() {
    let cluster = Cluster::new();
    cluster.created(MAPS, &held("a"));
    cluster.delete(&at(MAPS, "a"), &Value::Null);
    let patch = json!({"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}});
    let (code, status) = cluster.merge(&at(MAPS, "a"), &patch);
    assert_eq!(code, 422);
    assert!(message(&status).contains("no new finalizers can be added"), "{status}");
}

#[test]
fn a_precondition_of_a_custom_resource_is_refused_by_the_store() {
    let cluster = Cluster::new();
    let made = cluster.created(WORKLOADS, &workload("w"));
    let preconditions = json!({"preconditions": {"resourceVersion": "1"}});
    let (code, status) = cluster.delete(&at(WORKLOADS, "w"), &preconditions);
    let why = format!(
        "Operation cannot be fulfilled on workloads.kueue.x-k8s.io \"w\": StorageError: invalid \
         object, Code: 4, Key: /registry/kueue.x-k8s.io/workloads/default/w, ResourceVersion: 0, \
         AdditionalErrorMsg: Precondition failed: ResourceVersion in precondition: 1, \
         ResourceVersion in object meta: {}",
        version(&made)
    );
    assert_eq!((code, message(&status)), (409, why.as_str()));
}
