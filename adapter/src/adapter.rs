//! The adapter, with a method for each call.

use std::sync::Arc;

use dispatch_contract::{
    CallError, Clock, Entropy, ErrorKind, ListEntry, ObjectRef, PreflightAnswer, ReleaseAnswer,
    StartAnswer, StartRequest, StatusAnswer, StopAnswer,
};
use kube::Client;

use crate::Config;

/// An adapter in one namespace. Every call can be made at any time, by several tasks and several
/// adapters at once; what an adapter keeps in memory is only whether the gate was proved.
pub struct Adapter {
    config: Config,
    client: Client,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl Adapter {
    /// An adapter by this configuration. Nothing is sent yet.
    pub fn new(
        config: Config,
        client: Client,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        Self { config, client, clock, entropy }
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Creates an object, closed: nothing of it runs before [`Adapter::open`]. A repeat with the
    /// same input gives the same object (SG-01 to SG-09).
    pub async fn start(&self, _request: &StartRequest) -> Result<StartAnswer, CallError> {
        self.missing("start")
    }

    /// Opens an object's gate, once; a repeat writes nothing (OP-01 to OP-10).
    pub async fn open(&self, _object: &ObjectRef) -> Result<(), CallError> {
        self.missing("open")
    }

    /// What state an object is in, and what contradicts the contract (CA-04, EX-04, EX-05).
    pub async fn status(&self, _object: &ObjectRef) -> Result<StatusAnswer, CallError> {
        self.missing("status")
    }

    /// Holds an object: it is marked, and its Workload deactivated (CA-01).
    pub async fn hold(&self, _object: &ObjectRef) -> Result<(), CallError> {
        self.missing("hold")
    }

    /// Takes the hold away that it finds, and sets the object going (CA-02).
    pub async fn release(&self, _object: &ObjectRef) -> Result<ReleaseAnswer, CallError> {
        self.missing("release")
    }

    /// Deletes an object, and waits until no pod of it is left (CA-03).
    pub async fn stop(&self, _object: &ObjectRef) -> Result<StopAnswer, CallError> {
        self.missing("stop")
    }

    /// Every object of dispatch in the namespace, probes excepted (CA-08).
    pub async fn list(&self) -> Result<Vec<ListEntry>, CallError> {
        self.missing("list")
    }

    /// Proves that the gates hold (PF-01 to PF-07). Until it has, and when it fails, the adapter is
    /// observe-only.
    pub async fn preflight(&self) -> Result<PreflightAnswer, CallError> {
        self.missing("preflight")
    }

    fn missing<T>(&self, call: &str) -> Result<T, CallError> {
        let _ = (&self.client, &self.clock, &self.entropy);
        Err(CallError {
            kind: ErrorKind::NotSupported,
            message: format!("{call} is not there yet"),
            rules: Vec::new(),
        })
    }
}
