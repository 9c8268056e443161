//! Subjects, API servers, taps and ports that end while requests are open.

use http::{Method, StatusCode};
use rstest::rstest;
use serde_json::json;

use super::world::*;
use crate::history::Ending;
use crate::proxy::Effect;

#[rstest]
#[tokio::test]
async fn a_held_request_is_forwarded_even_if_the_subject_gave_up_on_it(
    #[values(Protocol::Http1, Protocol::Http2)] protocol: Protocol,
) {
    let mut world = World::new(protocol).await;
    let placed = world.place(Effect::Hold, on("create", "pods"));
    let mut connection = world.connect().await;
    let asked = connection.ask(Method::POST, PODS, Some(&pod(0)));
    world.log.until_met().await;
    connection.disconnect().await;
    assert!(asked.ends_without_answer().await);
    placed.release();
    world.received().await.answer(201, &pod(1017));
    world.log.until_ended().await;
    let expected =
        ["placed", "create pods", "met @1000", "released", "sent @1000", "givenup 201 @1017"];
    assert_eq!(world.log.words(), expected);
}

#[rstest]
#[tokio::test]
async fn a_request_that_was_sent_is_logged_to_its_end_when_the_subject_gives_up(
    #[values(Protocol::Http1, Protocol::Http2)] protocol: Protocol,
) {
    let mut world = World::new(protocol).await;
    let mut connection = world.connect().await;
    let asked = connection.ask(Method::POST, PODS, Some(&pod(0)));
    let received = world.received().await;
    connection.disconnect().await;
    assert!(asked.ends_without_answer().await);
    received.answer(201, &pod(17));
    world.log.until_ended().await;
    assert_eq!(world.log.words(), ["create pods", "sent", "givenup 201 @17"]);
}

#[rstest]
#[tokio::test]
async fn an_answer_that_the_subject_left_in_the_middle_is_logged_to_its_end(
    #[values(Protocol::Http1, Protocol::Http2)] protocol: Protocol,
) {
    let mut world = World::new(protocol).await;
    let mut connection = world.connect().await;
    let asked = connection.ask(Method::GET, PODS, None);
    let pieces = world.received().await.stream();
    pieces.send(format!(r#"{{"x": "{}","#, "x".repeat(1 << 20))).unwrap();
    let response = asked.response().await.unwrap();
    drop(response);
    connection.disconnect().await;
    pieces.send(format!(r#""y": "{}","#, "y".repeat(8 << 20))).unwrap();
    pieces.send(r#""metadata": {"resourceVersion": "17"}, "items": [1]}"#.to_owned()).unwrap();
    drop(pieces);
    world.log.until_ended().await;
    let end = &world.log.ended()[0];
    assert_eq!((end.ending, end.items), (Ending::GivenUp, Some(1)));
}

#[rstest]
#[tokio::test]
async fn an_api_server_that_is_gone_is_told_to_the_subject(
    #[values(Protocol::Http1, Protocol::Http2)] protocol: Protocol,
) {
    let mut world = World::new(protocol).await;
    world.server = None;
    let mut connection = world.connect().await;
    let answer = connection.ask(Method::GET, PODS, None).answered().await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
    assert_eq!(answer.json()["kind"], "Status");
    assert_eq!(world.log.words(), ["list pods", "sent", "unreachable 502"]);
}

#[rstest]
#[tokio::test]
async fn an_api_server_that_breaks_off_leaves_the_outcome_open(
    #[values(Protocol::Http1, Protocol::Http2)] protocol: Protocol,
) {
    let mut world = World::new(protocol).await;
    let mut connection = world.connect().await;
    let asked = connection.ask(Method::POST, PODS, Some(&pod(0)));
    drop(world.received().await);
    let answer = asked.answered().await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
    assert_eq!(world.log.words(), ["create pods", "sent", "unreachable 502"]);
    assert!(world.nothing_received(), "it was not sent again");
}

#[rstest]
#[tokio::test]
async fn an_answer_that_breaks_off_is_broken_off(
    #[values(Protocol::Http1, Protocol::Http2)] protocol: Protocol,
    #[values(1, 1 << 20)] bytes: usize,
) {
    let mut world = World::new(protocol).await;
    let mut connection = world.connect().await;
    let asked = connection.ask(Method::GET, PODS, None);
    let pieces = world.received().await.stream();
    pieces.send("x".repeat(bytes)).unwrap();
    // The second piece shows that the first has arrived.
    pieces.send("y".to_owned()).unwrap();
    world.server = None;
    let is_whole = match asked.response().await {
        Ok(response) => within(http_body_util::BodyExt::collect(response)).await.is_ok(),
        Err(_) => false,
    };
    assert!(!is_whole);
    world.log.until_ended().await;
    assert_eq!(world.log.ended()[0].ending, Ending::Unreachable);
    drop(pieces);
}

#[rstest]
#[tokio::test]
async fn what_a_tap_held_goes_on_when_it_is_dropped_and_nothing_more_is_logged(
    #[values(Protocol::Http1, Protocol::Http2)] protocol: Protocol,
    #[values(Effect::Hold, Effect::Stall)] effect: Effect,
) {
    let mut world = World::new(protocol).await;
    let _placed = world.place(effect, on("create", "pods"));
    let mut connection = world.connect().await;
    let asked = connection.ask(Method::POST, PODS, Some(&pod(0)));
    world.log.until_met().await;
    world.tap = None;
    world.received().await.answer(201, &pod(17));
    assert_eq!(asked.answered().await.status, StatusCode::CREATED);
    world.exchange(Method::GET, PODS, &json!({})).await;
    assert_eq!(world.log.words(), ["placed", "create pods", "met @1000"]);
}

#[tokio::test]
async fn dropping_what_was_placed_changes_nothing() {
    let mut world = World::new(Protocol::Http1).await;
    drop(world.place(Effect::Hold, on("create", "pods")));
    let mut connection = world.connect().await;
    let _asked = connection.ask(Method::POST, PODS, Some(&pod(0)));
    world.log.until_met().await;
    assert!(world.nothing_received());
}

#[rstest]
#[tokio::test]
async fn a_port_that_is_dropped_ends_its_connections(
    #[values(Protocol::Http1, Protocol::Http2)] protocol: Protocol,
) {
    let mut world = World::new(protocol).await;
    let mut connection = world.connect().await;
    let asked = connection.ask(Method::GET, PODS, None);
    let received = world.received().await;
    let address = world.port.server().strip_prefix("https://").unwrap().to_owned();
    let other = world.proxy.port(SUBJECT).await.unwrap();
    drop(std::mem::replace(&mut world.port, other));
    assert!(asked.ends_without_answer().await);
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
    received.answer(200, &json!({}));
    world.log.until_ended().await;
    assert_eq!(world.log.ended()[0].ending, Ending::GivenUp);
}
