//! Follows one kind of object for a component: a list, and watches from there on.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use futures::channel::mpsc::UnboundedSender;
use http_body_util::BodyExt;
use serde_json::Value;

use super::pause::pause;
use super::run::Transport;
use crate::object::Object;
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
    let answer = transport.read(&path(resource)).await.ok()?;
    let version = answer["metadata"]["resourceVersion"].as_str()?.to_owned();
    let items = answer["items"].as_array()?.iter().cloned().map(Arc::new).collect();
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
    let path =
        format!("{}?watch=true&allowWatchBookmarks=true&resourceVersion={version}", path(resource));
    let Ok(mut body) = transport.open(&path).await else {
        pause(PAUSE).await;
        return false;
    };
    let mut rest = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Some(data) = frame.ok().and_then(|frame| frame.into_data().ok()) else { break };
        rest.extend_from_slice(&data);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line = rest.split_to(end + 1);
            let Ok(mut event) = serde_json::from_slice::<Value>(&line) else { return false };
            let object = event["object"].take();
            let resource_version = crate::object::resource_version(&object).to_owned();
            let told = match event["type"].as_str() {
                Some("ADDED" | "MODIFIED") => Some(Seen::Put(resource, Arc::new(object))),
                Some("DELETED") => Some(Seen::Gone(resource, Arc::new(object))),
                Some("BOOKMARK") => None,
                // It has expired, or it is none that is known.
                _ => return false,
            };
            *version = resource_version;
            if told.is_some_and(|told| seen.unbounded_send(told).is_err()) {
                return false;
            }
        }
    }
    true
}

fn path(resource: &Resource) -> String {
    let api = if resource.group.is_empty() { "api" } else { "apis" };
    format!("/{api}/{}/{}", resource.api_version(), resource.plural)
}
