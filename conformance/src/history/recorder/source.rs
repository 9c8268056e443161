//! Where the recorder has objects from.

use std::future::pending;
use std::sync::Arc;

use dispatch_simulator::Cluster;
use dispatch_simulator::api::{EventType, Failure, Followed};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube::Client;
use serde_json::Value;

use super::Recorded;
use crate::follow::{List, Seen, Whole, follow};

/// Where the recorder has objects from.
#[derive(Clone)]
pub enum Source {
    /// An API server, by lists and watches of its own.
    Server(Client),
    /// A cluster in this process, which gives the objects that it keeps: they need not be written as
    /// JSON and read again.
    Embedded(Arc<Cluster>),
}

impl Source {
    /// Follows a kind until the future is dropped.
    pub(super) fn follow(
        &self,
        recorded: &Recorded,
        mut seen: impl FnMut(Seen<Whole>) + Send + 'static,
    ) -> BoxFuture<'static, ()> {
        match self {
            Self::Server(client) => follow(recorded.collection(client.clone()), seen).boxed(),
            Self::Embedded(cluster) => match followed(cluster, recorded) {
                Ok(followed) => embedded(followed, seen).boxed(),
                Err(failure) => {
                    seen(Seen::Trouble(failure.to_string()));
                    pending().boxed()
                }
            },
        }
    }

    /// Lists a kind as of now.
    pub(super) async fn list(&self, recorded: &Recorded) -> Result<List<Whole>, String> {
        match self {
            Self::Server(client) => {
                let listed = recorded.collection(client.clone()).list().await;
                listed.map_err(|error| error.to_string())
            }
            Self::Embedded(cluster) => {
                let followed =
                    followed(cluster, recorded).map_err(|failure| failure.to_string())?;
                let resource_version = Some(followed.revision.to_string());
                let metadata = ListMeta { resource_version, ..ListMeta::default() };
                Ok(List { metadata, items: followed.objects.into_iter().map(Whole).collect() })
            }
        }
    }
}

fn followed(cluster: &Cluster, recorded: &Recorded) -> Result<Followed, Failure> {
    let fields = recorded.fields().unwrap_or_default();
    cluster.follow(recorded.simulated()?, recorded.namespace(), &fields)
}

async fn embedded(mut followed: Followed, mut seen: impl FnMut(Seen<Whole>)) {
    seen(Seen::Listed(followed.objects.into_iter().map(Whole).collect()));
    while let Some((type_, object)) = followed.changes.next().await {
        let object: Arc<Value> = object;
        seen(match type_ {
            EventType::Added => Seen::Added(Whole(object)),
            EventType::Modified => Seen::Modified(Whole(object)),
            EventType::Deleted => Seen::Deleted(Whole(object)),
        });
    }
    pending::<()>().await;
}
