//! A collection of the API server, followed version by version.
//!
//! A reflector keeps the latest state and may pass over what lies between; here every version
//! counts. So this lists once and then watches from the list's own version, resumes a watch that
//! was cut from the last version seen, and says so when the server no longer has what came after
//! it.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::core::{Request, Status};
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tokio::time::{MissedTickBehavior, interval, timeout};

/// For how long one watch is asked to last, in seconds. Resuming it costs one request.
const WATCH_S: u32 = 240;

/// How long a watch may outlast that before the connection counts as dead.
const WATCH_GRACE: Duration = Duration::from_secs(10);

/// How long a list may take.
const LIST_LIMIT: Duration = Duration::from_secs(20);

/// How long to wait before trying again what failed.
const RETRY: Duration = Duration::from_millis(200);

/// What is seen of a followed collection.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Seen<K> {
    /// Everything that is there, as of one revision of the store. The first thing that is seen;
    /// seen again after [`Seen::Lost`].
    Listed(Vec<K>),
    /// An object was created.
    Added(K),
    /// An object changed.
    Modified(K),
    /// An object is gone; this is its last state, with the version of its deletion.
    Deleted(K),
    /// Versions were lost; a list follows.
    Lost(String),
    /// A request failed and will be repeated; nothing is lost.
    Trouble(String),
}

/// Which objects of a collection are followed: a field selector, everything unless given.
pub(crate) type Fields = Option<String>;

/// What is followed, and read as `K`: the resource's own type, or JSON as it was sent.
#[derive(Clone)]
pub(crate) struct Collection {
    client: Client,
    path: String,
    fields: Fields,
}

/// What has a version.
pub(crate) trait Versioned {
    /// Its `resourceVersion`.
    fn version(&self) -> Option<&str>;
}

impl<K: kube::Resource> Versioned for K {
    fn version(&self) -> Option<&str> {
        self.meta().resource_version.as_deref()
    }
}

/// JSON as it was sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Whole(pub(crate) Arc<Value>);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Value::deserialize(from).map(|value| Self(Arc::new(value)))
    }
}

impl Versioned for Whole {
    fn version(&self) -> Option<&str> {
        self.0["metadata"]["resourceVersion"].as_str()
    }
}

/// A list, with what is followed of it.
#[derive(Debug, Deserialize)]
pub(crate) struct List<K> {
    pub(crate) metadata: ListMeta,
    pub(crate) items: Vec<K>,
}

impl Collection {
    pub(crate) fn new<A: kube::Resource>(api: Api<A>, fields: Fields) -> Self {
        let path = api.resource_url().to_owned();
        Self { client: api.into_client(), path, fields }
    }

    /// Lists it as of now.
    pub(crate) async fn list<K: DeserializeOwned>(&self) -> kube::Result<List<K>> {
        let params = ListParams { field_selector: self.fields.clone(), ..ListParams::default() };
        let request = Request::new(&self.path).list(&params).map_err(kube::Error::BuildRequest)?;
        self.client.request(request).await
    }
}

/// How one watch ended.
enum Ended {
    /// To be resumed from the last version seen.
    Cut,
    /// The server no longer has the versions that follow.
    Expired(String),
    /// It failed, and nothing was seen.
    Failed(String),
}

/// Follows a collection until the future is dropped.
pub(crate) async fn follow<K>(collection: Collection, mut seen: impl FnMut(Seen<K>))
where
    K: Clone + Debug + DeserializeOwned + Versioned,
{
    let mut pause = interval(RETRY);
    pause.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let Some(mut version) = list(&collection, &mut seen).await else {
            pause.reset();
            pause.tick().await;
            continue;
        };
        loop {
            match watch(&collection, &mut version, &mut seen).await {
                Ended::Cut => {}
                Ended::Failed(why) => {
                    seen(Seen::Trouble(why));
                    pause.reset();
                    pause.tick().await;
                }
                Ended::Expired(why) => {
                    seen(Seen::Lost(why));
                    break;
                }
            }
        }
    }
}

