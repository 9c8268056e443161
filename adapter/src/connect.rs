//! From a configuration to an adapter with a client.

use std::sync::Arc;

use dispatch_contract::{CallError, ErrorKind, OsEntropy, SystemClock};
use dispatch_kubernetes::client::{ClientError, from_environment, from_kubeconfig};
use dispatch_kubernetes::request::chain;

use crate::error::fail;
use crate::{Adapter, Config};

/// An adapter with a client from the configuration's kubeconfig, or from its surroundings. Nothing
/// is sent yet.
pub async fn connect(config: Config) -> Result<Adapter, CallError> {
    let client = match &config.kubeconfig {
        Some(path) => from_kubeconfig(path).await,
        None => from_environment().await,
    };
    let failed = |error: ClientError| fail(ErrorKind::Unavailable, chain(&error), &[]);
    let client = client.map_err(failed)?;
    Ok(Adapter::new(config, client, Arc::new(SystemClock), Arc::new(OsEntropy)))
}
