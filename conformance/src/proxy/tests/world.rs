//! A proxy between an API server and a subject that do what a test says, and the log of it.

use std::collections::BTreeMap;
use std::future::{Future, ready};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::rt::Executor;
use hyper_util::rt::TokioIo;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsConnector;

use super::fake::{Body, FakeServer};
use crate::history::{
    Delivered, FaultChange, Request as Logged, RequestEnded, RequestSent, Role, Subject, What,
};
use crate::proxy::{
    Effect, Fault, Log, Pattern, Port, Proxy, Scope, Signals, Tap, Times, Upstream,
};

/// A JSON web token whose subject is `me`.
pub(super) const TOKEN: &str = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl";

pub(super) const SUBJECT: Subject = Subject { role: Role::Controller, replica: 0 };

/// Awaits something that must come; the limit is only for when it does not.
pub(super) async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), what).await.expect("it comes in time")
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Protocol {
    Http1,
    Http2,
}

/// A proxy with one port, one tap on everything, and an API server that the test plays.
pub(super) struct World {
    pub(super) server: Option<FakeServer>,
    received: mpsc::UnboundedReceiver<Received>,
    pub(super) proxy: Proxy,
    pub(super) port: Port,
    pub(super) log: Arc<TestLog>,
    pub(super) tap: Option<Tap>,
    pub(super) protocol: Protocol,
}

impl World {
    pub(super) async fn new(protocol: Protocol) -> Self {
        let mut this = Self::untapped(protocol).await;
        this.tap = Some(this.port.tap(Scope::Everything, this.log()));
        this
    }

    pub(super) async fn untapped(protocol: Protocol) -> Self {
        let (sink, received) = mpsc::unbounded_channel();
        let server = FakeServer::start(Arc::new(move |request| {
            let (reply, replied) = oneshot::channel();
            let _ = sink.send(Received { request, reply });
            async { replied.await.ok() }.boxed()
        }))
        .await;
        let upstream = Upstream::Server {
            server: server.url.clone(),
            certificate_authority: server.authority.clone(),
        };
        let proxy = Proxy::start(upstream).await.unwrap();
        let port = proxy.port(SUBJECT).await.unwrap();
        let log = Arc::new(TestLog::default());
        Self { server: Some(server), received, proxy, port, log, tap: None, protocol }
    }

    pub(super) fn log(&self) -> Arc<dyn Log> {
        Arc::clone(&self.log) as Arc<dyn Log>
    }

    pub(super) fn tap(&self) -> &Tap {
        self.tap.as_ref().unwrap()
    }

    /// A connection of the subject's.
    pub(super) async fn connect(&self) -> Connection {
        within(Connection::to(&self.port, self.proxy.certificate_authority(), self.protocol)).await
    }

    /// The next request that reaches the API server.
    pub(super) async fn received(&mut self) -> Received {
        within(self.received.recv()).await.unwrap()
    }

    /// Whether nothing more has reached the API server.
    pub(super) fn nothing_received(&mut self) -> bool {
        self.received.try_recv().is_err()
    }

    pub(super) fn place(&self, effect: Effect, at: Pattern) -> crate::proxy::Placed {
        self.tap().place(fault(effect, at))
    }

    /// Has a subject send a request and the API server answer it.
    pub(super) async fn exchange(
        &mut self,
        method: Method,
        path: &str,
        answer: &Value,
    ) -> Answered {
        let mut connection = self.connect().await;
        let asked = connection.ask(method, path, None);
        self.received().await.answer(200, answer);
        asked.answered().await
    }
}

pub(super) fn fault(effect: Effect, at: Pattern) -> Fault {
    Fault { name: "fault".to_owned(), at, effect, times: Times::Once }
}

pub(super) fn on(verb: &str, resource: &str) -> Pattern {
    let (verbs, resource) = (vec![verb.to_owned()], Some(resource.to_owned()));
    Pattern { verbs, resource, ..Pattern::default() }
}

pub(super) const PODS: &str = "/api/v1/namespaces/ns/pods";

pub(super) fn pod(version: u64) -> Value {
    let metadata = json!({"name": "p", "namespace": "ns", "uid": "u",
        "resourceVersion": version.to_string()});
    json!({"kind": "Pod", "apiVersion": "v1", "metadata": metadata})
}

/// A line of a watch.
pub(super) fn line(version: u64) -> String {
    format!("{}\n", json!({"type": "MODIFIED", "object": pod(version)}))
}

/// A request that reached the API server.
pub(super) struct Received {
    pub(super) request: Request<Bytes>,
    reply: oneshot::Sender<Response<Body>>,
}

