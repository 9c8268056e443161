//! Every effect of a fault on a request.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode};
use rstest::rstest;
use serde_json::json;

use super::world::*;
use crate::proxy::{Effect, Pattern, Refusal, Sets, Signal, When};

const RUNNING: &str = "/apis/batch/v1/namespaces/ns/jobs/j";

#[rstest]
#[case::hold(Effect::Hold)]
#[case::stall(Effect::Stall)]
#[case::delay(Effect::Delay(Duration::from_hours(1)))]
#[tokio::test]
async fn a_held_request_is_forwarded_when_it_is_released(
    #[case] effect: Effect,
    #[values(Protocol::Http1, Protocol::Http2)] protocol: Protocol,
) {
    let mut world = World::new(protocol).await;
    let placed = world.place(effect, on("patch", "jobs"));
    let mut connection = world.connect().await;
    let asked = connection.ask(Method::PATCH, RUNNING, Some(&json!({})));
    world.log.until_met().await;
    assert!(world.nothing_received());
    placed.release();
    world.received().await.answer(200, &json!({"metadata": {"resourceVersion": "1007"}}));
    assert_eq!(asked.answered().await.status, StatusCode::OK);
    let words = world.log.words();
    let expected =
        ["placed", "patch jobs", "met @1000", "released", "sent @1000", "answered 200 @1007"];
    assert_eq!(words, expected);
}

#[tokio::test]
async fn a_delay_is_over_by_itself() {
    let mut world = World::new(Protocol::Http1).await;
    let _placed = world.place(Effect::Delay(Duration::from_millis(1)), Pattern::default());
    world.exchange(Method::GET, RUNNING, &json!({})).await;
    assert_eq!(world.log.words()[3], "sent @1000", "it came later than it arrived");
}

#[rstest]
#[tokio::test]
async fn everything_after_a_stalled_request_waits_and_nothing_else_does(
    #[values(Protocol::Http1, Protocol::Http2)] protocol: Protocol,
) {
    let mut world = World::new(protocol).await;
    let mut before = world.connect().await;
    let earlier = before.ask(Method::GET, RUNNING, None);
    let reached = world.received().await;
    let placed = world.place(Effect::Stall, on("patch", "jobs"));

    let (mut one, mut other) = (world.connect().await, world.connect().await);
    let stalled = one.ask(Method::PATCH, RUNNING, Some(&json!({})));
    world.log.until_met().await;
    let lease = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l";
    let renewal = other.ask(Method::PUT, lease, Some(&json!({})));
    world
        .log
        .until(|what| matches!(what, crate::history::What::Request(it) if it.resource == "leases"))
        .await;
    // What was on its way before is answered.
    reached.answer(200, &json!({}));
    assert_eq!(earlier.answered().await.status, StatusCode::OK);
    assert!(world.nothing_received());

    placed.release();
    for _ in 0..2 {
        world.received().await.answer(200, &json!({}));
    }
    for asked in [stalled, renewal] {
        assert_eq!(asked.answered().await.status, StatusCode::OK);
    }
    let sent: Vec<_> = world.log.words().into_iter().filter(|it| it.starts_with("sent")).collect();
    assert_eq!(sent, ["sent", "sent @1000", "sent @1000"]);
}

#[rstest]
#[tokio::test]
async fn many_held_requests_do_not_keep_others_of_the_same_connection_from_passing(
    #[values(400)] held: u32,
) {
    let mut world = World::new(Protocol::Http2).await;
    let at = Pattern { resource: Some("jobs".to_owned()), ..Pattern::default() };
    let _placed = world.tap().place(crate::proxy::Fault {
        times: crate::proxy::Times::Always,
        ..fault(Effect::Hold, at)
    });
    let mut connection = world.connect().await;
    let _held: Vec<_> = (0..held).map(|_| connection.ask(Method::GET, RUNNING, None)).collect();
    let asked = connection.ask(Method::GET, &format!("{PODS}/p"), None);
    let received = world.received().await;
    assert_eq!(received.path(), format!("{PODS}/p"));
    received.answer(200, &pod(1));
    assert_eq!(asked.answered().await.status, StatusCode::OK);
}

#[rstest]
#[tokio::test]
async fn a_fault_may_answer_in_the_api_servers_place(
    #[values(Protocol::Http1, Protocol::Http2)] protocol: Protocol,
    #[values(
        (Refusal::Forbidden, 403), (Refusal::Conflict, 409), (Refusal::Expired, 410),
        (Refusal::TooManyRequests, 429), (Refusal::InternalError, 500),
        (Refusal::ServiceUnavailable, 503), (Refusal::Timeout, 504)
    )]
    answer: (Refusal, u16),
) {
    let (refusal, status) = answer;
    let mut world = World::new(protocol).await;
    let _placed = world.place(Effect::Answer(refusal), on("get", "pods"));
    let mut connection = world.connect().await;
    let answer = connection.ask(Method::GET, &format!("{PODS}/p"), None).answered().await;
    assert_eq!(answer.status, status);
    assert_eq!(answer.json()["code"], status);
    assert_eq!(answer.headers.contains_key("retry-after"), status == 429);
    let ended = format!("answeredinstead {status}");
    assert_eq!(world.log.words(), ["placed", "get pods", "met @1000", &ended]);
    assert!(world.log.ended()[0].refused.is_some());
    assert!(world.nothing_received());
    // It was placed once: the next one passes.
    world.exchange(Method::GET, &format!("{PODS}/p"), &pod(1)).await;
}

