//! What brings a Workload back: the watches, and which Workload each of their events is about.
//!
//! Triggers only say when to look; what is decided comes from live reads. An event that is mapped
//! to one Workload too many costs a read, one that is mapped to none costs a wait until the next
//! resync.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use dispatch_contract::names;
use dispatch_contract::resources::{
    ClusterTrainingRuntime, JobSet, TrainJob, TrainingRuntime, Workload,
};
use dispatch_kubernetes::request::chain;
use futures::stream::{BoxStream, select_all};
use futures::{Stream, StreamExt, future, stream};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::{DeserializeGuard, PartialObjectMeta};
use kube::runtime::WatchStreamExt;
use kube::runtime::controller::ReconcileRequest;
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{ObjectRef, Store, store};
use kube::runtime::utils::Backoff;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use crate::served_checks::{ServedChecks, WatchedCheck};

/// A Workload as the watch keeps it: one that cannot be understood does not stop it.
pub(crate) type WatchedWorkload = DeserializeGuard<Workload>;

/// Requests to look at an object.
pub(crate) type Queue<K> = BoxStream<'static, watcher::Result<ReconcileRequest<K>>>;

/// How long a watch that failed waits before it begins again: from 200 ms, doubling, to 5 s at
/// most, so that Ready is not late by more than that (RG-15).
#[derive(Clone, Debug)]
pub(crate) struct WatchBackoff {
    next: Duration,
}

impl WatchBackoff {
    const FIRST: Duration = Duration::from_millis(200);
    const LAST: Duration = Duration::from_secs(5);
}

impl Default for WatchBackoff {
    fn default() -> Self {
        Self { next: Self::FIRST }
    }
}

impl Iterator for WatchBackoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let now = self.next;
        self.next = (now * 2).min(Self::LAST);
        Some(now)
    }
}

impl Backoff for WatchBackoff {
    fn reset(&mut self) {
        *self = Self::default();
    }
}

/// Which watches have not had their first list yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Synced {
    missing: Arc<watch::Sender<BTreeSet<String>>>,
}

impl Synced {
    pub(crate) fn expect(&self, watch: &str) {
        self.missing.send_modify(|missing| {
            missing.insert(watch.to_owned());
        });
    }

    pub(crate) fn done(&self, watch: &str) {
        self.missing.send_if_modified(|missing| missing.remove(watch));
    }

    /// The watches that are still missing, in order.
    pub(crate) fn missing(&self) -> Vec<String> {
        self.missing.borrow().iter().cloned().collect()
    }

    /// Returns when none is missing of those that were expected until then.
    pub(crate) async fn complete(&self) {
        // The sender lives here.
        let _ = self.missing.subscribe().wait_for(BTreeSet::is_empty).await;
    }
}

/// Asks for every Workload to be looked at: after a claim to the Lease, after a change of a check or
/// a runtime, and after a list that may have swallowed deletions.
#[derive(Clone, Debug)]
pub(crate) struct Everything {
    asked: watch::Sender<()>,
}

impl Everything {
    pub(crate) fn new() -> Self {
        Self { asked: watch::Sender::new(()) }
    }

    pub(crate) fn ask(&self) {
        self.asked.send_replace(());
    }

    /// An item for each time that somebody asked; several times at once count as one.
    pub(crate) fn asked(&self) -> impl Stream<Item = ()> + Send + use<> {
        stream::unfold(self.asked.subscribe(), |mut asked| async move {
            asked.changed().await.ok().map(|()| ((), asked))
        })
    }
}

/// The watches of the controller.
pub(crate) struct Watches {
    pub(crate) client: Client,
    /// The one namespace that is watched; `None` for all.
    pub(crate) namespace: Option<String>,
    pub(crate) synced: Synced,
    pub(crate) everything: Everything,
}

