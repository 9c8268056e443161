//! The reference adapter, called in this process.

use std::sync::Arc;

use dispatch_adapter::{Config, LeaseRef, Preflight};
use dispatch_contract::{CallError, Clock, Entropy, ErrorKind};
use dispatch_kubernetes::client;
use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;

use super::adapter::{Adapter, Call};
use super::error::SubjectError;

/// The reference adapter, with a client of its own.
pub struct BuiltIn {
    adapter: dispatch_adapter::Adapter,
}

/// What the adapter is told.
#[derive(Clone, Debug)]
pub struct AdapterSetup {
    /// Its kubeconfig, as text.
    pub kubeconfig: String,
    /// The namespace of its objects.
    pub namespace: String,
    /// The `LocalQueue`.
    pub queue: String,
    /// The `AdmissionCheck`.
    pub admission_check: String,
    /// The controller that the check names.
    pub controller_name: String,
    /// The controller's Lease, in the namespace.
    pub lease: String,
    /// Whether the gate has to be proved before anything is started.
    pub preflight: Preflight,
}

impl BuiltIn {
    /// Builds it; nothing is sent yet.
    pub async fn new(
        setup: AdapterSetup,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Self, SubjectError> {
        let client = client::from_kubeconfig_text(&setup.kubeconfig).await?;
        let mut config = Config::kueue(&setup.namespace, &setup.queue, &setup.admission_check);
        config.controller_name = setup.controller_name;
        config.lease = LeaseRef { name: setup.lease, namespace: setup.namespace };
        config.preflight = setup.preflight;
        Ok(Self { adapter: dispatch_adapter::Adapter::new(config, client, clock, entropy) })
    }
}

impl Adapter for BuiltIn {
    fn name(&self) -> &'static str {
        "reference"
    }

    fn call<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Value, CallError>> {
        let adapter = &self.adapter;
        Box::pin(async move {
            match call {
                Call::Start(request) => answer(adapter.start(request).await),
                Call::Open(object) => answer(adapter.open(object).await),
                Call::Status(object) => answer(adapter.status(object).await),
                Call::Hold(object) => answer(adapter.hold(object).await),
                Call::Release(object) => answer(adapter.release(object).await),
                Call::Stop(object) => answer(adapter.stop(object).await),
                Call::List => answer(adapter.list().await),
                Call::Preflight => answer(adapter.preflight().await),
            }
        })
    }
}

fn answer<T: Serialize>(answered: Result<T, CallError>) -> Result<Value, CallError> {
    serde_json::to_value(answered?).map_err(|error| CallError {
        kind: ErrorKind::Unknown,
        message: format!("the answer cannot be written as JSON: {error}"),
        rules: Vec::new(),
    })
}
