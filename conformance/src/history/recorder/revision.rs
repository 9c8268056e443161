//! The store's latest revision, which orders what is no version of an object: calls and steps.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Event;
use kube::api::ListParams;
use kube::{Api, Client};
use tokio::time::timeout;

/// How long reading the revision may take. Without an answer there is no order.
const LIMIT: Duration = Duration::from_secs(10);

/// Reads the store's latest revision.
#[derive(Clone)]
pub struct Revisions(From);

#[derive(Clone)]
enum From {
    /// Events: the API server keeps no cache of them, so the list goes to the store at once, and
    /// its version is the store's own, over all kinds.
    Events(Box<Api<Event>>),
    /// The store itself, in this process.
    Store(Arc<dyn Fn() -> u64 + Send + Sync>),
}

impl Revisions {
    /// By way of a namespace, which need not have anything in it.
    pub fn new(client: Client, namespace: &str) -> Self {
        Self(From::Events(Box::new(Api::namespaced(client, namespace))))
    }

    /// Of a store in this process, which says its latest one.
    pub fn of_store(latest: Arc<dyn Fn() -> u64 + Send + Sync>) -> Self {
        Self(From::Store(latest))
    }

    /// The revision now: at least that of whatever was written before this was called. `None`
    /// where the API server does not say.
    pub async fn latest(&self) -> Option<u64> {
        let events = match &self.0 {
            From::Events(events) => events,
            From::Store(latest) => return Some(latest()),
        };
        let list = timeout(LIMIT, events.list_metadata(&ListParams::default().limit(1))).await;
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