#[rstest]
#[tokio::test]
async fn a_lost_request_never_reaches_the_api_server(
    #[values(Protocol::Http1, Protocol::Http2)] protocol: Protocol,
) {
    let mut world = World::new(protocol).await;
    let _placed = world.place(Effect::LoseRequest, on("get", "pods"));
    let mut connection = world.connect().await;
    assert!(connection.ask(Method::GET, &format!("{PODS}/p"), None).ends_without_answer().await);
    assert!(world.nothing_received());
    assert_eq!(world.log.words(), ["placed", "get pods", "met @1000", "requestlost 0"]);
    // With HTTP/2 only the stream is gone, with HTTP/1.1 the connection.
    let again = connection.ask(Method::GET, &format!("{PODS}/p"), None);
    match protocol {
        Protocol::Http1 => assert!(again.ends_without_answer().await),
        Protocol::Http2 => {
            world.received().await.answer(200, &pod(1));
            assert_eq!(again.answered().await.status, StatusCode::OK);
        }
    }
}

#[rstest]
#[tokio::test]
async fn a_lost_answer_is_one_of_a_request_that_was_applied(
    #[values(Protocol::Http1, Protocol::Http2)] protocol: Protocol,
) {
    let mut world = World::new(protocol).await;
    let _placed = world.place(Effect::LoseAnswer, on("create", "pods"));
    let mut connection = world.connect().await;
    let asked = connection.ask(Method::POST, PODS, Some(&pod(0)));
    world.received().await.answer(201, &pod(17));
    assert!(asked.ends_without_answer().await);
    let expected = ["placed", "create pods", "sent", "met @1000", "answerlost 201 @17"];
    assert_eq!(world.log.words(), expected);
    assert_eq!(world.log.ended()[0].uid.as_deref(), Some("u"));
}

#[tokio::test]
async fn the_answer_of_a_conflict_is_not_lost_but_that_of_the_next_try_is() {
    let mut world = World::new(Protocol::Http1).await;
    let _placed = world.place(Effect::LoseAnswer, on("patch", "jobs"));
    let mut connection = world.connect().await;
    let asked = connection.ask(Method::PATCH, RUNNING, Some(&json!({})));
    world.received().await.answer(409, &json!({"reason": "Conflict"}));
    assert_eq!(asked.answered().await.status, StatusCode::CONFLICT);
    let asked = connection.ask(Method::PATCH, RUNNING, Some(&json!({})));
    world.received().await.answer(200, &json!({"metadata": {"resourceVersion": "17"}}));
    assert!(asked.ends_without_answer().await);
    let words = world.log.words();
    assert_eq!(
        words[3..],
        ["answered 409", "patch jobs", "sent", "met @1000", "answerlost 200 @17"]
    );
}

#[rstest]
#[case::before(When::Before, &["placed", "create pods", "met @1000", "requestlost 0"])]
#[case::after(When::After, &["placed", "create pods", "sent", "met @1000", "answerlost 201 @17"])]
#[tokio::test]
async fn a_subject_is_killed_before_or_after_its_request(
    #[case] when: When,
    #[case] expected: &[&str],
    #[values(Protocol::Http1, Protocol::Http2)] protocol: Protocol,
) {
    let mut world = World::new(protocol).await;
    let signals = Arc::new(TestSignals::default());
    world.port.signals(Arc::clone(&signals) as Arc<dyn crate::proxy::Signals>);
    let _placed = world.place(Effect::Signal(Signal::Kill, when), on("create", "pods"));
    let mut connection = world.connect().await;
    let asked = connection.ask(Method::POST, PODS, Some(&pod(0)));
    if when == When::After {
        let received = world.received().await;
        assert_eq!(signals.counts(), (0, 0), "not before the API server has answered");
        received.answer(201, &pod(17));
    }
    assert!(asked.ends_without_answer().await);
    assert_eq!(signals.counts(), (1, 0));
    assert_eq!(world.log.words(), expected);
    assert!(world.nothing_received());
}

#[tokio::test]
async fn a_subject_that_is_frozen_before_its_request_sends_it_when_it_is_released() {
    let mut world = World::new(Protocol::Http2).await;
    let signals = Arc::new(TestSignals::default());
    world.port.signals(Arc::clone(&signals) as Arc<dyn crate::proxy::Signals>);
    let placed = world.place(Effect::Signal(Signal::Freeze, When::Before), on("create", "pods"));
    let mut connection = world.connect().await;
    let asked = connection.ask(Method::POST, PODS, Some(&pod(0)));
    world.log.until_met().await;
    assert_eq!(signals.counts(), (0, 1));
    assert!(world.nothing_received());
    placed.release();
    world.received().await.answer(201, &pod(1017));
    assert_eq!(asked.answered().await.status, StatusCode::CREATED);
    assert_eq!(world.log.words()[4], "sent @1000");
}

