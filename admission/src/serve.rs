//! Health and metrics over HTTP: `/healthz`, `/readyz`, `/metrics`.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use thiserror::Error;
use tokio::net::TcpListener;

use crate::metrics::Metrics;
use crate::triggers::Synced;

/// The endpoints cannot be served.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The address cannot be written down.
    #[error("cannot write the address of the endpoints to {}", path.display())]
    EndpointsFile {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Serving ended.
    #[error("the endpoints are not served any more")]
    Ended(#[source] io::Error),
}

/// What the endpoints show.
#[derive(Clone)]
pub(crate) struct Shown {
    pub(crate) metrics: Metrics,
    pub(crate) synced: Synced,
}

/// Listens, and says where: in the log, and in `file` if there is one.
pub(crate) async fn listen(
    address: SocketAddr,
    file: Option<&Path>,
) -> Result<TcpListener, ServeError> {
    let wrap = |source| ServeError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(wrap)?;
    let bound = listener.local_addr().map_err(wrap)?;
    tracing::info!(address = %bound, "serving /healthz, /readyz and /metrics");
    if let Some(path) = file {
        let wrap = |source| ServeError::EndpointsFile { path: path.to_owned(), source };
        let unfinished = path.with_extension("unfinished");
        fs_err::tokio::write(&unfinished, format!("{bound}\n")).await.map_err(wrap)?;
        fs_err::tokio::rename(&unfinished, path).await.map_err(wrap)?;
    }
    Ok(listener)
}

/// Serves until it is dropped, or fails.
pub(crate) async fn serve(listener: TcpListener, shown: Shown) -> Result<(), ServeError> {
    axum::serve(listener, router(shown)).await.map_err(ServeError::Ended)
}

fn router(shown: Shown) -> Router {
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .with_state(shown)
}

/// Ready once every watch has had its first list. Not a question of leading: a replica that follows
/// is ready to take over.
async fn readyz(State(shown): State<Shown>) -> Response {
    let missing = shown.synced.missing();
    if missing.is_empty() {
        "ok\n".into_response()
    } else {
        let text = format!("waiting for the first list of: {}\n", missing.join(", "));
        (StatusCode::SERVICE_UNAVAILABLE, text).into_response()
    }
}

async fn metrics(State(shown): State<Shown>) -> Response {
    match shown.metrics.text() {
        Ok(text) => {
            let type_ = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ([(header::CONTENT_TYPE, type_)], text).into_response()
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
