//! Watches, and the faults that concern them.

use http::{Method, StatusCode};
use hyper::body::Incoming;
use rstest::rstest;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::world::*;
use crate::history::What;
use crate::proxy::{Effect, Pattern, Placed, WatchFault};

const WATCH: &str = "/api/v1/namespaces/ns/pods?watch=true&resourceVersion=5";

/// Opens a watch: where the API server puts its events, and where the subject gets them.
async fn open(
    world: &mut World,
    connection: &mut Connection,
) -> (UnboundedSender<String>, Incoming) {
    let asked = connection.ask(Method::GET, WATCH, None);
    let lines = world.received().await.stream();
    let response = asked.response().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    (lines, response.into_body())
}

fn place(world: &World, effect: WatchFault) -> Placed {
    world.place(Effect::Watch(effect), Pattern::default())
}

#[rstest]
#[tokio::test]
async fn what_a_watch_delivers_is_passed_on_at_once_and_logged(
    #[values(Protocol::Http1, Protocol::Http2)] protocol: Protocol,
) {
    let mut world = World::new(protocol).await;
    let mut connection = world.connect().await;
    let (lines, mut body) = open(&mut world, &mut connection).await;
    for version in [6, 7] {
        lines.send(line(version)).unwrap();
        assert_eq!(next_line(&mut body).await, Some(line(version)));
    }
    let mut halves = line(8);
    let rest = halves.split_off(30);
    lines.send(halves.clone()).unwrap();
    let frame = within(http_body_util::BodyExt::frame(&mut body)).await.unwrap().unwrap();
    assert_eq!(frame.into_data().unwrap(), halves, "not even the end of the line is waited for");
    lines.send(rest.clone()).unwrap();
    assert_eq!(next_line(&mut body).await, Some(rest));
    drop(lines);
    assert_eq!(next_line(&mut body).await, None);
    let delivered = world.log.delivered();
    let versions: Vec<_> = delivered.iter().map(|it| it.resource_version.as_deref()).collect();
    assert_eq!(versions, [Some("6"), Some("7"), Some("8")]);
    assert_eq!((delivered[0].name.as_deref(), delivered[0].uid.as_deref()), (Some("p"), Some("u")));
    assert_eq!(world.log.words().last().unwrap(), "answered 200");
    assert_eq!(world.log.requests()[0].query["resourceVersion"], "5");
}

#[rstest]
#[tokio::test]
async fn a_silent_watch_stays_open_and_delivers_everything_when_it_is_released(
    #[values(Protocol::Http1, Protocol::Http2)] protocol: Protocol,
    #[values(true, false)] is_open_before: bool,
) {
    let mut world = World::new(protocol).await;
    let mut connection = world.connect().await;
    let (placed, lines, mut body);
    if is_open_before {
        (lines, body) = open(&mut world, &mut connection).await;
        placed = place(&world, WatchFault::Silence);
    } else {
        placed = place(&world, WatchFault::Silence);
        (lines, body) = open(&mut world, &mut connection).await;
    }
    world.log.until_met().await;
    for version in [6, 7] {
        lines.send(line(version)).unwrap();
    }
    // Other requests pass, which shows that time goes on without an event.
    world.exchange(Method::GET, &format!("{PODS}/p"), &pod(7)).await;
    drop(lines);
    assert_eq!(world.log.delivered(), []);
    placed.release();
    for version in [6, 7] {
        assert_eq!(next_line(&mut body).await, Some(line(version)));
    }
    assert_eq!(next_line(&mut body).await, None, "it ended while it was silent");
    assert_eq!(world.log.delivered().len(), 2);
}

#[tokio::test]
async fn a_stalled_subject_is_told_of_nothing() {
    let mut world = World::new(Protocol::Http2).await;
    let mut connection = world.connect().await;
    let (lines, mut body) = open(&mut world, &mut connection).await;
    let placed = world.place(Effect::Stall, on("get", "pods"));
    let stalled = connection.ask(Method::GET, &format!("{PODS}/p"), None);
    world.log.until_met().await;
    lines.send(line(6)).unwrap();
    placed.release();
    world.received().await.answer(200, &pod(6));
    assert_eq!(stalled.answered().await.status, StatusCode::OK);
    assert_eq!(next_line(&mut body).await, Some(line(6)));
    let words = world.log.words();
    let at = |word: &str| words.iter().position(|it| it == word).unwrap();
    assert!(at("released") < at("delivered modified"), "{words:?}");
}

