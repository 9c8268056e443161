//! Connections to the API server.

use std::sync::Arc;
use std::time::Duration;

use dispatch_simulator::component::SendRequest;
use http::uri::{Authority, Scheme};
use http::{Request, Response, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use super::ProxyError;

/// How long an unused connection is kept. The API server ends it after 90 s: that must not happen
/// under a request that is just being sent.
const IDLE: Duration = Duration::from_secs(30);

/// How long connecting may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Where the API server is, and how its certificate is checked.
#[derive(Clone)]
pub(super) struct Server {
    authority: Authority,
    tls: Arc<ClientConfig>,
}

impl Server {
    pub(super) fn new(server: &str, certificate_authority: &str) -> Result<Self, ProxyError> {
        let failed = |why: String| ProxyError::Server { server: server.to_owned(), why };
        let uri: Uri = server.parse().map_err(|_| failed("it is no URL".to_owned()))?;
        let authority = uri.authority().filter(|_| uri.scheme() == Some(&Scheme::HTTPS));
        let authority = authority.ok_or_else(|| failed("it is no https URL".to_owned()))?.clone();
        if !matches!(uri.path(), "" | "/") {
            return Err(failed("it has a path, which the proxy cannot keep apart".to_owned()));
        }
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(certificate_authority.as_bytes()) {
            let certificate = certificate
                .map_err(|error| failed(format!("its certificate authority: {error}")))?;
            roots
                .add(certificate)
                .map_err(|error| failed(format!("its certificate authority: {error}")))?;
        }
        if roots.is_empty() {
            return Err(failed("its certificate authority is no certificate in PEM".to_owned()));
        }
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(error.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { authority, tls: Arc::new(tls) })
    }
}

/// The body of an answer of the API server.
pub(super) type Body = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// How the requests of one port get to the API server.
#[derive(Clone)]
pub(super) enum Pool {
    /// By connections that the port has to itself.
    ///
    /// They are of HTTP/1.1, one for each request that is open: none waits for another's stream or
    /// window, and ending a watch ends its connection.
    Network {
        authority: Authority,
        client: Box<Client<HttpsConnector<HttpConnector>, Full<Bytes>>>,
    },
    /// Within this process.
    Embedded(Arc<SendRequest>),
}

impl Pool {
    pub(super) fn network(server: &Server) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_LIMIT));
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(ClientConfig::clone(&server.tls))
            .https_only()
            .enable_http1()
            .wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .build(connector);
        Self::Network { authority: server.authority.clone(), client: Box::new(client) }
    }

    /// Sends a request, of which the target's path and query are used. The error says why there is
    /// no answer.
    pub(super) async fn send(&self, mut request: Request<Bytes>) -> Result<Response<Body>, String> {
        let (authority, client) = match self {
            Self::Network { authority, client } => (authority, client),
            Self::Embedded(send) => return Ok(send(request).await),
        };
        let target = request.uri().path_and_query().cloned();
        let uri = Uri::builder()
            .scheme(Scheme::HTTPS)
            .authority(authority.clone())
            .path_and_query(target.map_or_else(|| "/".to_owned(), |it| it.to_string()))
            .build()
            .map_err(|error| error.to_string())?;
        *request.uri_mut() = uri;
        *request.version_mut() = http::Version::HTTP_11;
        let answer = client.request(request.map(Full::new)).await.map_err(|error| chain(&error))?;
        Ok(answer.map(|body| body.map_err(Into::into).boxed_unsync()))
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let mut texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.dedup();
    texts.join(": ")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::no_url("not a url", "it is no URL")]
    #[case::no_tls("http://127.0.0.1:1", "it is no https URL")]
    #[case::a_path("https://127.0.0.1:1/clusters/x", "it has a path")]
    #[case::no_certificate("https://127.0.0.1:1", "no certificate in PEM")]
    fn an_api_server_that_cannot_be_proxied_is_refused(#[case] server: &str, #[case] why: &str) {
        let error = Server::new(server, "x").err().unwrap().to_string();
        assert!(error.contains(server) && error.contains(why), "{error}");
    }
}
