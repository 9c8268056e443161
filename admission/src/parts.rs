//! The parts of a pass, each of which can be replaced by itself.

use std::sync::Arc;

use dispatch_contract::Clock;
use dispatch_kubernetes::request::Limits;
use kube::Client;

use crate::apply::{Apply, LiveWriter};
use crate::decide::{Contract, Decide};
use crate::gather::{Gather, LiveReader};
use crate::served_checks::ServedChecks;

/// What the parts of the controller work with.
#[derive(Clone)]
pub struct Environment {
    /// The client of every request.
    pub client: Client,
    /// Time limits of requests.
    pub limits: Limits,
    /// Where times in what is written come from.
    pub clock: Arc<dyn Clock>,
    /// The `AdmissionChecks` that name this controller.
    pub checks: ServedChecks,
}

/// The three parts of a pass: what reads, what decides, and what writes.
#[derive(Clone)]
pub struct Parts {
    /// The only reader.
    pub gather: Arc<dyn Gather>,
    /// The decision.
    pub decide: Arc<dyn Decide>,
    /// The only writer.
    pub apply: Arc<dyn Apply>,
}

impl Parts {
    /// The contract's: live reads, its decision, preconditioned writes.
    pub fn reference(environment: &Environment) -> Self {
        let Environment { client, limits, clock, checks } = environment.clone();
        Self {
            gather: Arc::new(LiveReader::new(client.clone(), limits, checks)),
            decide: Arc::new(Contract),
            apply: Arc::new(LiveWriter::new(client, limits, clock)),
        }
    }
}
