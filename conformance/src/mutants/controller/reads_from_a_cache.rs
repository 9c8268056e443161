//! The controller that reads Jobs and pods from the caches of its watches.
//!
//! It spares the API server two requests a pass. A watch that is late shows the job as it was before
//! its last execution began, and before is as quiet as after.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use dispatch_admission::{
    Environment, Gather, GatherError, LiveReader, Owner, Parts, Raised, Snapshot, WorkloadKey,
};
use dispatch_kubernetes::owned;
use futures::future::{self, BoxFuture};
use futures::{FutureExt, StreamExt};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::reflector::{Store, store};
use kube::runtime::watcher::{self, watcher};
use kube::runtime::{WatchStreamExt, reflector};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;

use super::reader::{Differs, Reader};
use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "reads-from-a-cache",
    about: "reads Jobs and pods from a cache, which shows what its watches have delivered",
    breaks: &["RG-04", "EX-02"],
    judged_by: &["readmission/stale-caches"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    let Environment { client, limits, checks, .. } = environment.clone();
    let contract = LiveReader::new(client.clone(), limits, checks);
    let gather = Reader(ReadsFromACache { client, contract, caches: Mutex::default() });
    Parts { gather: Arc::new(gather), ..Parts::reference(environment) }
}

struct ReadsFromACache {
    client: Client,
    contract: LiveReader,
    /// By namespace; each begins with the first read in it.
    caches: Mutex<BTreeMap<String, Cache>>,
}

#[derive(Clone)]
struct Cache {
    jobs: Store<Job>,
    pods: Store<Pod>,
}

impl Cache {
    async fn begin(client: &Client, namespace: &str) -> Self {
        let jobs = kept(Api::namespaced(client.clone(), namespace));
        let pods = kept(Api::namespaced(client.clone(), namespace));
        // Where a cache cannot be filled the process is on its way out.
        let _ = future::join(jobs.wait_until_ready(), pods.wait_until_ready()).await;
        Self { jobs, pods }
    }
}

/// What a watch of its own delivers, from now on.
fn kept<K>(api: Api<K>) -> Store<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    K: Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    let (kept, writer) = store();
    let watched = reflector(writer, watcher(api, watcher::Config::default()).default_backoff());
    tokio::spawn(watched.for_each(|_| future::ready(())));
    kept
}

impl ReadsFromACache {
    async fn cached(&self, mut snapshot: Snapshot) -> Snapshot {
        let Owner::Dispatch(object) = &mut snapshot.owner else { return snapshot };
        let trainjob = &object.trainjob.object;
        let namespace = trainjob.namespace().unwrap_or_default();
        let mut caches = self.caches.lock().await;
        if !caches.contains_key(&namespace) {
            caches.insert(namespace.clone(), Cache::begin(&self.client, &namespace).await);
        }
        if let Some(Cache { jobs, pods }) = caches.get(&namespace) {
            let (name, jobset) = (trainjob.name_any(), object.owned.jobset.as_ref());
            object.owned.jobs = owned::jobs_of(&name, jobset, all(jobs));
            object.owned.pods = owned::pods_of(&name, &object.owned.jobs, all(pods));
        }
        snapshot
    }

    async fn read(&self, key: &WorkloadKey) -> Result<Option<Snapshot>, GatherError> {
        let Some(snapshot) = self.contract.gather(key).await? else { return Ok(None) };
        Ok(Some(self.cached(snapshot).await))
    }

    async fn again(&self, first: &Snapshot, raised: &Raised) -> Result<Snapshot, GatherError> {
        Ok(self.cached(self.contract.gather_again(first, raised).await?).await)
    }
}

fn all<K>(kept: &Store<K>) -> Vec<K>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    kept.state().iter().map(|object| K::clone(object)).collect()
}

impl Differs for ReadsFromACache {
    fn contract(&self) -> &LiveReader {
        &self.contract
    }

    fn gather<'a>(
        &'a self,
        workload: &'a WorkloadKey,
    ) -> BoxFuture<'a, Result<Option<Snapshot>, GatherError>> {
        self.read(workload).boxed()
    }

    fn gather_again<'a>(
        &'a self,
        first: &'a Snapshot,
        raised: &'a Raised,
    ) -> BoxFuture<'a, Result<Snapshot, GatherError>> {
        self.again(first, raised).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutants::told::{breaks_its_own_rule_first, evicted};

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let history = evicted().unreserves().reserves().goes(2).pod_goes("pod-1").history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
