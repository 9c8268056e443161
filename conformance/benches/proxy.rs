//! What the proxy costs: the same requests by way of it and directly, in turns, so that both meet
//! the same machine. It fails if the proxy adds a millisecond or more at the median.
//!
//! The API server is a stand-in that answers at once, over TLS on the loopback address. The proxy
//! does what it does in a run: a tap logs to a history on disk, and a fault waits for another
//! request.

#![expect(clippy::print_stdout, reason = "the figures are its result")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on fails")]

#[path = "../src/proxy/tests/fake.rs"]
mod fake;

use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use dispatch_conformance::history::recorder::{Journal, Revisions};
use dispatch_conformance::history::{Role, Subject};
use dispatch_conformance::proxy::{
    Effect, Fault, JournalLog, Pattern, Proxy, Scope, Times, Upstream,
};
use dispatch_contract::SystemClock;
use fake::{Body, FakeServer};
use futures::{FutureExt, StreamExt};
use http::{Method, Request, Response, Version};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use tokio::sync::mpsc;

/// How often each is measured.
const ROUNDS: usize = 4_000;

/// How many rounds go before.
const WARM_UP: usize = 400;

/// What the proxy may add at the median.
const LIMIT: Duration = Duration::from_millis(1);

const WORKLOAD: &str = "/apis/kueue.x-k8s.io/v1beta2/namespaces/ns/workloads/w";
const WATCH: &str = "/apis/kueue.x-k8s.io/v1beta2/namespaces/ns/workloads?watch=true";

/// Where the events of the open watches are put; the last one is the latest that was opened.
type Watches = Arc<Mutex<Vec<mpsc::UnboundedSender<Bytes>>>>;

#[tokio::main]
async fn main() -> ExitCode {
    let watches = Watches::default();
    let server = FakeServer::start(handler(Arc::clone(&watches))).await;
    let upstream = Upstream::Server {
        server: server.url.clone(),
        certificate_authority: server.authority.clone(),
    };
    let proxy = Proxy::start(upstream).await.unwrap();
    let port = proxy.port(Subject { role: Role::Controller, replica: 0 }).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let history = folder.path().join("history.ndjson");
    let journal = Arc::new(Journal::create(&history, Arc::new(SystemClock)).unwrap());
    let nowhere = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
    let revisions =
        Revisions::new(dispatch_kubernetes::client::from_config(nowhere).unwrap(), "ns");
    let tap = port.tap(Scope::Everything, Arc::new(JournalLog::new(journal, revisions)));
    let at = Pattern { object: Some("another".to_owned()), ..Pattern::default() };
    tap.place(Fault { name: "waits".to_owned(), at, effect: Effect::Hold, times: Times::Once });

    println!("median (90th percentile) of {ROUNDS} rounds, in microseconds");
    println!("{:<24}{:>16}{:>16}{:>10}", "", "direct", "by way of it", "added");
    let mut is_within = true;
    for version in [Version::HTTP_11, Version::HTTP_2] {
        let sides = [
            Side::new(version, &server.authority, &server.url),
            Side::new(version, proxy.certificate_authority(), &port.server()),
        ];
        for (what, method) in [("get", Method::GET), ("patch", Method::PATCH)] {
            let name = format!("{what}, {version:?}");
            is_within &= compare(&name, async |side| sides[side].exchange(&method).await).await;
        }
        let mut open = Vec::new();
        for side in &sides {
            let body = side.send(&Method::GET, WATCH).await.into_body();
            open.push((watches.lock().unwrap().pop().unwrap(), body));
        }
        let name = format!("watch event, {version:?}");
        is_within &= compare(&name, async |side| {
            let (events, body) = &mut open[side];
            events.send(event()).unwrap();
            body.frame().await.unwrap().unwrap();
        })
        .await;
    }
    if is_within { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Measures both sides in turns and prints what the proxy adds; false if that is too much.
async fn compare(name: &str, mut measured: impl AsyncFnMut(usize)) -> bool {
    let mut times = [Vec::with_capacity(ROUNDS), Vec::with_capacity(ROUNDS)];
    for round in 0..WARM_UP + ROUNDS {
        for (side, times) in times.iter_mut().enumerate() {
            let begun = Instant::now();
            measured(side).await;
            if round >= WARM_UP {
                times.push(begun.elapsed());
            }
        }
    }
    let [direct, proxied] = times.map(|mut times| {
        times.sort_unstable();
        (times[times.len() / 2], times[times.len() * 9 / 10])
    });
    let added = proxied.0.saturating_sub(direct.0);
    let shown = |(median, ninth): (Duration, Duration)| {
        format!("{} ({})", median.as_micros(), ninth.as_micros())
    };
    let (direct, proxied) = (shown(direct), shown(proxied));
    println!("{name:<24}{direct:>16}{proxied:>16}{:>10}", added.as_micros());
    added < LIMIT
}

/// A client of the API server, or of the proxy.
struct Side {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    url: String,
}

impl Side {
    fn new(version: Version, authority: &str, url: &str) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority.as_bytes()).unwrap()).unwrap();
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        tcp.enforce_http(false);
        let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_only();
        let connector = match version {
            Version::HTTP_2 => connector.enable_http2().wrap_connector(tcp),
            _ => connector.enable_http1().wrap_connector(tcp),
        };
        let http2 = version == Version::HTTP_2;
        let client = Client::builder(TokioExecutor::new()).http2_only(http2).build(connector);
        Self { client, url: url.to_owned() }
    }

    async fn send(&self, method: &Method, path: &str) -> Response<Incoming> {
        let body = match *method {
            Method::PATCH => json!({"status": {"admissionChecks": [
                {"name": "dispatch", "state": "Ready", "message": "nothing runs", "podSetUpdates": []}
            ]}})
            .to_string(),
            _ => String::new(),
        };
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("content-type", "application/merge-patch+json")
            .header("authorization", "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl")
            .body(Full::new(Bytes::from(body)))
            .unwrap();
        self.client.request(request).await.unwrap()
    }

    async fn exchange(&self, method: &Method) {
        let answer = self.send(method, WORKLOAD).await;
        answer.into_body().collect().await.unwrap();
    }
}

/// A Workload of the size that Kueue's have.
fn workload() -> serde_json::Value {
    json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
        "metadata": {"name": "w", "namespace": "ns", "uid": "u", "resourceVersion": "4711"},
        "spec": {"podSets": [{"name": "node", "template": {"spec": {"x": "x".repeat(3000)}}}]},
    })
}

fn event() -> Bytes {
    Bytes::from(format!("{}\n", json!({"type": "MODIFIED", "object": workload()})))
}

fn handler(watches: Watches) -> fake::Handler {
    let object = Bytes::from(workload().to_string());
    Arc::new(move |request| {
        let body: Body = if request.uri().query().is_some_and(|query| query.contains("watch")) {
            let (sink, mut events) = mpsc::unbounded_channel::<Bytes>();
            watches.lock().unwrap().push(sink);
            let events = futures::stream::poll_fn(move |context| events.poll_recv(context));
            StreamBody::new(events.map(|event| Ok(Frame::data(event)))).boxed_unsync()
        } else {
            Full::new(object.clone()).map_err(|never| match never {}).boxed_unsync()
        };
        let answer = Response::builder().header("content-type", "application/json").body(body);
        async { answer.ok() }.boxed()
    })
}
