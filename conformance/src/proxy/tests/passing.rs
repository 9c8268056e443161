//! Requests that no fault concerns.

use http::{Method, StatusCode};
use hyper::body::Bytes;
use rstest::rstest;
use serde_json::json;

use super::world::*;
use crate::history::{Ending, PatchKind};

#[rstest]
#[tokio::test]
async fn a_request_goes_on_with_its_own_credentials_and_is_logged_from_end_to_end(
    #[values(Protocol::Http1, Protocol::Http2)] protocol: Protocol,
) {
    let mut world = World::new(protocol).await;
    let mut connection = world.connect().await;
    let body = json!({"metadata": {"annotations": {"a": "b"}}});
    let path = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/j?fieldManager=me";
    let asked = connection.ask(Method::PATCH, path, Some(&body));

    let received = world.received().await;
    let headers = received.request.headers();
    assert_eq!(headers["authorization"], format!("Bearer {TOKEN}"));
    assert!(!headers.contains_key("accept-encoding"), "answers have to be readable");
    assert_eq!(received.request.uri().query(), Some("fieldManager=me"));
    assert_eq!((received.request.method(), received.body()), (&Method::PATCH, body.clone()));
    assert_eq!(world.log.words(), ["patch trainjobs", "sent"]);
    received.answer(200, &json!({"metadata": {"uid": "u", "resourceVersion": "17"}}));

    let answer = asked.answered().await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.json(), json!({"metadata": {"uid": "u", "resourceVersion": "17"}}));
    assert_eq!(world.log.words(), ["patch trainjobs", "sent", "answered 200 @17"]);
    let request = &world.log.requests()[0];
    assert_eq!((request.from, request.name.as_deref()), (SUBJECT, Some("j")));
    assert_eq!(request.group, "trainer.kubeflow.org");
    assert_eq!((request.patch, request.body.as_ref()), (Some(PatchKind::Merge), Some(&body)));
    assert_eq!(request.query["fieldManager"], "me");
    assert_eq!(request.user.as_deref(), Some("me"));
    let end = &world.log.ended()[0];
    assert_eq!((end.request, end.uid.as_deref()), (request.request, Some("u")));
}

#[rstest]
#[tokio::test]
async fn a_refusal_of_the_api_server_is_passed_on_and_logged(
    #[values(Protocol::Http1, Protocol::Http2)] protocol: Protocol,
) {
    let mut world = World::new(protocol).await;
    let mut connection = world.connect().await;
    let asked = connection.ask(Method::PUT, &format!("{PODS}/p"), Some(&pod(3)));
    let status = json!({"kind": "Status", "reason": "Conflict", "message": "no", "code": 409});
    world.received().await.answer(409, &status);
    let answer = asked.answered().await;
    assert_eq!((answer.status, answer.json()), (StatusCode::CONFLICT, status));
    let end = &world.log.ended()[0];
    assert_eq!(end.refused.as_ref().unwrap().reason, "Conflict");
    assert_eq!(world.log.requests()[0].precondition(), Some("3"));
}

#[rstest]
#[tokio::test]
async fn big_bodies_pass_in_both_directions(
    #[values(Protocol::Http1, Protocol::Http2)] protocol: Protocol,
) {
    let mut world = World::new(protocol).await;
    let mut connection = world.connect().await;
    let big = json!({"metadata": {"name": "p"}, "data": "x".repeat(3 << 20)});
    let asked = connection.ask(Method::POST, PODS, Some(&big));
    let received = world.received().await;
    assert_eq!(received.body(), big);
    let list = json!({"metadata": {"resourceVersion": "9"}, "items": vec![&big; 3]});
    received.answer(200, &list);
    assert_eq!(asked.answered().await.json(), list);
    let end = &world.log.ended()[0];
    assert_eq!((end.ending, end.items), (Ending::Answered, Some(3)));
    assert_eq!(end.resource_version.as_deref(), Some("9"));
}

