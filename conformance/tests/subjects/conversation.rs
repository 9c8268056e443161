//! What an adapter says, and how an answer is told from all that is none.

use dispatch_conformance::subject::{Adapter, Call, Failure, SubjectError, Unanswered};
use dispatch_contract::{ErrorKind, ObjectRef};
use rstest::rstest;
use tokio::time::timeout;

use super::{PATIENCE, Place, ready};

const INTRODUCTION: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"name":"a script","version":"1",
"modes":["kueue"],"calls":["list"]}}"#;

/// A script that answers `initialize`, and then does this when it is called.
fn answers(then: &str) -> String {
    let introduction = INTRODUCTION.replace('\n', "");
    format!("read -r request\necho '{introduction}'\nread -r request\n{then}\nread -r rest")
}

fn object() -> ObjectRef {
    ObjectRef { name: "dj-01arz3ndektsv4rrffq69g5fav-s1".to_owned(), uid: "u".to_owned() }
}

#[tokio::test]
async fn the_reference_says_who_it_is_and_ends_with_its_input() {
    let place = Place::new();
    let (adapter, handle) = ready(&place.adapter()).await.unwrap();
    assert_eq!(adapter.name(), "dispatch-adapter");
    assert_eq!(adapter.introduction().unwrap().calls.len(), 8);
    adapter.stop().await.unwrap();
    assert!(!handle.is_running());
}

#[rstest]
#[case::ended("read -r request\necho 'out of luck' >&2\nexit 3", "exit status: 3", "out of luck")]
#[case::chatty(
    "echo starting",
    "a line is not an answer, it is not JSON: expected value",
    "starting"
)]
#[case::refusing(
    r#"read -r request
echo '{"jsonrpc":"2.0","id":0,"error":{"code":-32000,"message":"no such namespace"}}'
read -r rest"#,
    "it refuses initialize",
    "no such namespace"
)]
#[case::of_another_mode(
    r#"read -r request
echo '{"jsonrpc":"2.0","id":0,"result":{"name":"a","version":"1","modes":["plain"],"calls":[]}}'
read -r rest"#,
    "adapter cannot be used",
    "does not have the mode Kueue"
)]
#[tokio::test]
async fn an_adapter_that_cannot_be_used_is_refused_with_what_it_did(
    #[case] script: &str,
    #[case] first: &str,
    #[case] second: &str,
) {
    let error = ready(&Place::new().script(script)).await.unwrap_err();
    let said = error.to_string();
    assert!(said.contains(first) && said.contains(second), "{said}");
    assert_eq!(matches!(error, SubjectError::Died { .. }), said.contains("by itself"), "{said}");
}

#[rstest]
#[case::ended("exit 4", "ended (exit status: 4)")]
#[case::chatty("echo listing", "broke the driver protocol: a line is not an answer")]
#[case::of_another_type(
    r#"echo '{"jsonrpc":"2.0","id":1,"result":{"jobs":3}}'"#,
    "broke the driver protocol: its answer to list"
)]
#[case::without_kind(
    r#"echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal"}}'"#,
    "without its kind: internal"
)]
#[case::of_nobody(r#"echo '{"jsonrpc":"2.0","id":5,"result":[]}'"#, "it answers what nobody asked")]
#[tokio::test]
async fn a_call_without_an_answer_is_unknown_and_says_why(#[case] then: &str, #[case] part: &str) {
    let place = Place::new();
    let (adapter, _) = ready(&place.script(&answers(then))).await.unwrap();
    let failure = adapter.call(&Call::List).await.unwrap_err();
    assert_eq!(failure.call_error().kind, ErrorKind::Unknown);
    assert!(matches!(failure, Failure::Unanswered(_)), "{failure:?}");
    assert!(failure.to_string().contains(part), "{failure}");
}

#[tokio::test]
async fn an_answer_is_an_answer_and_an_error_with_a_kind_is_one() {
    let place = Place::new();
    let list = answers(r#"echo '{"jsonrpc":"2.0","id":1,"result":[]}'"#);
    let (adapter, _) = ready(&place.script(&list)).await.unwrap();
    assert_eq!(adapter.call(&Call::List).await, Ok(serde_json::json!([])));

    let place = Place::new();
    let refuse = r#"echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no list"}}'"#;
    let (adapter, _) = ready(&place.script(&answers(refuse))).await.unwrap();
    let failure = adapter.call(&Call::List).await.unwrap_err();
    assert_eq!(failure.call_error().kind, ErrorKind::NotSupported);
    assert!(matches!(failure, Failure::Answered(_)));
}

#[tokio::test]
async fn calls_in_flight_when_it_is_killed_are_unknown() {
    let place = Place::new();
    let (adapter, handle) = ready(&place.adapter()).await.unwrap();
    let (one, other) = (Call::Open(object()), Call::Status(object()));
    let calls = async { tokio::join!(adapter.call(&one), adapter.call(&other)) };
    let killed = async {
        // The API server never answers, so neither does the adapter.
        handle.kill().unwrap();
        handle.ended().await;
    };
    let both = async { tokio::join!(biased; calls, killed) };
    let ((one, other), ()) = timeout(PATIENCE, both).await.unwrap();
    for answer in [one, other] {
        let failure = answer.unwrap_err();
        assert!(matches!(failure, Failure::Unanswered(Unanswered::Died(_))), "{failure:?}");
    }
}
