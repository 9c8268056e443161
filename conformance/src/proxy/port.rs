//! The listener of one subject.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::TcpListener;

use super::ProxyError;
use super::log::{Log, Signals};
use super::tap::{Scope, Tap};
use crate::history::Subject;

/// The listener of one subject: whatever comes in here is the subject's. Listens until it is
/// dropped.
pub struct Port {
    subject: Subject,
    address: SocketAddr,
    _listener: TcpListener,
    signals: Mutex<Option<Arc<dyn Signals>>>,
}

impl Port {
    pub(super) async fn listen(subject: Subject) -> Result<Self, ProxyError> {
        let failed = |source| ProxyError::Listen { subject, source };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { subject, address, _listener: listener, signals: Mutex::new(None) })
    }

    /// Whose requests come in here.
    pub fn subject(&self) -> Subject {
        self.subject
    }

    /// The URL, for a kubeconfig.
    pub fn server(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Requests within the scope are logged from now on, and meet the faults of this tap.
    pub fn tap(&self, scope: Scope, log: Arc<dyn Log>) -> Tap {
        Tap::new(scope, log)
    }

    /// How faults reach the process, which may be another one after a restart.
    pub fn signals(&self, signals: Arc<dyn Signals>) {
        *self.signals.lock().unwrap_or_else(PoisonError::into_inner) = Some(signals);
    }
}
