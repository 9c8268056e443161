//! HTTPS clients of the cluster's own servers.

use super::certificates::Pair;
use crate::cluster::ClusterError;
use dispatch_kubernetes::client;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use std::path::Path;
use std::time::Duration;

/// How long one request may take. Beyond it the outcome is unknown. On a machine with much else to
/// do, an API server that takes in 15 definitions at once may need most of it.
pub(in crate::cluster) const REQUEST_LIMIT: Duration = Duration::from_mins(1);
/// How long one question may take that is asked again anyway.
const QUESTION_LIMIT: Duration = Duration::from_secs(10);

/// The administrator's client of the cluster.
pub(in crate::cluster) async fn admin(kubeconfig: &Path) -> Result<kube::Client, ClusterError> {
    client::from_kubeconfig(kubeconfig).await.map_err(|error| ClusterError::Request {
        action: format!("making a client from {}", kubeconfig.display()),
        detail: chain(&error),
    })
}

/// Whether the API server answers within the limit of a request.
pub(in crate::cluster) async fn answers(client: &kube::Client) -> bool {
    let asked = tokio::time::timeout(REQUEST_LIMIT, client.apiserver_version());
    matches!(asked.await, Ok(Ok(_)))
}

/// A client of any server whose certificate the authority signed.
#[derive(Clone)]
pub(in crate::cluster) struct Endpoint(kube::Client);

impl Endpoint {
    /// A client of `url`, which presents `pair` if there is one.
    pub(in crate::cluster) fn new(
        url: &str,
        authority: &Path,
        pair: Option<&Pair>,
    ) -> Result<Self, ClusterError> {
        let failed = |detail: String| ClusterError::Request {
            action: format!("making a client of {url}"),
            detail,
        };
        let mut config = kube::Config::new(
            url.parse().map_err(|e: http::uri::InvalidUri| failed(e.to_string()))?,
        );
        config.root_cert_file = Some(authority.to_path_buf());
        config.connect_timeout = Some(QUESTION_LIMIT);
        if let Some(pair) = pair {
            config.auth_info.client_certificate = Some(pair.certificate.display().to_string());
            config.auth_info.client_key = Some(pair.key.display().to_string());
        }
        client::from_config(config).map(Self).map_err(|error| failed(chain(&error)))
    }

    /// GETs `path`; Ok if the answer is 200, else what was seen.
    pub(in crate::cluster) async fn says_ok(&self, path: &str) -> Result<(), String> {
        match self.send(Method::GET, path).await? {
            (StatusCode::OK, _) => Ok(()),
            (status, body) => Err(format!("{path} answers {status}: {}", last_line(&body))),
        }
    }

    /// POSTs nothing to a webhook's `path`. A webhook that is there complains about the body; one
    /// that is not yet registered is 404.
    pub(in crate::cluster) async fn has_webhook(&self, path: &str) -> Result<(), String> {
        match self.send(Method::POST, path).await? {
            (StatusCode::NOT_FOUND, _) => Err(format!("no webhook at {path} yet")),
            _ => Ok(()),
        }
    }

    async fn send(&self, method: Method, path: &str) -> Result<(StatusCode, String), String> {
        let request = Request::builder().method(method).uri(path).body(kube::client::Body::empty());
        let exchange = async {
            let request = request.map_err(|error| error.to_string())?;
            let answer = self.0.send(request).await.map_err(|error| chain(&error))?;
            let status = answer.status();
            let body = answer.into_body().collect().await.map_err(|error| error.to_string())?;
            Ok((status, String::from_utf8_lossy(&body.to_bytes()).into_owned()))
        };
        tokio::time::timeout(QUESTION_LIMIT, exchange)
            .await
            .unwrap_or_else(|_| Err(format!("no answer within {} s", QUESTION_LIMIT.as_secs())))
    }
}

/// An error with all its causes.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let mut text: Vec<String> = causes.map(ToString::to_string).collect();
    text.dedup();
    text.join(": ")
}

fn last_line(text: &str) -> &str {
    text.trim().lines().last().unwrap_or_default()
}
