//! Watches.

use rstest::rstest;
use serde_json::json;

use super::*;

#[tokio::test]
async fn a_watch_tells_what_happens_after_its_version() {
    let cluster = Cluster::new();
    let first = cluster.created(MAPS, &map("a", "1"));
    cluster.created(MAPS, &map("b", "1"));
    let mut lines =
        cluster.watch(&format!("{MAPS}?watch=true&resourceVersion={}", version(&first)));
    cluster.merge(&at(MAPS, "a"), &json!({"data": {"a": "2"}}));
    cluster.delete(&at(MAPS, "b"), &Value::Null);
    assert_eq!(lines.told(3).await, ["ADDED b", "MODIFIED a", "DELETED b"]);
}

#[tokio::test]
async fn versions_go_up_in_a_watch_and_the_last_is_that_of_the_end() {
    let cluster = Cluster::new();
    let mut lines = cluster.watch(&format!("{MAPS}?watch=1"));
    cluster.created(MAPS, &map("a", "1"));
    cluster.merge(&at(MAPS, "a"), &json!({"data": {"a": "2"}}));
    cluster.delete(&at(MAPS, "a"), &Value::Null);
    let mut versions: Vec<u64> = Vec::new();
    for _ in 0..3 {
        versions.push(version(&lines.next().await.unwrap()["object"]).parse().unwrap());
    }
    assert!(versions.is_sorted_by(|a, b| a < b), "{versions:?}");
    assert_eq!(versions.last(), Some(&cluster.server.revision()));
}

#[rstest]
#[case::no_version("")]
#[case::zero("&resourceVersion=0")]
#[tokio::test]
async fn a_watch_from_nowhere_begins_with_what_is_there(#[case] version: &str) {
    let cluster = Cluster::new();
    cluster.created(MAPS, &map("a", "1"));
    let mut lines = cluster.watch(&format!("{MAPS}?watch=true{version}"));
    cluster.created(MAPS, &map("b", "1"));
    assert_eq!(lines.told(2).await, ["ADDED a", "ADDED b"]);
}

#[tokio::test]
async fn what_comes_into_a_selection_is_added_and_what_leaves_it_is_deleted() {
    let cluster = Cluster::new();
    let mut lines = cluster.watch(&format!("{MAPS}?watch=true&labelSelector=l%3D1"));
    cluster.created(MAPS, &labelled("a", "2"));
    let label =
        |to: &str| cluster.merge(&at(MAPS, "a"), &json!({"metadata": {"labels": {"l": to}}}));
    label("1");
    let left = label("3").1;
    cluster.delete(&at(MAPS, "a"), &Value::Null);
    cluster.created(MAPS, &labelled("b", "1"));
    assert_eq!(lines.next().await.unwrap()["type"], "ADDED");
    let deleted = lines.next().await.unwrap();
    assert_eq!(
        (&deleted["type"], version(&deleted["object"])),
        (&json!("DELETED"), version(&left))
    );
    assert_eq!(deleted["object"]["metadata"]["labels"]["l"], "1");
    assert_eq!(lines.told(1).await, ["ADDED b"]);
}

#[tokio::test]
async fn a_watch_from_a_version_that_is_forgotten_ends_with_expired() {
    let cluster = Cluster::new();
    let made = cluster.created(MAPS, &map("a", "1"));
    cluster.created(MAPS, &map("b", "1"));
    cluster.server.compact();
    let mut lines = cluster.watch(&format!("{MAPS}?watch=true&resourceVersion={}", version(&made)));
    let event = lines.next().await.unwrap();
    assert_eq!(event["type"], "ERROR");
    assert_eq!(
        (&event["object"]["code"], &event["object"]["reason"]),
        (&json!(410), &json!("Expired"))
    );
    assert!(lines.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_when_its_time_is_over_after_a_last_bookmark() {
    let cluster = Cluster::new();
    let path = format!("{MAPS}?watch=true&resourceVersion=4&timeoutSeconds=90");
    let mut lines = cluster.watch(&format!("{path}&allowWatchBookmarks=true"));
    let mut without = cluster.watch(&path);
    cluster.created(PODS, &pod("p", None));
    for _ in 0..2 {
        let mark = lines.next().await.unwrap();
        assert_eq!((&mark["type"], version(&mark["object"])), (&json!("BOOKMARK"), "5"));
        assert_eq!(mark["object"]["kind"], "ConfigMap");
    }
    assert!(lines.next().await.is_none());
    assert!(without.next().await.is_none());
}

#[tokio::test]
async fn a_watch_of_metadata_tells_no_more() {
    let cluster = Cluster::new();
    let partial = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let mut lines = cluster.client().watch(&format!("{MAPS}?watch=true"), partial);
    cluster.created(MAPS, &map("a", "1"));
    let event = lines.next().await.unwrap();
    assert_eq!((&event["type"], event["object"].get("data")), (&json!("ADDED"), None));
    assert_eq!(event["object"]["kind"], "PartialObjectMetadata");
}

#[test]
fn a_streaming_list_is_refused_as_by_a_server_without_it() {
    let path = format!("{MAPS}?watch=true&sendInitialEvents=true");
    assert_eq!(Cluster::new().get(&path).0, 422);
}