impl Received {
    pub(super) fn answer(self, status: u16, body: &Value) {
        let body = Full::new(Bytes::from(body.to_string())).map_err(|never| match never {});
        self.reply_with(status, body.boxed_unsync());
    }

    /// Answers with a body that goes on as long as the sender lives.
    pub(super) fn stream(self) -> mpsc::UnboundedSender<String> {
        let (sink, mut lines) = mpsc::unbounded_channel::<String>();
        let stream = futures::stream::poll_fn(move |context| lines.poll_recv(context));
        let frames = futures::StreamExt::map(stream, |line| Ok(Frame::data(Bytes::from(line))));
        self.reply_with(200, StreamBody::new(frames).boxed_unsync());
        sink
    }

    fn reply_with(self, status: u16, body: Body) {
        let answer = Response::builder().status(status).header("content-type", "application/json");
        let _ = self.reply.send(answer.body(body).unwrap());
    }

    pub(super) fn path(&self) -> &str {
        self.request.uri().path()
    }

    pub(super) fn body(&self) -> Value {
        serde_json::from_slice(self.request.body()).unwrap()
    }
}

/// A connection of the subject's.
pub(super) struct Connection {
    sender: Sender,
    tasks: Tasks,
}

/// All that a connection is made of.
#[derive(Clone, Default)]
struct Tasks(Arc<Mutex<JoinSet<()>>>);

impl<F: Future + Send + 'static> Executor<F> for Tasks {
    fn execute(&self, task: F) {
        self.0.lock().unwrap().spawn(task.map(|_| ()));
    }
}

enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

impl Connection {
    async fn to(port: &Port, authority: &str, protocol: Protocol) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority.as_bytes()).unwrap()).unwrap();
        let mut tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols = match protocol {
            Protocol::Http1 => vec![b"http/1.1".to_vec()],
            Protocol::Http2 => vec![b"h2".to_vec()],
        };
        let server = port.server();
        let stream = TcpStream::connect(server.strip_prefix("https://").unwrap()).await.unwrap();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let stream = TlsConnector::from(Arc::new(tls)).connect(name, stream).await.unwrap();
        let negotiated = stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
        let io = TokioIo::new(stream);
        let tasks = Tasks::default();
        match protocol {
            Protocol::Http1 => {
                assert_eq!(negotiated.unwrap(), b"http/1.1");
                let (sender, connection) = http1::handshake(io).await.unwrap();
                tasks.execute(connection);
                Self { sender: Sender::Http1(sender), tasks }
            }
            Protocol::Http2 => {
                assert_eq!(negotiated.unwrap(), b"h2");
                let connected = http2::Builder::new(tasks.clone()).handshake(io).await;
                let (sender, connection) = connected.unwrap();
                tasks.execute(connection);
                Self { sender: Sender::Http2(sender), tasks }
            }
        }
    }

    /// Sends a request; with HTTP/1.1 the one before has to be over.
    pub(super) fn ask(&mut self, method: Method, path: &str, body: Option<&Value>) -> Asked {
        let content = match method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let headers = [("content-type", content)];
        let body = body.map(Value::to_string).unwrap_or_default();
        self.ask_with(method, path, &headers, body.into())
    }

    pub(super) fn ask_with(
        &mut self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Asked {
        let uri = match &self.sender {
            Sender::Http1(_) => path.to_owned(),
            Sender::Http2(_) => format!("https://127.0.0.1{path}"),
        };
        let mut request = Request::builder().method(method).uri(uri);
        request = request.header("authorization", format!("Bearer {TOKEN}"));
        request = request.header("accept-encoding", "gzip");
        if matches!(self.sender, Sender::Http1(_)) {
            request = request.header("host", "127.0.0.1");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body)).unwrap();
        Asked(match &mut self.sender {
            Sender::Http1(sender) => tokio::spawn(sender.send_request(request)),
            Sender::Http2(sender) => tokio::spawn(sender.send_request(request)),
        })
    }

    /// Ends the connection under whatever is open on it.
    pub(super) async fn disconnect(self) {
        let mut tasks = std::mem::take(&mut *self.tasks.0.lock().unwrap());
        tasks.shutdown().await;
    }
}

/// A request of the subject's that is under way.
pub(super) struct Asked(JoinHandle<hyper::Result<Response<Incoming>>>);

impl Asked {
    pub(super) async fn response(self) -> hyper::Result<Response<Incoming>> {
        within(self.0).await.unwrap()
    }

    pub(super) async fn answered(self) -> Answered {
        let (head, body) = self.response().await.unwrap().into_parts();
        let body = within(body.collect()).await.unwrap().to_bytes();
        Answered { status: head.status, headers: head.headers, body }
    }

