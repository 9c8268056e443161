//! Creates and updates.

use rstest::rstest;
use serde_json::json;

use super::*;

#[test]
fn a_new_object_has_what_every_object_has() {
    let cluster = Cluster::new();
    let mut sent = workload("w");
    sent["status"] = json!({"conditions": []});
    let made = cluster.created(WORKLOADS, &sent);
    assert_eq!(made["metadata"]["creationTimestamp"], "2026-01-01T00:00:00Z");
    assert_eq!(made["metadata"]["generation"], 1);
    assert_eq!(made["metadata"]["namespace"], "default");
    assert_eq!(made["metadata"]["uid"].as_str().unwrap().len(), 36);
    assert_eq!(version(&made), cluster.server.revision().to_string());
    assert_eq!(made.get("status"), None);
    assert_eq!(cluster.object(&at(WORKLOADS, "w")), made);
}

#[rstest]
#[case::twice(MAPS, map("there", "1"), 409, "configmaps \"there\" already exists")]
#[case::without_a_name(MAPS, json!({"metadata": {}}), 422,
    "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required")]
#[case::with_a_version(MAPS, json!({"metadata": {"name": "a", "resourceVersion": "1"}}), 500,
    "resourceVersion should not be set on objects to be created")]
#[case::in_no_namespace(
    "/api/v1/namespaces/none/configmaps",
    map("a", "1"),
    404,
    "namespaces \"none\" not found"
)]
#[case::of_another_kind(
    JOBS,
    map("a", "1"),
    400,
    "the API version in the data (v1) does not match the expected API version (batch/v1)"
)]
fn what_cannot_be_created_is_refused(
    #[case] path: &str,
    #[case] body: Value,
    #[case] code: u16,
    #[case] why: &str,
) {
    let cluster = Cluster::new();
    cluster.created(MAPS, &map("there", "1"));
    let (found, status) = cluster.post(path, &body);
    assert_eq!((found, message(&status)), (code, why));
}

#[test]
fn names_are_generated_of_the_seed() {
    let made = |cluster: &Cluster| {
        let made = cluster.created(MAPS, &json!({"metadata": {"generateName": "a-"}}));
        made["metadata"]["name"].as_str().unwrap().to_owned()
    };
    let (one, other) = (Cluster::new(), Cluster::new());
    let names = [made(&one), made(&one)];
    assert_ne!(names[0], names[1]);
    assert_eq!(names, [made(&other), made(&other)]);
    assert!(names[0].starts_with("a-") && names[0].len() == 7);
}

#[test]
fn a_stale_update_is_a_conflict() {
    let cluster = Cluster::new();
    let first = cluster.created(MAPS, &map("a", "1"));
    let mut second = first.clone();
    second["data"]["a"] = "2".into();
    assert_eq!(cluster.put(&at(MAPS, "a"), &second).0, 200);
    let (code, status) = cluster.put(&at(MAPS, "a"), &second);
    let why = "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; \
               please apply your changes to the latest version and try again";
    assert_eq!((code, message(&status), &status["reason"]), (409, why, &json!("Conflict")));
    second["metadata"]["resourceVersion"] = "".into();
    second["data"]["a"] = "3".into();
    assert_eq!(cluster.put(&at(MAPS, "a"), &second).0, 200);
}

#[test]
fn an_update_of_a_custom_resource_needs_a_version() {
    let cluster = Cluster::new();
    cluster.created(WORKLOADS, &workload("w"));
    let (code, status) = cluster.put(&at(WORKLOADS, "w"), &workload("w"));
    assert_eq!(code, 422);
    assert!(message(&status).ends_with("must be specified for an update"), "{status}");
}

#[test]
fn a_write_for_another_object_of_the_name_is_a_conflict() {
    let cluster = Cluster::new();
    cluster.created(MAPS, &map("a", "1"));
    let (code, status) = cluster.merge(&at(MAPS, "a"), &json!({"metadata": {"uid": "u"}}));
    assert_eq!((code, &status["reason"]), (409, &json!("Conflict")));
}

#[test]
fn a_write_that_changes_nothing_stores_nothing() {
    let cluster = Cluster::new();
    let made = cluster.created(MAPS, &map("a", "1"));
    cluster.pass(5);
    let path = at(MAPS, "a");
    assert_eq!(cluster.put(&path, &made), (200, made.clone()));
    assert_eq!(cluster.merge(&path, &json!({"data": {"a": "1"}})), (200, made.clone()));
    let applied = cluster.apply(&path, "fieldManager=x&force=true", &map("a", "1")).1;
    assert_ne!(version(&applied), version(&made), "there is a new manager");
    cluster.pass(5);
    assert_eq!(cluster.apply(&path, "fieldManager=x&force=true", &map("a", "1")).1, applied);
}

