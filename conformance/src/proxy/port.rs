//! The listener of one subject.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use dispatch_simulator::component::{ResponseBody, SendRequest};
use futures::FutureExt;
use futures::future::BoxFuture;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tower::Service;

use super::ProxyError;
use super::answer::{Answer, Lost};
use super::fault::Signal;
use super::log::{Log, Signals};
use super::passage;
use super::tap::{Scope, Tap, TapState};
use super::upstream::Pool;
use crate::bell::{Bell, Listener};
use crate::history::Subject;

/// How many streams a subject may have open on one HTTP/2 connection, those of held requests among
/// them.
const STREAMS: u32 = 16_384;

/// How much of a body may be on its way: of one stream, and of all of a connection.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 1 << 24;

/// How long to wait when a connection was not accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// The listener of one subject: whatever comes in here is the subject's. Listens until it is
/// dropped.
pub struct Port {
    side: Arc<Side>,
    /// Where it listens, and what does.
    listening: Option<(SocketAddr, AbortHandle)>,
}

impl Port {
    pub(super) async fn listen(
        subject: Subject,
        address: IpAddr,
        acceptor: TlsAcceptor,
        pool: Pool,
    ) -> Result<Self, ProxyError> {
        let failed = |source| ProxyError::Listen { subject, address, source };
        let listener = TcpListener::bind((address, 0)).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let side = Arc::new(Side::new(subject, pool));
        let listening = tokio::spawn(listen(listener, acceptor, Arc::clone(&side))).abort_handle();
        Ok(Self { side, listening: Some((address, listening)) })
    }

    /// One that listens nowhere.
    pub(super) fn embedded(subject: Subject, pool: Pool) -> Self {
        Self { side: Arc::new(Side::new(subject, pool)), listening: None }
    }

    /// The way in for a subject in this process.
    pub fn service(&self) -> PortService {
        PortService { side: Arc::clone(&self.side) }
    }

    /// Whose requests come in here.
    pub fn subject(&self) -> Subject {
        self.side.subject
    }

    /// The URL, for a kubeconfig; empty where nothing listens.
    pub fn server(&self) -> String {
        self.listening.as_ref().map(|(address, _)| format!("https://{address}")).unwrap_or_default()
    }

    /// Requests within the scope are logged from now on, and meet the faults of this tap. So are
    /// watches that are open already.
    pub fn tap(&self, scope: Scope, log: Arc<dyn Log>) -> Tap {
        let taps = &self.side.taps;
        let state = Arc::new(TapState::new(scope, log, taps.changes.clone()));
        taps.add(Arc::clone(&state));
        Tap::new(state, taps)
    }

    /// How faults reach the process, which may be another one after a restart.
    pub fn signals(&self, signals: Arc<dyn Signals>) {
        *self.side.lock() = Some(signals);
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        if let Some((_, listening)) = &self.listening {
            listening.abort();
        }
    }
}

/// The way in for a subject in this process. Without the answer to a request its connection is lost.
#[derive(Clone)]
pub struct PortService {
    side: Arc<Side>,
}

impl PortService {
    /// The same for a component of the cluster.
    pub fn of_component(self) -> Arc<SendRequest> {
        Arc::new(move |request| {
            let side = Arc::clone(&self.side);
            async move {
                match passage::serve(side, request.map(Full::new)).await {
                    Ok(answer) => answer.map(|body| body.map_err(Into::into).boxed_unsync()),
                    Err(lost) => lost_answer(&lost),
                }
            }
            .boxed()
        })
    }
}

/// What a component sees of a connection that is cut: an error that no API server answers with.
fn lost_answer(lost: &Lost) -> http::Response<ResponseBody> {
    let mut response = http::Response::new(Full::new(Bytes::from(lost.to_string())));
    *response.status_mut() = http::StatusCode::GATEWAY_TIMEOUT;
    response.map(|body| body.map_err(|never| match never {}).boxed_unsync())
}

impl<B> Service<http::Request<B>> for PortService
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Answer;
    type Error = Lost;
    type Future = BoxFuture<'static, Result<Answer, Lost>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        passage::serve(Arc::clone(&self.side), request).boxed()
    }
}

/// The subject's side of the proxy, as its requests see it.
pub(super) struct Side {
    pub(super) subject: Subject,
    pub(super) pool: Pool,
    pub(super) taps: Arc<Taps>,
    signals: Mutex<Option<Arc<dyn Signals>>>,
}

impl Side {
    fn new(subject: Subject, pool: Pool) -> Self {
        Self { subject, pool, taps: Arc::default(), signals: Mutex::new(None) }
    }

    /// Sends a signal to the process, and returns when it has reached it. False if nobody said how.
    pub(super) async fn signal(&self, signal: Signal) -> bool {
        let signals = self.lock().clone();
        match (&signals, signal) {
            (None, _) => {
                tracing::error!(subject = %self.subject, ?signal, "no process is known to signal");
            }
            (Some(signals), Signal::Kill) => signals.kill().await,
            (Some(signals), Signal::Freeze) => signals.freeze().await,
        }
        signals.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<dyn Signals>>> {
        self.signals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The taps of a port.
#[derive(Default)]
pub(super) struct Taps {
    list: Mutex<Vec<Arc<TapState>>>,
    /// The number of the list, which changes with it.
    number: AtomicU64,
    changes: Bell,
}

impl Taps {
    /// All of them.
    pub(super) fn all(&self) -> Vec<Arc<TapState>> {
        self.lock().clone()
    }

    /// Rung at every change of taps and faults.
    pub(super) fn changes(&self) -> Listener {
        self.changes.listen()
    }

    /// The number of the list, which changes with it.
    pub(super) fn number(&self) -> u64 {
        self.number.load(Ordering::Acquire)
    }

    pub(super) fn remove(&self, tap: &Arc<TapState>) {
        self.lock().retain(|other| !Arc::ptr_eq(other, tap));
        self.changed();
    }

    fn add(&self, tap: Arc<TapState>) {
        self.lock().push(tap);
        self.changed();
    }

    fn changed(&self) {
        self.number.fetch_add(1, Ordering::AcqRel);
        self.changes.ring();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<TapState>>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes connections, and ends them when this is dropped.
async fn listen(listener: TcpListener, acceptor: TlsAcceptor, side: Arc<Side>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection(stream, acceptor.clone(), Arc::clone(&side)));
                }
                Err(error) => {
                    tracing::warn!(subject = %side.subject, %error, "a connection was not accepted");
                    // Out of files, most likely: until a connection ends, or some time is over.
                    let _ = timeout(PAUSE, connections.join_next()).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connection(stream: TcpStream, acceptor: TlsAcceptor, side: Arc<Side>) {
    let subject = side.subject;
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%subject, %error, "a connection sends its packets late");
    }
    let stream = match acceptor.accept(stream).await {
        Ok(stream) => stream,
        Err(error) => {
            tracing::debug!(%subject, %error, "no TLS with a connection");
            return;
        }
    };
    let mut server = auto::Builder::new(TokioExecutor::new());
    server
        .http2()
        .max_concurrent_streams(STREAMS)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW);
    let service = service_fn(move |request: http::Request<Incoming>| {
        passage::serve(Arc::clone(&side), request)
    });
    // A connection that a fault cuts ends with an error too.
    if let Err(error) = server.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%subject, error, "a connection ended");
    }
}
