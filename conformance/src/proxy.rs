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

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use dispatch_simulator::component::SendRequest;
use thiserror::Error;

pub use answer::{Answer, Lost};
pub use certificates::CertificateError;
pub use fault::{AtRandom, Effect, Fault, Pattern, Refusal, Sets, Signal, Times, WatchFault, When};
pub use log::{JournalLog, Log, Signals};
pub use port::{Port, PortService};
pub use tap::{Placed, Scope, Tap};

use crate::history::{Role, Subject};

use certificates::Identity;
use upstream::{Pool, Server};

/// The API server behind the proxy.
#[derive(Clone)]
pub enum Upstream {
    /// One that is reached over the network.
    Server {
        /// Its URL: `https`, host and port.
        server: String,
        /// The certificate authority that signed its certificate, PEM.
        certificate_authority: String,
    },
    /// One in this process. Nothing listens then: subjects are given a [`Port::service`].
    Embedded(Arc<dyn Embedded>),
}

/// An API server in this process.
pub trait Embedded: Send + Sync {
    /// How requests of this role get to it. Subjects say themselves who they are, by a token; the
    /// cluster's components are known.
    fn service(&self, role: Role) -> Arc<SendRequest>;
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
    #[error("the proxy cannot listen for {subject} on {address}")]
    Listen {
        /// For whom.
        subject: Subject,
        /// Where.
        address: IpAddr,
        /// What the operating system says.
        source: std::io::Error,
    },
}

/// The proxy of a run. Its certificate authority is its own and lives in memory alone.
pub struct Proxy(Kind);

enum Kind {
    Listening { server: Server, identity: Identity, beside: IpAddr },
    Embedded(Arc<dyn Embedded>),
}

impl Proxy {
    /// A proxy to an API server, which is not asked for anything yet.
    pub async fn start(upstream: Upstream) -> Result<Self, ProxyError> {
        Self::start_beside(upstream, Ipv4Addr::LOCALHOST.into()).await
    }

    /// The same, which can be reached at this address too, where that is asked for.
    #[expect(clippy::unused_async, reason = "what it does at its start may have to wait one day")]
    pub async fn start_beside(upstream: Upstream, beside: IpAddr) -> Result<Self, ProxyError> {
        Ok(Self(match upstream {
            Upstream::Server { server, certificate_authority } => Kind::Listening {
                server: Server::new(&server, &certificate_authority)?,
                identity: Identity::create(beside).map_err(ProxyError::Certificate)?,
                beside,
            },
            Upstream::Embedded(embedded) => Kind::Embedded(embedded),
        }))
    }

    /// The certificate authority that signed the proxy's certificate, PEM, for kubeconfigs; empty
    /// where nothing listens.
    pub fn certificate_authority(&self) -> &str {
        match &self.0 {
            Kind::Listening { identity, .. } => &identity.authority,
            Kind::Embedded(_) => "",
        }
    }

    /// Listens for a subject until the port is dropped. What comes in there has connections to the
    /// API server of its own.
    pub async fn port(&self, subject: Subject) -> Result<Port, ProxyError> {
        self.port_at(subject, Ipv4Addr::LOCALHOST.into()).await
    }

    /// The same for who does not run on this machine's loopback address.
    pub async fn port_beside(&self, subject: Subject) -> Result<Port, ProxyError> {
        let beside = match &self.0 {
            Kind::Listening { beside, .. } => *beside,
            Kind::Embedded(_) => Ipv4Addr::LOCALHOST.into(),
        };
        self.port_at(subject, beside).await
    }

    async fn port_at(&self, subject: Subject, address: IpAddr) -> Result<Port, ProxyError> {
        match &self.0 {
            Kind::Listening { server, identity, .. } => {
                let acceptor = identity.acceptor.clone();
                Port::listen(subject, address, acceptor, Pool::network(server)).await
            }
            Kind::Embedded(embedded) => {
                Ok(Port::embedded(subject, Pool::Embedded(embedded.service(subject.role))))
            }
        }
    }
}

#[cfg(test)]
mod tests;