impl Watches {
    /// The Workloads that the watch keeps, and what brings one back.
    pub(crate) fn workloads(&self) -> (Store<WatchedWorkload>, Queue<WatchedWorkload>) {
        let (kept, writer) = store();
        let workloads = self
            .watch::<WatchedWorkload>("workloads", self.api())
            .reflect(writer)
            .touched_objects()
            .map(|event| event.map(|workload| request(&workload)))
            .boxed();
        let cluster_runtimes = Api::all(self.client.clone());
        let queue = select_all([
            workloads,
            self.below::<TrainJob>("trainjobs", &kept),
            self.below::<JobSet>("jobsets", &kept),
            self.below::<Job>("jobs", &kept),
            self.below::<Pod>("pods", &kept),
            self.every::<ClusterTrainingRuntime, _>("clustertrainingruntimes", cluster_runtimes),
            self.every::<TrainingRuntime, _>("trainingruntimes", self.api()),
            self.asked(&kept),
        ]);
        (kept, queue.boxed())
    }

    /// What brings an `AdmissionCheck` back. Each change of one that may be `served` asks for
    /// everything: it decides about every Workload that lists it. Those of other controllers do not.
    pub(crate) fn checks(
        &self,
        kept: &Store<WatchedCheck>,
        writer: Writer<WatchedCheck>,
        served: &ServedChecks,
    ) -> Queue<WatchedCheck> {
        let (everything, served) = (self.everything.clone(), served.clone());
        let changed = self
            .watch::<WatchedCheck>("admissionchecks", Api::all(self.client.clone()))
            .reflect(writer)
            .touched_objects()
            .map(move |event| {
                event.map(|check| {
                    if served.may_be_served(&check) {
                        everything.ask();
                    }
                    request(&check)
                })
            });
        stream::select(changed, self.asked(kept)).boxed()
    }

    fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        match &self.namespace {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        }
    }

    /// A watch that begins again after errors, and tells when it has had its first list. A later
    /// list may leave out what was deleted while the watch was down; so everything is asked for.
    fn watch<K: Watched>(
        &self,
        name: &'static str,
        api: Api<K>,
    ) -> BoxStream<'static, watcher::Result<Event<K>>> {
        self.synced.expect(name);
        let (synced, everything) = (self.synced.clone(), self.everything.clone());
        watcher(api, watcher::Config::default())
            .backoff(WatchBackoff::default())
            .inspect(move |event| match event {
                Ok(Event::InitDone) => {
                    synced.done(name);
                    everything.ask();
                }
                Ok(_) => {}
                Err(error) => {
                    let error = chain(error);
                    tracing::warn!(watch = name, %error, "a watch failed; beginning again");
                }
            })
            .boxed()
    }

    /// The Workloads of what a `TrainJob` owns, by the names in the events' objects.
    fn below<K>(&self, name: &'static str, kept: &Store<WatchedWorkload>) -> Queue<WatchedWorkload>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
        PartialObjectMeta<K>: Watched,
    {
        let kept = kept.clone();
        self.watch::<PartialObjectMeta<K>>(name, self.api_of())
            .touched_objects()
            .flat_map(move |event| match event {
                Ok(object) => stream::iter(concerned(&kept, &object.metadata)).boxed(),
                Err(error) => stream::iter([Err(error)]).boxed(),
            })
            .boxed()
    }

    fn api_of<K>(&self) -> Api<PartialObjectMeta<K>>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        self.api()
    }

    /// Every Workload, for each event.
    fn every<K, S>(
        &self,
        name: &'static str,
        api: Api<PartialObjectMeta<K>>,
    ) -> Queue<WatchedWorkload>
    where
        K: Resource<DynamicType = (), Scope = S>,
        PartialObjectMeta<K>: Watched,
    {
        let everything = self.everything.clone();
        self.watch(name, api)
            .touched_objects()
            .filter_map(move |event| {
                everything.ask();
                future::ready(event.err().map(Err))
            })
            .boxed()
    }

    /// All that a watch keeps, each time that everything is asked for.
    fn asked<K>(&self, kept: &Store<K>) -> Queue<K>
    where
        K: Resource<DynamicType = ()> + Clone + Send + Sync + 'static,
    {
        let kept = kept.clone();
        let all = move |()| {
            let mut objects = kept.state();
            // The store gives them in the order of their hashes.
            objects.sort_by_key(|object| (object.namespace(), object.name_any()));
            stream::iter(objects.into_iter().map(|object| Ok(request(&*object))))
        };
        self.everything.asked().flat_map(all).boxed()
    }
}

