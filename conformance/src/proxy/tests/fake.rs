//! An API server for tests and benchmarks: HTTPS on the loopback address, and answers as given.

use std::net::Ipv4Addr;
use std::sync::Arc;

use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

/// The body of an answer.
pub(crate) type Body = UnsyncBoxBody<Bytes, std::io::Error>;

/// What answers a request; `None` breaks the connection.
pub(crate) type Handler =
    Arc<dyn Fn(Request<Bytes>) -> BoxFuture<'static, Option<Response<Body>>> + Send + Sync>;

/// An API server that is ended when it is dropped.
pub(crate) struct FakeServer {
    pub(crate) url: String,
    /// Its certificate authority, PEM.
    pub(crate) authority: String,
    listening: AbortHandle,
}

impl FakeServer {
    pub(crate) async fn start(handler: Handler) -> Self {
        let key = KeyPair::generate().expect("a key");
        let parameters = CertificateParams::new(["127.0.0.1".to_owned()]).expect("a name");
        let certificate = parameters.self_signed(&key).expect("a certificate");
        let mut tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::Pkcs8(key.serialize_der().into()),
            )
            .expect("a certificate with its key");
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let url = format!("https://{}", listener.local_addr().expect("an address"));
        let acceptor = TlsAcceptor::from(Arc::new(tls));
        let listening = tokio::spawn(listen(listener, acceptor, handler)).abort_handle();
        Self { url, authority: certificate.pem(), listening }
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn listen(listener: TcpListener, acceptor: TlsAcceptor, handler: Handler) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, handler) = (acceptor.clone(), Arc::clone(&handler));
        connections.spawn(async move {
            stream.set_nodelay(true).expect("no delay");
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let service = service_fn(move |request: Request<Incoming>| {
                let handler = Arc::clone(&handler);
                async move {
                    let (head, body) = request.into_parts();
                    let body = body.collect().await.map_err(std::io::Error::other)?.to_bytes();
                    let answer = handler(Request::from_parts(head, body)).await;
                    answer.ok_or_else(|| std::io::Error::other("broken off"))
                }
            });
            let server = auto::Builder::new(TokioExecutor::new());
            // A subject that leaves ends it with an error, which is as good as any end.
            let _ = server.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
