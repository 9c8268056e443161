//! The proxy that stands before the API server, with a listener for each subject.
//!
//! It speaks HTTPS on the loopback address, HTTP/1.1 and HTTP/2, and streams what it passes on.
//! Each caller's own credentials go to the API server; the proxy has none. A scenario taps a
//! subject's requests: they are logged into its history, and meet its faults. Faults are placed
//! from inside the process only.

mod answer;
mod arrival;
mod certificates;
mod delivery;
mod fault;
mod headers;
mod identity;
mod lines;
mod log;
mod matching;
mod passage;
mod port;
mod protobuf;
mod refusal;
mod summary;
mod table;
mod tap;
mod target;
mod upstream;
mod watching;

use thiserror::Error;

pub use certificates::CertificateError;
pub use fault::{AtRandom, Effect, Fault, Pattern, Refusal, Sets, Signal, Times, WatchFault, When};
pub use log::{JournalLog, Log, Signals};
pub use port::Port;
pub use tap::{Placed, Scope, Tap};

use crate::history::Subject;

use certificates::Identity;
use upstream::{Pool, Server};

/// The API server behind the proxy.
#[derive(Clone, Debug)]
pub struct Upstream {
    /// Its URL: `https`, host and port.
    pub server: String,
    /// The certificate authority that signed its certificate, PEM.
    pub certificate_authority: String,
}

/// The proxy cannot be started, or cannot listen.
#[derive(Debug, Error)]
pub enum ProxyError {
    /// The URL of the API server cannot be used.
    #[error("cannot proxy {server}: {why}")]
    Server {
        /// The URL.
        server: String,
        /// Why.
        why: String,
    },
    /// There is no certificate to show.
    #[error("the proxy has no certificate")]
    Certificate(#[source] CertificateError),
    /// There is no port to listen on.
    #[error("the proxy cannot listen for {subject} on the loopback address")]
    Listen {
        /// For whom.
        subject: Subject,
        /// What the operating system says.
        source: std::io::Error,
    },
}

/// The proxy of a run. Its certificate authority is its own and lives in memory alone.
pub struct Proxy {
    server: Server,
    identity: Identity,
}

impl Proxy {
    /// A proxy to an API server, which is not asked for anything yet.
    #[expect(clippy::unused_async, reason = "what it does at its start may have to wait one day")]
    pub async fn start(upstream: Upstream) -> Result<Self, ProxyError> {
        let server = Server::new(&upstream)?;
        Ok(Self { server, identity: Identity::create().map_err(ProxyError::Certificate)? })
    }

    /// The certificate authority that signed the proxy's certificate, PEM, for kubeconfigs.
    pub fn certificate_authority(&self) -> &str {
        &self.identity.authority
    }

    /// Listens for a subject until the port is dropped. What comes in there has connections to the
    /// API server of its own.
    pub async fn port(&self, subject: Subject) -> Result<Port, ProxyError> {
        Port::listen(subject, self.identity.acceptor.clone(), Pool::new(&self.server)).await
    }
}

#[cfg(test)]
mod tests;
