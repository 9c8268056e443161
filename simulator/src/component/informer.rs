//! Follows one kind of object for a component: a list, and watches from there on.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::channel::mpsc::UnboundedSender;

use super::pause::pause;
use super::transport::{Told, Transport};
use crate::object::{Object, resource_version};
use crate::resource::Resource;

/// How long it waits after what failed.
const PAUSE: Duration = Duration::from_millis(800);

/// What is seen.
#[derive(Debug)]
pub(super) enum Seen {
    /// All that is there.
    Listed(&'static Resource, Vec<Arc<Object>>),
    /// An object was made or changed.
    Put(&'static Resource, Arc<Object>),
    /// An object is gone.
    Gone(&'static Resource, Arc<Object>),
}

/// Follows until nobody listens any more.
pub(super) async fn follow(
    resource: &'static Resource,
    transport: Transport,
    seen: UnboundedSender<Seen>,
) {
    while !seen.is_closed() {
        let Some(mut version) = list(resource, &transport, &seen).await else {
            pause(PAUSE).await;
            continue;
        };
        while watch(resource, &transport, &seen, &mut version).await {}
    }
}

/// Lists; gives the version to watch from.
async fn list(
    resource: &'static Resource,
    transport: &Transport,
    seen: &UnboundedSender<Seen>,
) -> Option<String> {
    let (version, items) = transport.list(resource).await.ok()?;
    seen.unbounded_send(Seen::Listed(resource, items)).ok()?;
    Some(version)
}

/// Watches until the watch ends; whether it can go on from the last version.
async fn watch(
    resource: &'static Resource,
    transport: &Transport,
    seen: &UnboundedSender<Seen>,
    version: &mut String,
) -> bool {
    let Ok(mut told) = transport.watch(resource, version).await else {
        pause(PAUSE).await;
        return false;
    };
    while let Some(told) = told.next().await {
        let Ok(told) = told else { return false };
        let told = match told {
            Told::Bookmark(reached) => {
                *version = reached;
                continue;
            }
            Told::Put(object) => Seen::Put(resource, object),
            Told::Gone(object) => Seen::Gone(resource, object),
        };
        let (Seen::Put(_, object) | Seen::Gone(_, object)) = &told else { continue };
        resource_version(object).clone_into(version);
        if seen.unbounded_send(told).is_err() {
            return false;
        }
    }
    true
}