/// What can be watched.
pub(crate) trait Watched:
    Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static
{
}

impl<K> Watched for K where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static
{
}

fn request<K: Resource<DynamicType = ()>>(object: &K) -> ReconcileRequest<K> {
    ObjectRef::from_obj(object).into()
}

/// The Workloads that an event's object may concern.
fn concerned(
    kept: &Store<WatchedWorkload>,
    object: &ObjectMeta,
) -> Vec<watcher::Result<ReconcileRequest<WatchedWorkload>>> {
    let found = kept.state_filter(|workload| may_concern(workload.meta(), object));
    found.iter().map(|workload| Ok(request(&**workload))).collect()
}

/// Whether an object may belong to the job behind a Workload: by its own name, its `JobSet` label or
/// the names of its owners, each of which begins with the name of the job.
fn may_concern(workload: &ObjectMeta, object: &ObjectMeta) -> bool {
    if workload.namespace != object.namespace {
        return false;
    }
    let label = |key: &str| object.labels.as_ref().and_then(|labels| labels.get(key));
    if label(names::PREBUILT_WORKLOAD).is_some_and(|name| workload.name.as_ref() == Some(name)) {
        return true;
    }
    let owners = object.owner_references.iter().flatten().map(|owner| owner.name.as_str());
    let jobset = label(names::JOBSET_NAME).map(String::as_str);
    let candidates: Vec<&str> =
        object.name.as_deref().into_iter().chain(jobset).chain(owners).collect();
    workload.owner_references.iter().flatten().any(|job| {
        candidates.iter().any(|name| {
            name.strip_prefix(job.name.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        })
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn metadata(value: Value) -> ObjectMeta {
        serde_json::from_value(value).unwrap()
    }

    fn owned_by(kind: &str, name: &str) -> Value {
        json!([{"apiVersion": "x", "kind": kind, "name": name, "uid": "u", "controller": true}])
    }

    #[rstest]
    #[case::the_job_itself(json!({"name": "dj-s1", "namespace": "n"}), true)]
    #[case::another_job(json!({"name": "dj-s10", "namespace": "n"}), false)]
    #[case::in_another_namespace(json!({"name": "dj-s1", "namespace": "m"}), false)]
    #[case::a_pod_by_label(
        json!({"name": "p", "namespace": "n", "labels": {names::JOBSET_NAME: "dj-s1"}}), true)]
    #[case::a_pod_whose_label_was_edited(
        json!({"name": "p", "namespace": "n", "labels": {names::JOBSET_NAME: "x"},
            "ownerReferences": owned_by("Job", "dj-s1-node-0")}), true)]
    #[case::a_pod_of_another(
        json!({"name": "p", "namespace": "n", "ownerReferences": owned_by("Job", "dj-s2-node-0")}),
        false)]
    #[case::a_trainjob_that_names_it_as_prebuilt(
        json!({"name": "other", "namespace": "n", "labels": {names::PREBUILT_WORKLOAD: "w"}}), true)]
    fn an_event_brings_back_the_workload_that_it_may_concern(
        #[case] object: Value,
        #[case] expected: bool,
    ) {
        let workload = metadata(json!({"name": "w", "namespace": "n",
            "ownerReferences": owned_by("TrainJob", "dj-s1")}));
        assert_eq!(may_concern(&workload, &metadata(object)), expected);
    }

    #[test]
    fn a_watch_that_keeps_failing_waits_longer_up_to_five_seconds() {
        let mut backoff = WatchBackoff::default();
        let waits: Vec<_> = backoff.by_ref().take(7).map(|wait| wait.as_millis()).collect();
        assert_eq!(waits, [200, 400, 800, 1600, 3200, 5000, 5000]);
        backoff.reset();
        assert_eq!(backoff.next(), Some(WatchBackoff::FIRST));
    }
}
