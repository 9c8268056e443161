//! Patches.

use rstest::rstest;
use serde_json::json;

use super::*;

fn patched(cluster: &Cluster, path: &str, kind: &str, body: &Value) -> (u16, Value) {
    let content = format!("application/{kind}+json");
    cluster.client().send(Method::PATCH, path, &content, body)
}

#[rstest]
#[case::replaced(json!([{"op": "replace", "path": "/data/a", "value": "2"}]), 200)]
#[case::tested(json!([{"op": "test", "path": "/data/a", "value": "1"}]), 200)]
#[case::tested_in_vain(json!([{"op": "test", "path": "/data/a", "value": "2"}]), 422)]
#[case::nowhere(json!([{"op": "remove", "path": "/data/b"}]), 422)]
#[case::no_patch(json!({"data": {}}), 400)]
fn a_json_patch(#[case] body: Value, #[case] code: u16) {
    let cluster = Cluster::new();
    cluster.created(MAPS, &map("a", "1"));
    assert_eq!(patched(&cluster, &at(MAPS, "a"), "json-patch", &body).0, code);
}

#[test]
fn a_patch_with_a_stale_version_is_a_conflict() {
    let cluster = Cluster::new();
    let made = cluster.created(MAPS, &map("a", "1"));
    let patch = |version: &str, data: &str| {
        let body = json!({"metadata": {"resourceVersion": version}, "data": {"a": data}});
        cluster.merge(&at(MAPS, "a"), &body)
    };
    assert_eq!(patch(version(&made), "2").0, 200);
    assert_eq!(patch(version(&made), "3").0, 409);
    assert_eq!(cluster.merge(&at(MAPS, "a"), &json!({"data": {"a": "3"}})).0, 200);
}

#[test]
fn a_merge_patch_replaces_lists_and_a_strategic_one_merges_them() {
    let cluster = Cluster::new();
    cluster.created(PODS, &pod("p", Some("n")));
    let path = format!("{}/status", at(PODS, "p"));
    let conditions = |types: &[&str]| {
        let all: Vec<_> = types.iter().map(|it| json!({"type": it, "status": "True"})).collect();
        json!({"status": {"conditions": all}})
    };
    let types = |object: &Value| object["status"]["conditions"].as_array().unwrap().len();
    assert_eq!(types(&patched(&cluster, &path, "merge-patch", &conditions(&["A", "B"])).1), 2);
    let (_, merged) = patched(&cluster, &path, "strategic-merge-patch", &conditions(&["B", "C"]));
    assert_eq!(types(&merged), 3);
    assert_eq!(types(&patched(&cluster, &path, "merge-patch", &conditions(&["C"])).1), 1);
}

#[rstest]
#[case::of_a_custom_resource("strategic-merge-patch", json!({"spec": {}}), 415)]
#[case::of_no_kind("patch", json!({}), 415)]
fn a_patch_of_a_kind_that_is_not_served_is_refused(
    #[case] kind: &str,
    #[case] body: Value,
    #[case] code: u16,
) {
    let cluster = Cluster::new();
    cluster.created(WORKLOADS, &workload("w"));
    assert_eq!(patched(&cluster, &at(WORKLOADS, "w"), kind, &body).0, code);
}

#[test]
fn a_strategic_patch_takes_items_out_of_lists() {
    let cluster = Cluster::new();
    let mut made = pod("p", Some("n"));
    made["metadata"]["finalizers"] = json!(["a", "b"]);
    cluster.created(PODS, &made);
    let body = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}});
    let (_, left) = patched(&cluster, &at(PODS, "p"), "strategic-merge-patch", &body);
    assert_eq!(left["metadata"]["finalizers"], json!(["b"]));
    let body = json!({"spec": {"containers": [{"name": "c", "$patch": "delete"}]}});
    let (_, left) = patched(&cluster, &at(PODS, "p"), "strategic-merge-patch", &body);
    assert_eq!(left["spec"]["containers"], json!([]));
}

#[test]
fn another_directive_of_a_strategic_patch_is_refused_loudly() {
    let cluster = Cluster::new();
    cluster.created(PODS, &pod("p", None));
    let body = json!({"spec": {"$setElementOrder/containers": [{"name": "c"}]}});
    let (code, status) = patched(&cluster, &at(PODS, "p"), "strategic-merge-patch", &body);
    assert_eq!(code, 501);
    assert!(message(&status).contains("$setElementOrder"), "{status}");
}
