//! Conversations with a supervisor, over a pipe in memory. The cluster has no object, and answers a
//! List only when it is told to.

use std::convert::Infallible;
use std::time::Duration;

use dispatch_contract::{OsEntropy, SystemClock};
use http::{Request as HttpRequest, Response as HttpResponse};
use kube::Client;
use kube::client::Body;
use rstest::rstest;
use tokio::io::{
    AsyncBufReadExt, BufReader, DuplexStream, Lines as TextLines, ReadHalf, WriteHalf,
};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, LocalSet};
use tokio::time::timeout;

use super::*;

const PATIENCE: Duration = Duration::from_secs(10);

/// The supervisor's side.
struct Supervisor {
    answers: TextLines<BufReader<ReadHalf<DuplexStream>>>,
    requests: WriteHalf<DuplexStream>,
    lists: Arc<Semaphore>,
    served: JoinHandle<io::Result<()>>,
}

fn client(lists: Arc<Semaphore>) -> Client {
    let service = tower::service_fn(move |request: HttpRequest<Body>| {
        let lists = Arc::clone(&lists);
        async move {
            let path = request.uri().path().to_owned();
            let of_namespace = path.split_once("/namespaces/n/").map_or("", |(_, rest)| rest);
            let (code, answer) = if of_namespace.contains('/') {
                (404, json!({"kind": "Status", "code": 404, "reason": "NotFound"}))
            } else {
                if of_namespace == "trainjobs" {
                    lists.acquire().await.unwrap().forget();
                }
                (200, json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": []}))
            };
            let body = Body::from(serde_json::to_vec(&answer).unwrap());
            Ok::<_, Infallible>(HttpResponse::builder().status(code).body(body).unwrap())
        }
    });
    Client::new(service, "n")
}

impl Supervisor {
    fn new() -> Self {
        let lists = Arc::new(Semaphore::new(0));
        let (ours, theirs) = tokio::io::duplex(1024);
        let (input, output) = tokio::io::split(theirs);
        let of_cluster = Arc::clone(&lists);
        let served = tokio::task::spawn_local(async move {
            let open = |config: Config| {
                let client = client(Arc::clone(&of_cluster));
                async move {
                    if config.namespace == "unreachable" {
                        return Err(fail(ErrorKind::Unavailable, "no kubeconfig", &[]));
                    }
                    let (clock, entropy) = (Arc::new(SystemClock), Arc::new(OsEntropy));
                    Ok(Adapter::new(config, client, clock, entropy))
                }
            };
            serve(input, output, open).await
        });
        let (answers, requests) = tokio::io::split(ours);
        Self { answers: BufReader::new(answers).lines(), requests, lists, served }
    }

    async fn says(&mut self, line: &str) {
        self.requests.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    async fn asks(&mut self, id: u64, method: &str, params: Value) {
        let request = Request { id: Id::Number(id), method: method.to_owned(), params };
        self.says(request.line().trim_end()).await;
    }

    async fn hears(&mut self) -> Response {
        let line = timeout(PATIENCE, self.answers.next_line()).await;
        let line = line.expect("an answer was expected").unwrap().expect("the adapter has gone");
        Response::read(line.as_bytes()).unwrap()
    }

    async fn hears_kind(&mut self, id: u64) -> ErrorKind {
        let answer = self.hears().await;
        assert_eq!(answer.id, Some(Id::Number(id)));
        answer.outcome.unwrap_err().data.unwrap().kind
    }

    async fn initializes(&mut self) {
        self.asks(0, INITIALIZE, initialize()).await;
        self.hears().await.outcome.unwrap();
    }
}

fn initialize() -> Value {
    json!({"protocolVersion": PROTOCOL_VERSION, "namespace": "n", "queue": "q",
        "admissionCheck": "c", "preflight": "assumed"})
}

fn object() -> Value {
    json!({"name": "dj-01arz3ndektsv4rrffq69g5fav-s1", "uid": "u"})
}

/// Within a conversation.
async fn with<F: Future<Output = ()>>(supervise: impl FnOnce(Supervisor) -> F) {
    LocalSet::new().run_until(async { supervise(Supervisor::new()).await }).await;
}

#[tokio::test]
async fn a_conversation_begins_with_who_the_adapter_is() {
    with(async |mut supervisor| {
        supervisor.asks(0, INITIALIZE, initialize()).await;
        let answer = supervisor.hears().await;
        let answer: InitializeAnswer = serde_json::from_value(answer.outcome.unwrap()).unwrap();
        assert_eq!(answer.name, "dispatch-adapter");
        assert_eq!((answer.modes, answer.calls), (vec![Mode::Kueue], Verb::ALL.to_vec()));
    })
    .await;
}

#[rstest]
#[case::version(json!({"protocolVersion": 2}), ErrorKind::NotSupported)]
#[case::mode(json!({"mode": "plain"}), ErrorKind::NotSupported)]
#[case::unknown_key(json!({"nope": 1}), ErrorKind::Invalid)]
#[case::blank(json!({"admissionCheck": ""}), ErrorKind::Invalid)]
#[case::no_cluster(json!({"namespace": "unreachable"}), ErrorKind::Unavailable)]
#[tokio::test]
async fn a_refused_initialize_says_why_and_can_be_repeated(
    #[case] changes: Value,
    #[case] kind: ErrorKind,
) {
    with(async |mut supervisor| {
        let mut params = initialize();
        for (key, value) in changes.as_object().unwrap() {
            params[key] = value.clone();
        }
        supervisor.asks(7, INITIALIZE, params).await;
        assert_eq!(supervisor.hears_kind(7).await, kind);
        supervisor.initializes().await;
    })
    .await;
}

#[tokio::test]
async fn no_call_is_made_before_and_no_second_initialize_after() {
    with(async |mut supervisor| {
        supervisor.asks(1, "list", json!({})).await;
        assert_eq!(supervisor.hears_kind(1).await, ErrorKind::Invalid);
        supervisor.initializes().await;
        supervisor.asks(2, INITIALIZE, initialize()).await;
        assert_eq!(supervisor.hears_kind(2).await, ErrorKind::Invalid);
    })
    .await;
}

#[tokio::test]
async fn calls_are_answered_as_they_end_and_not_as_they_came() {
    with(async |mut supervisor| {
        supervisor.initializes().await;
        supervisor.asks(1, "list", json!({})).await;
        supervisor.asks(2, "open", object()).await;
        assert_eq!(supervisor.hears_kind(2).await, ErrorKind::NotFound);
        supervisor.lists.add_permits(1);
        let answer = supervisor.hears().await;
        assert_eq!(answer, Response::ok(Id::Number(1), json!([])));
    })
    .await;
}

#[rstest]
#[case::not_json("{", None, code::NOT_JSON)]
#[case::not_a_request("[]", None, code::NOT_A_REQUEST)]
#[case::no_method(
    r#"{"jsonrpc":"2.0","id":1,"method":"reboot"}"#,
    Some(ErrorKind::NotSupported),
    code::NO_METHOD
)]
#[case::parameters(
    r#"{"jsonrpc":"2.0","id":1,"method":"open","params":{"name":"a"}}"#,
    Some(ErrorKind::Invalid),
    code::BAD_PARAMETERS
)]
#[tokio::test]
async fn a_line_that_cannot_be_understood_is_answered_and_ends_nothing(
    #[case] line: &str,
    #[case] kind: Option<ErrorKind>,
    #[case] code: i64,
) {
    with(async |mut supervisor| {
        supervisor.initializes().await;
        supervisor.says(line).await;
        let error = supervisor.hears().await.outcome.unwrap_err();
        assert_eq!((error.code, error.data.map(|data| data.kind)), (code, kind));
        supervisor.asks(2, "open", object()).await;
        assert_eq!(supervisor.hears_kind(2).await, ErrorKind::NotFound);
    })
    .await;
}

