//! Components that work for many scenarios at once: a tap for each scenario's namespace.

use std::sync::Arc;

use http::{Method, StatusCode};
use hyper::body::Incoming;
use rstest::rstest;
use serde_json::json;
use tokio::sync::mpsc::UnboundedSender;

use super::world::*;
use crate::proxy::{Effect, Fault, Log, Pattern, Scope, Tap, Times, WatchFault};

/// A tap on a namespace, with a log of its own.
fn tap(world: &World, namespace: &str) -> (Tap, Arc<TestLog>) {
    let log = Arc::new(TestLog::default());
    let own = Arc::clone(&log) as Arc<dyn Log>;
    (world.port.tap(Scope::Namespace(namespace.to_owned()), own), log)
}

/// A watch of all namespaces.
async fn watch_all(
    world: &mut World,
    connection: &mut Connection,
) -> (UnboundedSender<String>, Incoming) {
    let asked = connection.ask(Method::GET, "/api/v1/pods?watch=true", None);
    let lines = world.received().await.stream();
    (lines, asked.response().await.unwrap().into_body())
}

fn event(namespace: &str, version: u64) -> String {
    let metadata = json!({"name": "p", "namespace": namespace,
        "resourceVersion": version.to_string()});
    format!("{}\n", json!({"type": "ADDED", "object": {"metadata": metadata}}))
}

#[tokio::test]
async fn a_request_is_seen_by_the_tap_of_its_namespace_alone() {
    let mut world = World::untapped(Protocol::Http2).await;
    let ((one, log_one), (_other, log_other)) = (tap(&world, "one"), tap(&world, "other"));
    let all = Fault { times: Times::Always, ..fault(Effect::Hold, Pattern::default()) };
    let placed = one.place(all);
    let mut connection = world.connect().await;
    let held = connection.ask(Method::GET, "/api/v1/namespaces/one/pods/p", None);
    log_one.until_met().await;
    for path in ["/api/v1/namespaces/other/pods/p", "/api/v1/nodes/n", "/api/v1/pods", "/readyz"] {
        world.exchange(Method::GET, path, &json!({})).await;
    }
    assert_eq!(log_other.words(), ["get pods", "sent", "answered 200"]);
    placed.release();
    world.received().await.answer(200, &json!({}));
    assert_eq!(held.answered().await.status, StatusCode::OK);
    let numbers: Vec<_> = log_one.requests().iter().map(|request| request.request).collect();
    assert_eq!(numbers, [0], "each history counts its own requests");
}

#[rstest]
#[tokio::test]
async fn a_watch_of_all_namespaces_is_seen_as_far_as_it_is_of_the_own_one(
    #[values(true, false)] is_open_before: bool,
) {
    let mut world = World::untapped(Protocol::Http2).await;
    let mut connection = world.connect().await;
    let (lines, mut body, log, _tap);
    if is_open_before {
        (lines, body) = watch_all(&mut world, &mut connection).await;
        (_tap, log) = tap(&world, "one");
    } else {
        (_tap, log) = tap(&world, "one");
        (lines, body) = watch_all(&mut world, &mut connection).await;
    }
    for (namespace, version) in [("one", 6), ("other", 7), ("one", 8)] {
        lines.send(event(namespace, version)).unwrap();
        assert_eq!(next_line(&mut body).await, Some(event(namespace, version)));
    }
    let versions: Vec<_> =
        log.delivered().into_iter().map(|it| it.resource_version.unwrap()).collect();
    assert_eq!(versions, ["6", "8"]);
    assert_eq!(log.words()[..2], ["watch pods", "sent"]);
    drop(lines);
    assert_eq!(next_line(&mut body).await, None);
    assert_eq!(log.words().last().unwrap(), "answered 200");
}

#[tokio::test]
async fn a_watch_of_all_namespaces_can_be_silent_in_one() {
    let mut world = World::untapped(Protocol::Http1).await;
    let ((one, log), (_other, log_other)) = (tap(&world, "one"), tap(&world, "other"));
    let mut connection = world.connect().await;
    let (lines, mut body) = watch_all(&mut world, &mut connection).await;
    log.until(|what| matches!(what, crate::history::What::RequestSent(_))).await;
    let silence = Effect::Watch(WatchFault::Silence);
    let placed = one.place(fault(silence, on("watch", "pods")));
    // Nobody else's watch is ended for a scenario.
    one.place(fault(Effect::Watch(WatchFault::Cut), on("watch", "pods")));
    let all = format!("{}{}{}", event("one", 6), event("other", 7), event("one", 8));
    lines.send(all).unwrap();
    assert_eq!(next_line(&mut body).await, Some(event("other", 7)));
    assert_eq!((log.delivered().len(), log_other.delivered().len()), (0, 1));
    placed.release();
    for version in [6, 8] {
        assert_eq!(next_line(&mut body).await, Some(event("one", version)));
    }
    assert_eq!(log.delivered().len(), 2);
}

#[tokio::test]
async fn a_stall_is_one_of_the_scope() {
    let mut world = World::untapped(Protocol::Http2).await;
    let ((one, log), (_other, log_other)) = (tap(&world, "one"), tap(&world, "other"));
    let mut connection = world.connect().await;
    let (lines, mut body) = watch_all(&mut world, &mut connection).await;
    let placed = one.place(fault(Effect::Stall, on("get", "pods")));
    let stalled = connection.ask(Method::GET, "/api/v1/namespaces/one/pods/p", None);
    log.until_met().await;
    let after = connection.ask(Method::GET, "/api/v1/namespaces/one/pods/q", None);
    world.exchange(Method::GET, "/api/v1/namespaces/other/pods/p", &json!({})).await;
    lines.send(format!("{}{}", event("one", 6), event("other", 7))).unwrap();
    assert_eq!(next_line(&mut body).await, Some(event("other", 7)));
    assert_eq!(log_other.delivered().len(), 1);
    assert!(world.nothing_received());
    placed.release();
    for _ in 0..2 {
        world.received().await.answer(200, &json!({}));
    }
    for asked in [stalled, after] {
        assert_eq!(asked.answered().await.status, StatusCode::OK);
    }
    assert_eq!(next_line(&mut body).await, Some(event("one", 6)));
}

#[tokio::test]
async fn a_silence_of_one_namespace_does_not_outlast_a_watch_that_is_others_too() {
    let mut world = World::untapped(Protocol::Http2).await;
    let (one, log) = tap(&world, "one");
    let mut connection = world.connect().await;
    let (lines, mut body) = watch_all(&mut world, &mut connection).await;
    log.until(|what| matches!(what, crate::history::What::RequestSent(_))).await;
    let _placed = one.place(fault(Effect::Watch(WatchFault::Silence), Pattern::default()));
    lines.send(event("one", 6)).unwrap();
    drop(lines);
    assert_eq!(next_line(&mut body).await, Some(event("one", 6)), "it would be lost for good");
    assert_eq!(next_line(&mut body).await, None);
}

#[tokio::test]
async fn a_request_may_be_within_two_taps() {
    let mut world = World::new(Protocol::Http1).await;
    let (one, log) = tap(&world, "ns");
    let placed = one.place(fault(Effect::Hold, Pattern::default()));
    let mut connection = world.connect().await;
    let asked = connection.ask(Method::GET, &format!("{PODS}/p"), None);
    log.until_met().await;
    placed.release();
    world.received().await.answer(200, &pod(7));
    assert_eq!(asked.answered().await.status, StatusCode::OK);
    assert_eq!(world.log.words(), ["get pods", "sent @1000", "answered 200 @7"]);
    assert_eq!(log.words().len(), 6);
}