/// Lists the collection as of now; gives the version to watch from.
async fn list<K: DeserializeOwned>(
    collection: &Collection,
    seen: &mut impl FnMut(Seen<K>),
) -> Option<String> {
    let trouble = match timeout(LIST_LIMIT, collection.list()).await {
        Ok(Ok(list)) => {
            let version = list.metadata.resource_version.unwrap_or_default();
            seen(Seen::Listed(list.items));
            return Some(version);
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("a list was not answered within {LIST_LIMIT:?}"),
    };
    seen(Seen::Trouble(trouble));
    None
}

/// One watch, from `version` on, which is moved along with what is seen.
async fn watch<K>(
    Collection { client, path, fields }: &Collection,
    version: &mut String,
    seen: &mut impl FnMut(Seen<K>),
) -> Ended
where
    K: Clone + Debug + DeserializeOwned + Versioned,
{
    let mut params = WatchParams::default().timeout(WATCH_S);
    params.field_selector.clone_from(fields);
    let limit = Duration::from_secs(WATCH_S.into()) + WATCH_GRACE;
    let streamed = async {
        let request = match Request::new(path).watch(&params, version) {
            Ok(request) => request,
            Err(error) => return Ended::Failed(error.to_string()),
        };
        let mut stream = match client.request_events::<K>(request).await {
            Ok(stream) => stream.boxed(),
            Err(error) => return ended_by(&error),
        };
        while let Some(event) = stream.next().await {
            let (object, make): (K, fn(K) -> Seen<K>) = match event {
                Ok(WatchEvent::Added(object)) => (object, Seen::Added),
                Ok(WatchEvent::Modified(object)) => (object, Seen::Modified),
                Ok(WatchEvent::Deleted(object)) => (object, Seen::Deleted),
                Ok(WatchEvent::Bookmark(mark)) => {
                    *version = mark.metadata.resource_version;
                    continue;
                }
                Ok(WatchEvent::Error(status)) => return ended_by_status(&status),
                Err(error) => return ended_by(&error),
            };
            if let Some(reached) = object.version() {
                reached.clone_into(version);
            }
            seen(make(object));
        }
        Ended::Cut
    };
    timeout(limit, streamed).await.unwrap_or(Ended::Cut)
}

fn ended_by(error: &kube::Error) -> Ended {
    match error {
        kube::Error::Api(status) => ended_by_status(status),
        other => Ended::Failed(other.to_string()),
    }
}

fn ended_by_status(status: &Status) -> Ended {
    let why = format!("{} ({})", status.message, status.code);
    match status.code {
        410 => Ended::Expired(why),
        _ => Ended::Failed(why),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use k8s_openapi::api::core::v1::Pod;
    use kube::ResourceExt;
    use serde_json::{Value, json};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    fn pod(version: &str) -> Value {
        let metadata = json!({ "name": "p", "uid": "u", "resourceVersion": version });
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata })
    }

    fn list(version: &str, pods: &[Value]) -> String {
        let metadata = json!({ "resourceVersion": version });
        json!({ "apiVersion": "v1", "kind": "PodList", "metadata": metadata, "items": pods })
            .to_string()
    }

    fn events(events: &[(&str, Value)]) -> String {
        let line = |(kind, object): &(&str, Value)| {
            format!("{}\n", json!({ "type": kind, "object": object }))
        };
        events.iter().map(line).collect()
    }

    fn expired() -> Value {
        json!({
            "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 410,
            "reason": "Expired", "message": "too old resource version", "metadata": {},
        })
    }

    /// An API server that answers each request with the next answer, and then no more; gives the
    /// requests' targets.
    async fn server(answers: Vec<(u16, String)>) -> (Api<Pod>, Arc<Mutex<Vec<String>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let targets = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&targets);
        tokio::spawn(async move {
            for (status, body) in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = vec![0; 4096];
                let read = stream.read(&mut request).await.unwrap();
                let text = String::from_utf8_lossy(&request[..read]);
                seen.lock().unwrap().push(text.split(' ').nth(1).unwrap().to_owned());
                let head = format!("HTTP/1.1 {status} x\r\nconnection: close\r\n\r\n");
                stream.write_all(head.as_bytes()).await.unwrap();
                stream.write_all(body.as_bytes()).await.unwrap();
            }
            std::future::pending::<()>().await;
        });
        let client = dispatch_kubernetes::client::from_config(kube::Config::new(url)).unwrap();
        (Api::namespaced(client, "ns"), targets)
    }

    /// What is seen of a server, in words, until so many things were seen.
    async fn seen(api: Api<Pod>, count: usize) -> Vec<String> {
        let (sink, mut seen) = tokio::sync::mpsc::unbounded_channel();
        let followed = tokio::spawn(follow(Collection::new(api, None), move |event| {
            sink.send(event).unwrap();
        }));
        let version = |pod: &Pod| pod.resource_version().unwrap_or_default();
        let mut words = Vec::new();
        while words.len() < count {
            words.push(match seen.recv().await.unwrap() {
                Seen::Listed(pods) => {
                    format!("listed {}", pods.iter().map(version).collect::<Vec<_>>().join(" "))
                }
                Seen::Added(pod) => format!("added {}", version(&pod)),
                Seen::Modified(pod) => format!("modified {}", version(&pod)),
                Seen::Deleted(pod) => format!("deleted {}", version(&pod)),
                Seen::Lost(_) => "lost".to_owned(),
                Seen::Trouble(_) => "trouble".to_owned(),
            });
        }
        followed.abort();
        words
    }

    #[tokio::test]
    async fn every_version_is_seen_and_a_cut_watch_goes_on_from_the_last_one() {
        let (api, targets) = server(vec![
            (200, list("5", &[pod("3")])),
            (200, events(&[("MODIFIED", pod("6")), ("MODIFIED", pod("7"))])),
            (200, events(&[("DELETED", pod("9"))])),
        ])
        .await;
        let seen = seen(api, 4).await;
        assert_eq!(seen, ["listed 3", "modified 6", "modified 7", "deleted 9"]);
        let targets = targets.lock().unwrap();
        assert!(targets[1].contains("resourceVersion=5"), "{targets:?}");
        assert!(targets[2].contains("resourceVersion=7"), "{targets:?}");
    }

    #[tokio::test]
    async fn a_bookmark_moves_the_place_to_go_on_from() {
        let (api, targets) = server(vec![
            (200, list("5", &[])),
            (200, events(&[("BOOKMARK", pod("40"))])),
            (200, events(&[("ADDED", pod("41"))])),
        ])
        .await;
        assert_eq!(seen(api, 2).await, ["listed ", "added 41"]);
        assert!(targets.lock().unwrap()[2].contains("resourceVersion=40"));
    }

    #[tokio::test]
    async fn versions_that_the_server_no_longer_has_are_said_to_be_lost() {
        let (api, _) = server(vec![
            (200, list("5", &[pod("3")])),
            (200, events(&[("ERROR", expired())])),
            (200, list("90", &[pod("80")])),
        ])
        .await;
        assert_eq!(seen(api, 3).await, ["listed 3", "lost", "listed 80"]);
    }

    #[tokio::test]
    async fn a_refused_watch_is_tried_again_from_the_same_place() {
        let (api, targets) = server(vec![
            (500, "no list".to_owned()),
            (200, list("5", &[])),
            (500, "no watch".to_owned()),
            (200, events(&[("ADDED", pod("6"))])),
        ])
        .await;
        assert_eq!(seen(api, 4).await, ["trouble", "listed ", "trouble", "added 6"]);
        assert!(targets.lock().unwrap()[3].contains("resourceVersion=5"));
    }
}