#[tokio::test]
async fn a_line_that_is_too_long_is_skipped_and_ends_nothing() {
    with(async |mut supervisor| {
        supervisor.says(&"x".repeat(LINE_LIMIT + 2)).await;
        assert_eq!(supervisor.hears().await.outcome.unwrap_err().code, code::NOT_A_REQUEST);
        supervisor.initializes().await;
    })
    .await;
}

#[tokio::test]
async fn more_calls_than_can_be_in_flight_are_refused_and_not_kept() {
    with(async |mut supervisor| {
        supervisor.initializes().await;
        for id in 0..=u64::try_from(IN_FLIGHT).unwrap() {
            supervisor.asks(id, "list", json!({})).await;
        }
        let last = u64::try_from(IN_FLIGHT).unwrap();
        assert_eq!(supervisor.hears_kind(last).await, ErrorKind::Unavailable);
        supervisor.lists.add_permits(IN_FLIGHT);
        for _ in 0..IN_FLIGHT {
            supervisor.hears().await.outcome.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn the_end_of_input_ends_it_with_calls_in_flight() {
    with(async |mut supervisor| {
        supervisor.initializes().await;
        supervisor.asks(1, "list", json!({})).await;
        let Supervisor { mut requests, served, lists, .. } = supervisor;
        requests.shutdown().await.unwrap();
        timeout(PATIENCE, served).await.expect("it goes on").unwrap().unwrap();
        assert_eq!(lists.available_permits(), 0);
    })
    .await;
}
