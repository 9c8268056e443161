//! Server-side apply, and who manages what.

use rstest::rstest;
use serde_json::json;

use super::*;

fn checks(entries: &Value) -> Value {
    json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": "w"},
        "status": {"admissionChecks": entries},
    })
}

fn status_of(name: &str) -> String {
    format!("{}/status", at(WORKLOADS, name))
}

/// The entry of a manager.
fn entry<'a>(object: &'a Value, manager: &str) -> &'a Value {
    let all = object["metadata"]["managedFields"].as_array().unwrap();
    all.iter().find(|it| it["manager"] == manager).unwrap_or(&Value::Null)
}

#[test]
fn a_create_and_an_update_are_recorded_with_what_they_changed() {
    let cluster = Cluster::new();
    let made = cluster.created(WORKLOADS, &workload("w"));
    assert_eq!(
        made["metadata"]["managedFields"],
        json!([{
            "apiVersion": "kueue.x-k8s.io/v1beta2", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {".": {}, "f:active": {}}},
            "manager": "tester", "operation": "Update", "time": "2026-01-01T00:00:00Z",
        }])
    );
    cluster.pass(1);
    let path = format!("{}?fieldManager=other", at(WORKLOADS, "w"));
    let body = json!({"metadata": {"finalizers": ["f"]}, "spec": {"active": false}});
    let (_, changed) = cluster.merge(&path, &body);
    assert_eq!(entry(&changed, "tester")["fieldsV1"], json!({"f:spec": {}}));
    assert_eq!(
        entry(&changed, "other")["fieldsV1"],
        json!({
            "f:metadata": {"f:finalizers": {".": {}, "v:\"f\"": {}}}, "f:spec": {"f:active": {}},
        })
    );
    assert_eq!(entry(&changed, "other")["time"], "2026-01-01T00:00:01Z");
}

#[test]
fn an_apply_takes_nothing_from_another_without_force() {
    let cluster = Cluster::new();
    cluster.created(WORKLOADS, &workload("w"));
    let pending = checks(&json!([{"name": "c", "state": "Pending"}]));
    let (code, _) = cluster.apply(&status_of("w"), "fieldManager=kueue-admission", &pending);
    assert_eq!(code, 200);
    let ready = checks(&json!([{"name": "c", "state": "Ready"}]));
    let (code, status) = cluster.apply(&status_of("w"), "fieldManager=other", &ready);
    let why = "Apply failed with 1 conflict: conflict with \"kueue-admission\" with subresource \
               \"status\": .status.admissionChecks[name=\"c\"].state";
    assert_eq!((code, message(&status), &status["reason"]), (409, why, &json!("Conflict")));
    assert_eq!(
        status["details"]["causes"],
        json!([{
            "reason": "FieldManagerConflict",
            "message": "conflict with \"kueue-admission\" with subresource \"status\"",
            "field": ".status.admissionChecks[name=\"c\"].state",
        }])
    );
    let (_, taken) = cluster.apply(&status_of("w"), "fieldManager=other&force=true", &ready);
    assert_eq!(taken["status"]["admissionChecks"][0]["state"], "Ready");
    let left =
        json!({"f:status": {"f:admissionChecks": {"k:{\"name\":\"c\"}": {".": {}, "f:name": {}}}}});
    assert_eq!(entry(&taken, "kueue-admission")["fieldsV1"], left);
    assert_eq!(entry(&taken, "other")["subresource"], "status");
}

#[test]
fn a_conflict_with_an_updater_names_its_version() {
    let cluster = Cluster::new();
    cluster.created(WORKLOADS, &workload("w"));
    let mut applied = workload("w");
    applied["spec"]["active"] = false.into();
    let (_, status) = cluster.apply(&at(WORKLOADS, "w"), "fieldManager=x", &applied);
    let why = "Apply failed with 1 conflict: conflict with \"tester\" using \
               kueue.x-k8s.io/v1beta2: .spec.active";
    assert_eq!(message(&status), why);
}

#[test]
fn what_an_applier_does_not_name_any_more_goes_unless_another_has_it() {
    let cluster = Cluster::new();
    cluster.created(WORKLOADS, &workload("w"));
    let apply = |manager: &str, body: &Value| {
        let query = format!("fieldManager={manager}&force=true");
        let (code, object) = cluster.apply(&status_of("w"), &query, &checks(body));
        assert_eq!(code, 200, "{object}");
        object["status"]["admissionChecks"].clone()
    };
    let all = json!([{"name": "a", "state": "P", "message": "m"}, {"name": "b"}, {"name": "c"}]);
    apply("one", &all);
    apply("two", &json!([{"name": "b", "state": "R"}]));
    let left = apply("one", &json!([{"name": "a", "state": "P"}]));
    assert_eq!(left, json!([{"name": "a", "state": "P"}, {"name": "b", "state": "R"}]));
    assert_eq!(apply("two", &json!([])), json!([{"name": "a", "state": "P"}]));
}

