//! The store's latest revision, which orders what is no version of an object: calls and steps.

use std::time::Duration;

use k8s_openapi::api::core::v1::Event;
use kube::api::ListParams;
use kube::{Api, Client};
use tokio::time::timeout;

/// How long reading the revision may take. Without an answer there is no order.
const LIMIT: Duration = Duration::from_secs(10);

/// Reads the store's latest revision.
#[derive(Clone)]
pub struct Revisions {
    /// Events: the API server keeps no cache of them, so the list goes to the store at once, and
    /// its version is the store's own, over all kinds.
    events: Api<Event>,
}

impl Revisions {
    /// By way of a namespace, which need not have anything in it.
    pub fn new(client: Client, namespace: &str) -> Self {
        Self { events: Api::namespaced(client, namespace) }
    }

    /// The revision now: at least that of whatever was written before this was called. `None`
    /// where the API server does not say.
    pub async fn latest(&self) -> Option<u64> {
        let list = timeout(LIMIT, self.events.list_metadata(&ListParams::default().limit(1))).await;
        match list {
            Ok(Ok(list)) => list.metadata.resource_version?.parse().ok(),
            Ok(Err(error)) => {
                tracing::warn!(%error, "no order: the store's revision cannot be read");
                None
            }
            Err(_) => {
                tracing::warn!("no order: the store's revision was not given within {LIMIT:?}");
                None
            }
        }
    }
}
