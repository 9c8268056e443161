//! What must not be in a history.

use std::sync::Arc;

use dispatch_contract::SystemClock;
use http::{Method, StatusCode};
use rstest::rstest;
use serde_json::{Value, json};

use super::world::*;
use crate::history::recorder::{Journal, Revisions};
use crate::proxy::{JournalLog, Scope};

/// What is planted wherever a secret can be.
const PLANTED: &str = "cGxhbnRlZC1zZWNyZXQ";

fn secret() -> Value {
    json!({"kind": "Secret", "metadata": {"name": "s"}, "data": {"key": PLANTED}})
}

fn pod_with_a_token() -> Value {
    json!({"kind": "Pod", "metadata": {"name": "p"}, "spec": {"x": {"password": PLANTED}}})
}

#[rstest]
#[case::secret("/api/v1/namespaces/ns/secrets", secret(), secret())]
#[case::token_request("/api/v1/namespaces/ns/serviceaccounts/a/token", json!({}),
    json!({"kind": "TokenRequest", "status": {"token": PLANTED}}))]
#[case::token_review("/apis/authentication.k8s.io/v1/tokenreviews",
    json!({"spec": {"token": PLANTED}}), json!({}))]
#[case::a_recorded_kind(PODS, pod_with_a_token(), pod_with_a_token())]
#[case::a_message(PODS, json!({}),
    json!({"kind": "Status", "message": format!("Authorization: Bearer {PLANTED}0")}))]
#[tokio::test]
async fn a_planted_secret_is_not_in_the_history(
    #[case] path: &str,
    #[case] body: Value,
    #[case] answer: Value,
    #[values(201, 422)] status: u16,
) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("history.ndjson");
    let journal = Arc::new(Journal::create(&file, Arc::new(SystemClock)).unwrap());
    let mut world = World::untapped(Protocol::Http2).await;
    let nowhere = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
    let client = dispatch_kubernetes::client::from_config(nowhere).unwrap();
    let log = JournalLog::new(Arc::clone(&journal), Revisions::new(client, "ns"));
    let _tap = world.port.tap(Scope::Everything, Arc::new(log));

    let mut connection = world.connect().await;
    let asked = connection.ask(Method::POST, path, Some(&body));
    let received = world.received().await;
    assert_eq!(received.body(), body, "the API server gets it");
    received.answer(status, &answer);
    let given = asked.answered().await;
    assert_eq!((given.status, given.json()), (StatusCode::from_u16(status).unwrap(), answer));

    let history = fs_err::read_to_string(&file).unwrap();
    assert_eq!(history.lines().count(), 3, "every event is there: {history}");
    assert!(!history.contains("\"gap\""), "and none had to be left out: {history}");
    for secret in [PLANTED, TOKEN, "c2lnbmF0dXJl", "uthorization"] {
        assert!(!history.contains(secret), "{secret} is in {history}");
    }
    assert!(history.contains("\"user\":\"me\""));
}