#[test]
fn the_status_is_written_by_itself() {
    let cluster = Cluster::new();
    let made = cluster.created(WORKLOADS, &workload("w"));
    let path = at(WORKLOADS, "w");
    let both =
        json!({"metadata": {"labels": {"l": "1"}}, "spec": {"active": false}, "status": {"a": 1}});
    let (_, of_status) = cluster.merge(&at(&path, "status"), &both);
    assert_eq!((&of_status["spec"], &of_status["status"]), (&made["spec"], &json!({"a": 1})));
    assert_eq!(of_status["metadata"].get("labels"), None);
    assert_eq!(of_status["metadata"]["generation"], 1);
    let both = json!({"spec": {"active": false}, "status": {"a": 2}});
    let (_, of_main) = cluster.merge(&path, &both);
    assert_eq!((&of_main["spec"]["active"], &of_main["status"]), (&json!(false), &json!({"a": 1})));
    assert_eq!(of_main["metadata"]["generation"], 2);
    let (_, labelled) = cluster.merge(&path, &json!({"metadata": {"labels": {"l": "1"}}}));
    assert_eq!(labelled["metadata"]["generation"], 2);
}

#[test]
fn a_dry_run_stores_nothing_and_answers_as_if() {
    let cluster = Cluster::new();
    let before = cluster.server.revision();
    let made = cluster.created(&format!("{MAPS}?dryRun=All"), &map("a", "1"));
    assert!(made["metadata"]["uid"].is_string());
    assert_eq!(made["metadata"].get("resourceVersion"), None);
    assert_eq!((cluster.get(&at(MAPS, "a")).0, cluster.server.revision()), (404, before));
    let there = cluster.created(MAPS, &map("a", "1"));
    let patch = json!({"data": {"a": "2"}});
    let (_, changed) = cluster.merge(&format!("{}?dryRun=All", at(MAPS, "a")), &patch);
    assert_eq!((&changed["data"]["a"], version(&changed)), (&json!("2"), version(&there)));
    assert_eq!(cluster.delete(&at(MAPS, "a"), &json!({"dryRun": ["All"]})).0, 200);
    assert_eq!(cluster.object(&at(MAPS, "a")), there);
}

#[test]
fn a_pod_is_bound_once() {
    let cluster = Cluster::new();
    cluster.created(PODS, &pod("p", None));
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"},
        "target": {"kind": "Node", "name": "n"},
    });
    let path = format!("{}/binding", at(PODS, "p"));
    assert_eq!(cluster.post(&path, &binding).0, 201);
    let bound = cluster.object(&at(PODS, "p"));
    assert_eq!(bound["spec"]["nodeName"], "n");
    assert_eq!(bound["status"]["conditions"][0]["type"], "PodScheduled");
    let (code, status) = cluster.post(&path, &binding);
    let why = "Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to \
               node \"n\"";
    assert_eq!((code, message(&status)), (409, why));
}

#[rstest]
#[case::of_most_kinds(MAPS, map("a", "1"), 404)]
#[case::of_a_lease("/apis/coordination.k8s.io/v1/namespaces/default/leases",
    json!({"metadata": {"name": "a"}}), 501)]
fn an_update_makes_nothing(#[case] path: &str, #[case] body: Value, #[case] code: u16) {
    assert_eq!(Cluster::new().put(&at(path, "a"), &body).0, code);
}

#[rstest]
#[case::unsaid("", 201)]
#[case::ignore("?fieldValidation=Ignore", 201)]
#[case::warn("?fieldValidation=Warn", 201)]
#[case::strict("?fieldValidation=Strict", 501)]
#[case::unknown("?fieldValidation=Often", 422)]
fn who_wants_unknown_fields_refused_is_told_that_they_are_not(
    #[case] query: &str,
    #[case] code: u16,
) {
    let cluster = Cluster::new();
    let (answered, status) = cluster.post(&format!("{MAPS}{query}"), &map("a", "1"));
    assert_eq!(answered, code, "{status}");
    if code > 400 {
        assert!(message(&status).contains("fieldValidation"), "{status}");
    }
}