#[test]
fn an_apply_of_an_entry_keeps_the_entries_of_others() {
    let cluster = Cluster::new();
    let patches = |manager: &str, annotation: &str| {
        json!({
            "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
            "metadata": {"name": "t"},
            "spec": {"runtimePatches": [{"manager": manager, "trainingRuntimeSpec": {"template": {
                "metadata": {"annotations": {"a": annotation}}}}}]},
        })
    };
    cluster.created(TRAIN_JOBS, &patches("kueue.x-k8s.io/manager", "k"));
    let path = at(TRAIN_JOBS, "t");
    cluster.apply(&path, "fieldManager=raise&force=true", &patches("ours", "1"));
    let (_, raised) = cluster.apply(&path, "fieldManager=raise&force=true", &patches("ours", "2"));
    let entries = raised["spec"]["runtimePatches"].as_array().unwrap();
    let managers: Vec<_> = entries.iter().map(|it| it["manager"].as_str().unwrap()).collect();
    assert_eq!(managers, ["kueue.x-k8s.io/manager", "ours"]);
    let template = &entries[1]["trainingRuntimeSpec"]["template"];
    assert_eq!(template["metadata"]["annotations"]["a"], "2");
    assert_eq!(raised["metadata"]["generation"], 3);
}

#[test]
fn an_apply_makes_what_is_missing_and_no_status_of_it() {
    let cluster = Cluster::new();
    let (code, status) =
        cluster.apply(&status_of("w"), "fieldManager=x&force=true", &checks(&json!([])));
    assert_eq!((code, &status["reason"]), (404, &json!("NotFound")));
    let mut wrong = workload("w");
    wrong["metadata"]["uid"] = "u".into();
    assert_eq!(cluster.apply(&at(WORKLOADS, "w"), "fieldManager=x", &wrong).0, 409);
    let (code, made) = cluster.apply(&at(WORKLOADS, "w"), "fieldManager=x", &workload("w"));
    assert_eq!((code, &made["metadata"]["generation"]), (201, &json!(1)));
    assert_eq!(entry(&made, "x")["operation"], "Apply");
    assert_eq!(entry(&made, "x")["fieldsV1"], json!({"f:spec": {"f:active": {}}}));
}

#[test]
fn an_apply_with_a_stale_version_is_a_conflict() {
    let cluster = Cluster::new();
    let made = cluster.created(WORKLOADS, &workload("w"));
    let mut body = checks(&json!([{"name": "c", "state": "Ready"}]));
    body["metadata"]["resourceVersion"] = version(&made).into();
    let query = "fieldManager=x&force=true";
    assert_eq!(cluster.apply(&status_of("w"), query, &body).0, 200);
    body["status"]["admissionChecks"][0]["state"] = "Pending".into();
    let (code, status) = cluster.apply(&status_of("w"), query, &body);
    assert_eq!(code, 409);
    assert!(message(&status).contains("the object has been modified"), "{status}");
}

#[test]
fn an_apply_needs_a_manager() {
    let cluster = Cluster::new();
    assert_eq!(cluster.apply(&at(WORKLOADS, "w"), "force=true", &workload("w")).0, 422);
}

#[test]
fn the_structures_of_built_in_kinds_belong_to_nobody() {
    let cluster = Cluster::new();
    let made = cluster.created(PODS, &pod("p", Some("n")));
    assert_eq!(
        made["metadata"]["managedFields"][0]["fieldsV1"],
        json!({"f:spec": {
            "f:containers": {"k:{\"name\":\"c\"}": {".": {}, "f:image": {}, "f:name": {}}},
            "f:nodeName": {}, "f:terminationGracePeriodSeconds": {},
        }})
    );
}

#[rstest]
#[case::without_its_key(json!([{"state": "Ready"}]), "omits a key field")]
#[case::twice(json!([{"name": "a"}, {"name": "a"}]), "duplicate entries for key")]
fn an_applied_item_of_a_list_has_its_key_once(#[case] entries: Value, #[case] why: &str) {
    let cluster = Cluster::new();
    cluster.created(WORKLOADS, &workload("w"));
    let (code, status) = cluster.apply(&status_of("w"), "fieldManager=x", &checks(&entries));
    assert_eq!(code, 500);
    assert!(message(&status).contains(why), "{status}");
}
