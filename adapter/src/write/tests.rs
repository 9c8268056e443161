//! The loop of read, decide and write, against a stand-in API server with one object, whose answers
//! are chosen.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::{Method, Request, Response};
use kube::client::Body;
use rstest::rstest;

use super::*;
use crate::open;

const NAME: &str = "dj-01arz3ndektsv4rrffq69g5fav-s1";
const URGENT: &str = "a.io/urgent";

/// What becomes of one write.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    /// It is applied and answered.
    Applied,
    /// Somebody adds a gate just before it arrives, so that its version is old.
    Overtaken,
    /// It is applied, and the answer is lost.
    AnswerLost,
    /// It never arrives, which nobody can tell.
    Lost,
    /// It is answered with success, and a webhook undid it.
    Undone,
}

struct Server {
    object: Value,
    version: u64,
    fates: Vec<Fate>,
    writes: usize,
}

impl Server {
    fn new(uid: &str, fates: &[Fate]) -> Arc<Mutex<Self>> {
        let object = json!({
            "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
            "metadata": {"name": NAME, "namespace": "n", "uid": uid, "resourceVersion": "1",
                "annotations": {names::ADMISSION_GATED_BY: names::GATE}},
            "spec": {"suspend": true},
        });
        let mut fates = fates.to_vec();
        fates.reverse();
        Arc::new(Mutex::new(Self { object, version: 1, fates, writes: 0 }))
    }

    fn answer(&mut self, method: &Method, body: &Value) -> (u16, Value) {
        if method == Method::GET {
            return (200, self.object.clone());
        }
        self.writes += 1;
        let fate = self.fates.pop().unwrap_or(Fate::Applied);
        let lost = (500, status(500, "InternalError", "etcdserver: request timed out"));
        match fate {
            Fate::Lost => return lost,
            Fate::Undone => return (200, self.object.clone()),
            Fate::Overtaken => self.annotate(&json!({
                names::ADMISSION_GATED_BY: format!("{URGENT},{}", names::GATE)})),
            Fate::Applied | Fate::AnswerLost => {}
        }
        if body["metadata"]["resourceVersion"] != self.object["metadata"]["resourceVersion"] {
            return (409, status(409, "Conflict", "the object has been modified"));
        }
        self.annotate(&body["metadata"]["annotations"]);
        if fate == Fate::AnswerLost { lost } else { (200, self.object.clone()) }
    }

    fn annotate(&mut self, changes: &Value) {
        let annotations = self.object["metadata"]["annotations"].as_object_mut().unwrap();
        for (key, value) in changes.as_object().unwrap() {
            if value.is_null() {
                annotations.remove(key);
            } else {
                annotations.insert(key.clone(), value.clone());
            }
        }
        self.version += 1;
        self.object["metadata"]["resourceVersion"] = json!(self.version.to_string());
    }
}

fn status(code: u16, reason: &str, message: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
        "reason": reason, "message": message})
}

fn client(server: Arc<Mutex<Server>>) -> Client {
    let service = tower::service_fn(move |request: Request<Body>| {
        let server = server.clone();
        async move {
            let (parts, body) = request.into_parts();
            let bytes = body.collect_bytes().await.unwrap();
            let body = serde_json::from_slice(&bytes).unwrap_or_default();
            let (code, answer) = server.lock().unwrap().answer(&parts.method, &body);
            let body = Body::from(serde_json::to_vec(&answer).unwrap());
            Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap())
        }
    });
    Client::new(service, "n")
}

async fn open_against(server: &Arc<Mutex<Server>>) -> Result<(), CallError> {
    let object = ObjectRef { name: NAME.to_owned(), uid: "u".to_owned() };
    let limits = Limits::default();
    settle(&client(server.clone()), limits, "n", &object, open::decide).await
}

#[rstest]
#[case::at_once(&[], 1)]
#[case::overtaken(&[Fate::Overtaken], 2)]
#[case::overtaken_several_times(&[Fate::Overtaken, Fate::Overtaken, Fate::Overtaken], 4)]
#[case::answer_lost(&[Fate::AnswerLost], 1)]
#[case::lost(&[Fate::Lost], 2)]
#[case::lost_then_overtaken(&[Fate::Lost, Fate::Overtaken, Fate::AnswerLost], 3)]
#[tokio::test]
async fn an_object_is_opened_once_whatever_becomes_of_the_writes(
    #[case] fates: &[Fate],
    #[case] writes: usize,
) {
    let server = Server::new("u", fates);
    open_against(&server).await.unwrap();
    open_against(&server).await.unwrap();
    let server = server.lock().unwrap();
    assert_eq!(server.writes, writes);
    let annotations = &server.object["metadata"]["annotations"];
    assert_eq!(annotations[names::OPENED], "true");
    let gates = annotations.get(names::ADMISSION_GATED_BY).and_then(Value::as_str);
    let expected = fates.contains(&Fate::Overtaken).then_some(URGENT);
    assert_eq!(gates, expected, "what somebody added in between has to stay");
}

#[tokio::test]
async fn a_write_that_a_webhook_undoes_is_refused() {
    let error = open_against(&Server::new("u", &[Fate::Undone])).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Refused);
    assert!(error.message.contains(names::OPENED), "{error}");
}

#[tokio::test]
async fn an_object_of_another_uid_is_not_found_and_not_written() {
    let server = Server::new("another", &[]);
    let error = open_against(&server).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert_eq!(server.lock().unwrap().writes, 0);
}