    /// Whether the subject got no answer.
    pub(super) async fn ends_without_answer(self) -> bool {
        self.response().await.is_err()
    }
}

/// An answer that the subject has all of.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Answered {
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// Reads what a watch delivers, to the end of a line; `None` when the watch is over.
pub(super) async fn next_line(body: &mut Incoming) -> Option<String> {
    let mut text = String::new();
    while !text.ends_with('\n') {
        let frame = within(body.frame()).await?.unwrap();
        text.push_str(std::str::from_utf8(&frame.into_data().unwrap()).unwrap());
    }
    Some(text)
}

/// What was logged. The store's latest revision is 1000.
pub(super) struct TestLog {
    next: AtomicU64,
    events: Mutex<Vec<(Option<u64>, What)>>,
    length: watch::Sender<usize>,
}

pub(super) const LATEST: u64 = 1000;

impl Default for TestLog {
    fn default() -> Self {
        let length = watch::Sender::new(0);
        Self { next: AtomicU64::new(0), events: Mutex::default(), length }
    }
}

impl Log for TestLog {
    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn note(&self, order: Option<u64>, what: What) {
        let mut events = self.events.lock().unwrap();
        events.push((order, what));
        self.length.send_replace(events.len());
    }

    fn latest(&self) -> BoxFuture<'_, Option<u64>> {
        async { Some(LATEST) }.boxed()
    }
}

impl TestLog {
    pub(super) fn events(&self) -> Vec<(Option<u64>, What)> {
        self.events.lock().unwrap().clone()
    }

    /// Waits for an event.
    pub(super) async fn until(&self, is: impl Fn(&What) -> bool) {
        let mut length = self.length.subscribe();
        let seen = async {
            while !self.events().iter().any(|(_, what)| is(what)) {
                length.changed().await.unwrap();
            }
        };
        tokio::time::timeout(Duration::from_secs(30), seen)
            .await
            .unwrap_or_else(|_| panic!("it is not in {:#?}", self.words()));
    }

    pub(super) async fn until_met(&self) {
        self.until(|what| matches!(what, What::Fault(it) if it.change == FaultChange::Met)).await;
    }

    pub(super) async fn until_ended(&self) {
        self.until(|what| matches!(what, What::RequestEnded(_))).await;
    }

    pub(super) fn requests(&self) -> Vec<Logged> {
        self.of(|what| if let What::Request(it) = what { Some(*it) } else { None })
    }

    pub(super) fn sent(&self) -> Vec<RequestSent> {
        self.of(|what| if let What::RequestSent(it) = what { Some(*it) } else { None })
    }

    pub(super) fn ended(&self) -> Vec<RequestEnded> {
        self.of(|what| if let What::RequestEnded(it) = what { Some(*it) } else { None })
    }

    pub(super) fn delivered(&self) -> Vec<Delivered> {
        self.of(|what| if let What::Delivered(it) = what { Some(*it) } else { None })
    }

    fn of<T>(&self, pick: impl Fn(What) -> Option<T>) -> Vec<T> {
        self.events().into_iter().filter_map(|(_, what)| pick(what)).collect()
    }

    /// What was logged, an event in a few words: what, and its order.
    pub(super) fn words(&self) -> Vec<String> {
        let words = |(order, what): (Option<u64>, What)| {
            let words = match what {
                What::Request(it) => format!("{} {}", it.verb, it.resource),
                What::RequestSent(_) => "sent".to_owned(),
                What::RequestEnded(it) => format!("{:?} {}", it.ending, it.status.unwrap_or(0)),
                What::Delivered(it) => format!("delivered {}", it.type_),
                What::Fault(it) => format!("{:?}", it.change),
                other => format!("{other:?}"),
            };
            let words = words.to_lowercase();
            order.map_or(words.clone(), |order| format!("{words} @{order}"))
        };
        self.events().into_iter().map(words).collect()
    }
}

/// A process that remembers its signals.
#[derive(Default)]
pub(super) struct TestSignals(pub(super) Mutex<BTreeMap<&'static str, u32>>);

impl TestSignals {
    pub(super) fn counts(&self) -> (u32, u32) {
        let counts = self.0.lock().unwrap();
        let count = |name| counts.get(name).copied().unwrap_or_default();
        (count("kill"), count("freeze"))
    }
}

impl Signals for TestSignals {
    fn kill(&self) -> BoxFuture<'_, ()> {
        *self.0.lock().unwrap().entry("kill").or_default() += 1;
        ready(()).boxed()
    }

    fn freeze(&self) -> BoxFuture<'_, ()> {
        *self.0.lock().unwrap().entry("freeze").or_default() += 1;
        ready(()).boxed()
    }
}
