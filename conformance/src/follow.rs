//! A collection of the API server, followed version by version.
//!
//! A reflector keeps the latest state and may pass over what lies between; here every version
//! counts. So this lists once and then watches from the list's own version, resumes a watch that
//! was cut from the last version seen, and says so when the server no longer has what came after
//! it.

use std::fmt::Debug;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use kube::Api;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::core::Status;
use serde::de::DeserializeOwned;
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
pub(crate) async fn follow<K>(api: Api<K>, fields: Fields, mut seen: impl FnMut(Seen<K>))
where
    K: Clone + Debug + DeserializeOwned + kube::Resource,
{
    let mut pause = interval(RETRY);
    pause.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let Some(mut version) = list(&api, fields.as_deref(), &mut seen).await else {
            pause.reset();
            pause.tick().await;
            continue;
        };
        loop {
            match watch(&api, fields.as_deref(), &mut version, &mut seen).await {
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
async fn list<K>(
    api: &Api<K>,
    fields: Option<&str>,
    seen: &mut impl FnMut(Seen<K>),
) -> Option<String>
where
    K: Clone + Debug + DeserializeOwned + kube::Resource,
{
    let params = ListParams { field_selector: fields.map(str::to_owned), ..ListParams::default() };
    let trouble = match timeout(LIST_LIMIT, api.list(&params)).await {
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
    api: &Api<K>,
    fields: Option<&str>,
    version: &mut String,
    seen: &mut impl FnMut(Seen<K>),
) -> Ended
where
    K: Clone + Debug + DeserializeOwned + kube::Resource,
{
    let mut params = WatchParams::default().timeout(WATCH_S);
    params.field_selector = fields.map(str::to_owned);
    let limit = Duration::from_secs(WATCH_S.into()) + WATCH_GRACE;
    let streamed = async {
        let mut stream = match api.watch(&params, version).await {
            Ok(stream) => stream.into_stream().boxed(),
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
            if let Some(reached) = &object.meta().resource_version {
                version.clone_from(reached);
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
