//! Waiting for what a cluster does: on watches, with a deadline, never on a clock alone.

use std::fmt::Debug;

use dispatch_contract::CallError;
use dispatch_contract::resources::{JobSet, TrainJob};
use dispatch_kubernetes::request::{Outcome, Request, RequestError, classify};
use futures::stream::{BoxStream, select_all};
use futures::{Stream, StreamExt};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::core::{DeserializeGuard, PartialObjectMeta};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout_at};

use crate::error::of_request;

/// Something seen on a watch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Seen<K> {
    /// A version of an object: one that was there, was made, or changed.
    Version(K),
    /// The last version of an object that was deleted.
    Deleted(K),
    /// Everything that was there at first has been seen.
    Listed,
    /// The watch had to begin anew, so that versions in between may be missing.
    Gap,
}

/// What is seen of a watch, or the missing right that ends it.
pub(crate) type Watch<K> = BoxStream<'static, Result<Seen<K>, CallError>>;

/// Watches the objects of a namespace. An object that cannot be read is passed over, and does not
/// end the watch. Troubles that may pass are waited out; a missing right is given to the caller.
pub(crate) fn watch<K>(
    client: &Client,
    namespace: &str,
    resource: &'static str,
    config: watcher::Config,
) -> Watch<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    K: Clone + Debug + DeserializeOwned + Send + 'static,
{
    let api = Api::<DeserializeGuard<K>>::namespaced(client.clone(), namespace);
    let object = format!("in namespace {namespace}");
    let mut inits = 0_u32;
    watcher(api, config)
        .default_backoff()
        .filter_map(move |event| {
            let seen = match event {
                Ok(event) => seen(event, &mut inits).map(Ok),
                Err(error) => missing_right(&error, resource, &object).map(Err),
            };
            async move { seen }
        })
        .boxed()
}

fn seen<K>(event: Event<DeserializeGuard<K>>, inits: &mut u32) -> Option<Seen<K>> {
    match event {
        Event::Apply(DeserializeGuard(object)) | Event::InitApply(DeserializeGuard(object)) => {
            object.ok().map(Seen::Version)
        }
        Event::Delete(DeserializeGuard(object)) => object.ok().map(Seen::Deleted),
        Event::Init => {
            *inits += 1;
            (*inits > 1).then_some(Seen::Gap)
        }
        Event::InitDone => Some(Seen::Listed),
    }
}

fn missing_right(
    error: &watcher::Error,
    resource: &'static str,
    object: &str,
) -> Option<CallError> {
    let (verb, error) = match error {
        watcher::Error::InitialListFailed(error) => ("list", error),
        watcher::Error::WatchStartFailed(error) | watcher::Error::WatchFailed(error) => {
            ("watch", error)
        }
        watcher::Error::WatchError(status) => {
            let error = kube::Error::Api(status.clone());
            return forbidden(classify(Request::new("watch", resource, object), &error));
        }
        watcher::Error::NoResourceVersion => return None,
    };
    forbidden(classify(Request::new(verb, resource, object), error))
}

fn forbidden(error: RequestError) -> Option<CallError> {
    tracing::debug!(%error, "watch interrupted");
    (error.outcome == Outcome::Forbidden).then(|| of_request(error))
}

/// Takes what a watch shows until `judge` finds what is waited for. `None` when the deadline came
/// first.
pub(crate) async fn until<K, T>(
    watch: &mut (impl Stream<Item = Result<K, CallError>> + Unpin),
    deadline: Instant,
    mut judge: impl FnMut(K) -> Option<T>,
) -> Result<Option<T>, CallError> {
    loop {
        match timeout_at(deadline, watch.next()).await {
            Ok(Some(Ok(seen))) => {
                if let Some(found) = judge(seen) {
                    return Ok(Some(found));
                }
            }
            Ok(Some(Err(error))) => return Err(error),
            // A watch does not end by itself.
            Ok(None) | Err(_) => return Ok(None),
        }
    }
}

/// A sign for every change of a `TrainJob`, `JobSet`, Job or pod of the namespace: what is waited
/// for is then to be read anew, so that it is judged by the state and not by the change.
pub(crate) fn changes(
    client: &Client,
    namespace: &str,
) -> BoxStream<'static, Result<(), CallError>> {
    select_all([
        signs::<TrainJob>(client, namespace, "trainjobs.trainer.kubeflow.org"),
        signs::<JobSet>(client, namespace, "jobsets.jobset.x-k8s.io"),
        signs::<Job>(client, namespace, "jobs.batch"),
        signs::<Pod>(client, namespace, "pods"),
    ])
    .boxed()
}

fn signs<K>(
    client: &Client,
    namespace: &str,
    resource: &'static str,
) -> BoxStream<'static, Result<(), CallError>>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    K: Clone + Debug + DeserializeOwned + Send + 'static,
{
    let api = Api::<PartialObjectMeta<K>>::namespaced(client.clone(), namespace);
    let object = format!("in namespace {namespace}");
    watcher(api, watcher::Config::default())
        .default_backoff()
        .filter_map(move |event| {
            let sign = match event {
                Ok(Event::Apply(_) | Event::Delete(_) | Event::InitDone) => Some(Ok(())),
                Ok(Event::Init | Event::InitApply(_)) => None,
                Err(error) => missing_right(&error, resource, &object).map(Err),
            };
            async move { sign }
        })
        .boxed()
}
