//! Gets and lists.

use rstest::rstest;
use serde_json::json;

use super::*;

#[rstest]
#[case::no_object("/api/v1/namespaces/default/configmaps/none", 404)]
#[case::no_kind("/api/v1/namespaces/default/nothings", 404)]
#[case::no_version("/apis/batch/v2/namespaces/default/jobs", 501)]
#[case::no_group("/apis/nothing/v1/namespaces/default/jobs", 404)]
#[case::a_kind_of_the_real_one("/apis/apps/v1/namespaces/default/deployments", 501)]
#[case::a_subresource_that_is_not_here("/api/v1/namespaces/default/pods/p/log", 501)]
#[case::a_namespaced_kind_without_a_namespace("/api/v1/configmaps/one", 404)]
#[case::a_kind_without_namespaces_in_one("/api/v1/namespaces/default/nodes/one", 404)]
#[case::the_version("/version", 200)]
#[case::the_groups("/apis", 200)]
#[case::the_kinds("/apis/kueue.x-k8s.io/v1beta2", 200)]
#[case::a_namespace("/api/v1/namespaces/default", 200)]
fn what_is_there_is_read(#[case] path: &str, #[case] code: u16) {
    assert_eq!(Cluster::new().get(path).0, code);
}

#[test]
fn what_is_not_supported_is_named() {
    let (_, status) = Cluster::new().get("/apis/apps/v1/namespaces/default/deployments");
    assert!(message(&status).contains("apps/v1 deployments"), "{status}");
}

#[test]
fn a_missing_object_is_named_as_the_real_server_does() {
    let (_, status) = Cluster::new().get(&at(WORKLOADS, "w"));
    assert_eq!(message(&status), "workloads.kueue.x-k8s.io \"w\" not found");
    assert_eq!(
        status["details"],
        json!({"name": "w", "group": "kueue.x-k8s.io", "kind": "workloads"})
    );
    assert_eq!((&status["reason"], &status["code"]), (&json!("NotFound"), &json!(404)));
}

#[test]
fn a_list_has_the_latest_revision_and_what_is_selected() {
    let cluster = Cluster::new();
    cluster.created(MAPS, &labelled("a", "1"));
    cluster.created(MAPS, &labelled("b", "2"));
    cluster.created("/api/v1/namespaces/kube-system/configmaps", &labelled("c", "1"));
    let names = |path: &str| {
        let list = cluster.object(path);
        let items = list["items"].as_array().unwrap();
        items
            .iter()
            .map(|it| it["metadata"]["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(MAPS), ["a", "b"]);
    assert_eq!(names("/api/v1/configmaps?labelSelector=l%3D1"), ["a", "c"]);
    assert_eq!(names(&format!("{MAPS}?fieldSelector=metadata.name%3Db")), ["b"]);
    let list = cluster.object(MAPS);
    assert_eq!(version(&list), cluster.server.revision().to_string());
    assert_eq!(list["kind"], "ConfigMapList");
}

#[test]
fn pages_are_of_one_revision() {
    let cluster = Cluster::new();
    for name in ["a", "b", "c"] {
        cluster.created(MAPS, &map(name, "1"));
    }
    let first = cluster.object(&format!("{MAPS}?limit=2"));
    assert_eq!(first["metadata"]["remainingItemCount"], 1);
    cluster.created(MAPS, &map("d", "1"));
    cluster.merge(&at(MAPS, "c"), &json!({"data": {"a": "2"}}));
    let token = first["metadata"]["continue"].as_str().unwrap();
    let second = cluster.object(&format!("{MAPS}?limit=2&continue={token}"));
    let items = second["items"].as_array().unwrap();
    assert_eq!((items.len(), &items[0]["data"]["a"]), (1, &json!("1")));
    assert_eq!(version(&second), version(&first));
    cluster.server.compact();
    let (code, status) = cluster.get(&format!("{MAPS}?limit=2&continue={token}"));
    assert_eq!((code, &status["reason"]), (410, &json!("Expired")));
}

#[test]
fn what_is_older_than_the_last_compaction_but_one_is_forgotten() {
    let cluster = Cluster::new();
    let first = cluster.created(MAPS, &map("a", "1"));
    cluster.created(MAPS, &map("b", "1"));
    let path = format!("{MAPS}?resourceVersion={}&resourceVersionMatch=Exact", version(&first));
    let codes = [0, 300, 299, 1].map(|seconds| {
        cluster.pass(seconds);
        cluster.get(&path).0
    });
    assert_eq!(codes, [200, 200, 200, 410]);
    assert_eq!(cluster.object(MAPS)["items"].as_array().unwrap().len(), 2);
}

#[test]
fn a_revision_that_is_not_there_yet_is_refused() {
    let (code, status) = Cluster::new().get(&format!("{MAPS}?resourceVersion=99"));
    assert_eq!(code, 504);
    assert_eq!(message(&status), "Too large resource version: 99, current: 4");
}

#[test]
fn metadata_alone_is_given_to_who_asks_for_it() {
    let cluster = Cluster::new();
    cluster.created(MAPS, &map("a", "1"));
    let partial = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let (_, one) = cluster.client().get_as(&at(MAPS, "a"), partial);
    assert_eq!((&one["kind"], one.get("data")), (&json!("PartialObjectMetadata"), None));
    let partials = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let (_, list) = cluster.client().get_as(MAPS, partials);
    assert_eq!(list["kind"], "PartialObjectMetadataList");
    assert_eq!(list["items"][0], one);
    assert_eq!(
        cluster.client().get_as(MAPS, "application/json;as=Table;g=meta.k8s.io;v=v1").0,
        501
    );
    assert_eq!(cluster.client().get_as(MAPS, "application/vnd.kubernetes.protobuf").0, 406);
}