#[tokio::test]
async fn a_subject_that_is_frozen_after_its_request_finds_the_answer_when_it_wakes_up() {
    let mut world = World::new(Protocol::Http1).await;
    let signals = Arc::new(TestSignals::default());
    world.port.signals(Arc::clone(&signals) as Arc<dyn crate::proxy::Signals>);
    let _placed = world.place(Effect::Signal(Signal::Freeze, When::After), on("create", "pods"));
    let mut connection = world.connect().await;
    let asked = connection.ask(Method::POST, PODS, Some(&pod(0)));
    world.received().await.answer(201, &pod(17));
    assert_eq!(asked.answered().await.status, StatusCode::CREATED);
    assert_eq!(signals.counts(), (0, 1));
    let expected = ["placed", "create pods", "sent", "met @1000", "answered 201 @17"];
    assert_eq!(world.log.words(), expected);
}

#[rstest]
#[case::signal_nobody(Effect::Signal(Signal::Kill, When::Before), json!({}))]
#[case::change_a_list_of_operations(Effect::Change(json!({"a": 1})), json!([]))]
#[tokio::test]
async fn what_the_proxy_cannot_do_is_said_loudly(
    #[case] effect: Effect,
    #[case] body: serde_json::Value,
) {
    let mut world = World::new(Protocol::Http1).await;
    let _placed = world.place(effect, on("create", "pods"));
    let answer = world.connect().await.ask(Method::POST, PODS, Some(&body)).answered().await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    let message = answer.json()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("cannot do what a fault asks for"), "{message}");
    assert!(world.nothing_received());
}

#[rstest]
#[tokio::test]
async fn a_body_is_changed_on_its_way(
    #[values(Protocol::Http1, Protocol::Http2)] protocol: Protocol,
) {
    let mut world = World::new(protocol).await;
    let change = json!({"metadata": {"labels": {"added": "1"}}, "spec": {"taken": null}});
    let _placed = world.place(Effect::Change(change), on("create", "pods"));
    let mut connection = world.connect().await;
    let written = json!({"metadata": {"name": "p"}, "spec": {"kept": 1, "taken": 2}});
    let asked = connection.ask(Method::POST, PODS, Some(&written));
    let received = world.received().await;
    let changed = json!({
        "metadata": {"name": "p", "labels": {"added": "1"}}, "spec": {"kept": 1},
    });
    assert_eq!(received.body(), changed);
    received.answer(201, &pod(17));
    assert_eq!(asked.answered().await.status, StatusCode::CREATED);
    assert_eq!(world.log.requests()[0].body, Some(written), "what the subject wrote");
    assert_eq!(world.log.sent()[0].changed_body, Some(changed), "what the API server got");
}

#[tokio::test]
async fn faults_work_together() {
    let mut world = World::new(Protocol::Http2).await;
    let slow = Effect::Delay(Duration::from_millis(1));
    let slow = world.tap().place(crate::proxy::Fault {
        times: crate::proxy::Times::Always,
        ..fault(slow, Pattern::default())
    });
    let at = Pattern { sets: vec![Sets::Suspend(true)], ..on("patch", "jobs") };
    let _lost = world.place(Effect::LoseAnswer, at);
    let mut connection = world.connect().await;
    let asked = connection.ask(Method::PATCH, RUNNING, Some(&json!({"spec": {"suspend": true}})));
    world.received().await.answer(200, &json!({}));
    assert!(asked.ends_without_answer().await);
    slow.remove();
    let expected = [
        "placed",
        "placed",
        "patch jobs",
        "met @1000",
        "sent @1000",
        "met @1000",
        "answerlost 200",
        "removed",
    ];
    assert_eq!(world.log.words(), expected);
    slow.remove();
    slow.release();
    assert_eq!(world.log.words().len(), expected.len(), "it was gone already");
}

#[tokio::test]
async fn the_write_of_a_go_controller_in_protobuf_is_known_by_its_name() {
    let mut world = World::new(Protocol::Http2).await;
    let at = Pattern { object: Some("dj-s1".to_owned()), ..on("create", "jobs") };
    let placed = world.place(Effect::Hold, at);
    let mut connection = world.connect().await;
    // apiVersion batch/v1, kind Job; metadata.name dj-s1-node-0.
    let body = b"k8s\0\x0a\x0f\x0a\x08batch/v1\x12\x03Job\x12\x10\x0a\x0e\x0a\x0cdj-s1-node-0";
    let headers = [("content-type", "application/vnd.kubernetes.protobuf")];
    let path = "/apis/batch/v1/namespaces/ns/jobs";
    let asked = connection.ask_with(Method::POST, path, &headers, body.as_slice().into());
    world.log.until_met().await;
    placed.release();
    let received = world.received().await;
    assert_eq!(received.request.body().as_ref(), body.as_slice(), "it is passed on as it is");
    received.answer(201, &json!({}));
    assert_eq!(asked.answered().await.status, StatusCode::CREATED);
    assert_eq!(world.log.requests()[0].name.as_deref(), Some("dj-s1-node-0"));
}