#[rstest]
#[tokio::test]
async fn a_body_that_no_api_server_would_take_is_refused(
    #[values(Protocol::Http1, Protocol::Http2)] protocol: Protocol,
) {
    let mut world = World::new(protocol).await;
    let mut connection = world.connect().await;
    let huge = Bytes::from(vec![b'x'; (16 << 20) + 1]);
    let asked = connection.ask_with(Method::POST, PODS, &[], huge);
    // With HTTP/1.1 the connection may be closed before the body was sent, and the answer lost.
    if let Ok(response) = asked.response().await {
        assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
    }
    assert!(world.nothing_received());
}

#[tokio::test]
async fn a_log_that_is_followed_is_passed_on_as_it_comes() {
    let mut world = World::new(Protocol::Http1).await;
    let mut connection = world.connect().await;
    let asked = connection.ask(Method::GET, &format!("{PODS}/p/log?follow=true"), None);
    let lines = world.received().await.stream();
    let mut body = asked.response().await.unwrap().into_body();
    for text in ["one\n", "two\n"] {
        lines.send(text.to_owned()).unwrap();
        assert_eq!(next_line(&mut body).await.as_deref(), Some(text));
    }
    drop(lines);
    assert_eq!(next_line(&mut body).await, None);
    assert_eq!(world.log.words(), ["get pods", "sent", "answered 200"]);
}

#[rstest]
#[tokio::test]
async fn a_hundred_requests_at_once_are_told_apart(
    #[values(Protocol::Http1, Protocol::Http2)] protocol: Protocol,
) {
    let mut world = World::new(protocol).await;
    let mut connections = Vec::new();
    let mut asked = Vec::new();
    for number in 0..100 {
        if connections.is_empty() || matches!(protocol, Protocol::Http1) {
            connections.push(world.connect().await);
        }
        let path = format!("{PODS}/p{number}");
        asked.push((path.clone(), connections.last_mut().unwrap().ask(Method::GET, &path, None)));
    }
    let mut received = Vec::new();
    while received.len() < 100 {
        received.push(world.received().await);
    }
    for one in received {
        let path = one.path().to_owned();
        one.answer(200, &json!({"path": path}));
    }
    for (path, asked) in asked {
        assert_eq!(asked.answered().await.json()["path"], path);
    }
    assert_eq!(world.log.ended().len(), 100);
}

#[tokio::test]
async fn what_leaves_http_is_refused() {
    let mut world = World::new(Protocol::Http1).await;
    let mut connection = world.connect().await;
    let headers = [("connection", "Upgrade"), ("upgrade", "websocket")];
    let path = format!("{PODS}/p/exec?command=sh");
    let asked = connection.ask_with(Method::GET, &path, &headers, Bytes::new());
    let answer = asked.answered().await;
    assert_eq!(answer.status, StatusCode::NOT_IMPLEMENTED);
    assert_eq!(answer.json()["kind"], "Status");
    assert_eq!(world.log.words(), ["get pods", "answeredinstead 501"]);
    assert!(world.nothing_received());
}

#[tokio::test]
async fn without_a_tap_requests_pass_unlogged() {
    let mut world = World::untapped(Protocol::Http2).await;
    let answer = world.exchange(Method::GET, &format!("{PODS}/p"), &pod(7)).await;
    assert_eq!(answer.json(), pod(7));
    assert_eq!(world.log.words(), [""; 0]);
}

#[tokio::test]
async fn answers_are_asked_for_in_a_form_that_can_be_read() {
    let mut world = World::new(Protocol::Http2).await;
    let mut connection = world.connect().await;
    let accept = "application/vnd.kubernetes.protobuf,application/json";
    let asked = connection.ask_with(Method::GET, PODS, &[("accept", accept)], Bytes::new());
    let received = world.received().await;
    assert_eq!(received.request.headers()["accept"], "application/json,application/json");
    received.answer(200, &json!({"items": []}));
    assert_eq!(asked.answered().await.status, StatusCode::OK);
}