#[rstest]
#[tokio::test]
async fn a_watch_is_cut_cleanly(
    #[values(Protocol::Http1, Protocol::Http2)] protocol: Protocol,
    #[values(true, false)] is_open_before: bool,
) {
    let mut world = World::new(protocol).await;
    let mut connection = world.connect().await;
    let (_lines, mut body);
    if is_open_before {
        (_lines, body) = open(&mut world, &mut connection).await;
        place(&world, WatchFault::Cut);
    } else {
        place(&world, WatchFault::Cut);
        (_lines, body) = open(&mut world, &mut connection).await;
    }
    assert_eq!(next_line(&mut body).await, None);
    assert_eq!(world.log.words().last().unwrap(), "cut 200");
    // The next one is none of the fault's business, on the same connection.
    let (lines, mut body) = open(&mut world, &mut connection).await;
    lines.send(line(6)).unwrap();
    assert_eq!(next_line(&mut body).await, Some(line(6)));
}

#[tokio::test]
async fn a_watch_is_cut_between_two_events_only() {
    let mut world = World::new(Protocol::Http2).await;
    let mut connection = world.connect().await;
    let (lines, mut body) = open(&mut world, &mut connection).await;
    let mut begin = line(6);
    let rest = begin.split_off(30);
    lines.send(begin.clone()).unwrap();
    let frame = within(http_body_util::BodyExt::frame(&mut body)).await.unwrap().unwrap();
    assert_eq!(frame.into_data().unwrap(), begin);
    place(&world, WatchFault::Cut);
    lines.send(rest.clone()).unwrap();
    assert_eq!(next_line(&mut body).await, Some(rest));
    assert_eq!(next_line(&mut body).await, None);
}

#[rstest]
#[tokio::test]
async fn a_watch_expires(#[values(Protocol::Http1, Protocol::Http2)] protocol: Protocol) {
    let mut world = World::new(protocol).await;
    let mut connection = world.connect().await;
    let (_lines, mut body) = open(&mut world, &mut connection).await;
    place(&world, WatchFault::Expire);
    let event: Value = serde_json::from_str(&next_line(&mut body).await.unwrap()).unwrap();
    assert_eq!((&event["type"], &event["object"]["code"]), (&json!("ERROR"), &json!(410)));
    assert_eq!(next_line(&mut body).await, None);
    let words = world.log.words();
    assert_eq!(words[words.len() - 2..], ["delivered error", "cut 200"]);
}

#[rstest]
#[tokio::test]
async fn a_watch_that_begins_at_a_version_is_refused_as_expired(
    #[values(Protocol::Http1, Protocol::Http2)] protocol: Protocol,
) {
    let mut world = World::new(protocol).await;
    place(&world, WatchFault::RefuseExpired);
    world.exchange(Method::GET, PODS, &json!({"items": []})).await;
    let mut connection = world.connect().await;
    let answer = connection.ask(Method::GET, WATCH, None).answered().await;
    assert_eq!((answer.status, &answer.json()["reason"]), (StatusCode::GONE, &json!("Expired")));
    assert!(world.nothing_received());
}

#[rstest]
#[tokio::test]
async fn a_watch_that_the_subject_ends_is_ended_at_the_api_server_too(
    #[values(Protocol::Http1, Protocol::Http2)] protocol: Protocol,
) {
    let mut world = World::new(protocol).await;
    let mut connection = world.connect().await;
    let (lines, body) = open(&mut world, &mut connection).await;
    drop(body);
    connection.disconnect().await;
    within(lines.closed()).await;
    world.log.until_ended().await;
    assert_eq!(world.log.words(), ["watch pods", "sent", "givenup 200"]);
}

#[rstest]
#[tokio::test]
async fn a_watch_that_the_api_server_breaks_off_is_broken_off(
    #[values(Protocol::Http1, Protocol::Http2)] protocol: Protocol,
) {
    let mut world = World::new(protocol).await;
    let mut connection = world.connect().await;
    let (_lines, mut body) = open(&mut world, &mut connection).await;
    world.server = None;
    let frame = within(http_body_util::BodyExt::frame(&mut body)).await;
    assert!(frame.unwrap().is_err());
    let is_unreachable = |what: &What| matches!(what, What::RequestEnded(it) if it.ending == crate::history::Ending::Unreachable);
    world.log.until(is_unreachable).await;
}

#[tokio::test]
async fn a_watch_that_is_refused_is_no_watch() {
    let mut world = World::new(Protocol::Http1).await;
    place(&world, WatchFault::Silence);
    let mut connection = world.connect().await;
    let asked = connection.ask(Method::GET, WATCH, None);
    world.received().await.answer(403, &json!({"reason": "Forbidden", "message": "no"}));
    assert_eq!(asked.answered().await.status, StatusCode::FORBIDDEN);
    assert_eq!(world.log.words().last().unwrap(), "answered 403");
}
