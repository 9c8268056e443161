//! The reader of the contract: every read is live.

use dispatch_contract::resources::{AdmissionCheckState, CheckState, JobSet, TrainJob, Workload};
use dispatch_kubernetes::owned::{self, Owned};
use dispatch_kubernetes::request::{Limits, Request, send_optional};
use dispatch_kubernetes::runtime;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::watch_object;
use kube::{Api, Client, ResourceExt};

use super::owner::Above;
use super::warning;
use super::{Gather, GatherError};
use crate::raise::Raised;
use crate::served_checks::ServedChecks;
use crate::snapshot::{At, Object, Owner, Snapshot, WorkloadKey};
use crate::triggers;

/// Reads live from the API server. Only which `AdmissionChecks` name this controller comes from a
/// watch: that is immutable.
#[derive(Clone)]
pub struct LiveReader {
    client: Client,
    limits: Limits,
    checks: ServedChecks,
}

impl LiveReader {
    /// A reader over `client`.
    pub fn new(client: Client, limits: Limits, checks: ServedChecks) -> Self {
        Self { client, limits, checks }
    }

    async fn snapshot(&self, key: &WorkloadKey) -> Result<Option<Snapshot>, GatherError> {
        let workloads = Api::<Workload>::namespaced(self.client.clone(), &key.namespace);
        let request = Request::new("get", "workloads.kueue.x-k8s.io", key.to_string());
        let found = send_optional(self.limits, request, workloads.get(&key.name)).await?;
        let Some(workload) = found.map(At::read).transpose()? else { return Ok(None) };
        let names = workload.object.checks().iter().map(|check| check.name.clone());
        let checks: Vec<String> = names.filter(|name| self.checks.serves(name)).collect();
        let owner = match Depth::of(&workload.object) {
            Depth::Workload => Owner::NotRead,
            _ if checks.is_empty() => Owner::NotRead,
            depth => self.owner(&workload.object, depth).await?,
        };
        Ok(Some(Snapshot { workload, checks, owner, raised: None }))
    }

    async fn owner(&self, workload: &Workload, depth: Depth) -> Result<Owner, GatherError> {
        let above = super::owner::climb(&self.client, self.limits, workload).await?;
        let trainjob = match above {
            Above::Direct(trainjob) => *trainjob,
            Above::Other(owner) => return Ok(owner),
        };
        let (client, limits) = (&self.client, self.limits);
        let runtime = match depth {
            Depth::All => Some(runtime::state(client, limits, &trainjob.object).await?),
            _ => None,
        };
        let owned = match depth {
            Depth::All | Depth::Pods => owned::read(client, limits, &trainjob.object).await?,
            Depth::Workload | Depth::TrainJob => Owned::default(),
        };
        Ok(Owner::Dispatch(Box::new(Object { trainjob, runtime, owned })))
    }

    async fn again(&self, first: &Snapshot, raised: &Raised) -> Result<Snapshot, GatherError> {
        let gone = |name: String| GatherError::Gone { name };
        let object = first.object().ok_or_else(|| gone(first.workload.object.name_any()))?;
        let before = &object.trainjob;
        let (namespace, name) =
            (before.object.namespace().unwrap_or_default(), before.object.name_any());
        let described = format!("{namespace}/{name}");
        let trainjobs = Api::<TrainJob>::namespaced(self.client.clone(), &namespace);
        let request = Request::new("get", "trainjobs.trainer.kubeflow.org", described.as_str());
        let found = send_optional(self.limits, request, trainjobs.get(&name)).await?;
        let trainjob = found.map(At::read).transpose()?;
        let trainjob = trainjob.filter(|trainjob| trainjob.uid() == before.uid());
        let trainjob = trainjob.ok_or_else(|| gone(described))?;
        let owned = owned::read(&self.client, self.limits, &trainjob.object).await?;
        let runtime = object.runtime.clone();
        Ok(Snapshot {
            workload: first.workload.clone(),
            checks: first.checks.clone(),
            owner: Owner::Dispatch(Box::new(Object { trainjob, runtime, owned })),
            raised: Some(raised.clone()),
        })
    }
}

/// How far down a decision about a Workload can depend on what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Depth {
    /// On nothing but the Workload.
    Workload,
    /// On the `TrainJob` too: whether it is marked as ended.
    TrainJob,
    /// On the pods too, which may carry another number.
    Pods,
    /// On the runtime too.
    All,
}

impl Depth {
    fn of(workload: &Workload) -> Self {
        if workload.metadata.deletion_timestamp.is_some() {
            Self::Workload
        } else if workload.is("Finished") {
            Self::TrainJob
        } else if workload.is("Admitted") {
            Self::Pods
        } else if workload.is("QuotaReserved") {
            Self::All
        } else {
            Self::Workload
        }
    }
}

impl Gather for LiveReader {
    fn may_concern(&self, workload: &Workload) -> bool {
        let is_own = |check: &&AdmissionCheckState| self.checks.serves(&check.name);
        let mut own = workload.checks().iter().filter(is_own).peekable();
        let stands =
            ["QuotaReserved", "Admitted", "Finished"].iter().any(|type_| workload.is(type_));
        own.peek().is_some() && (stands || own.any(|check| check.state == CheckState::Ready))
    }

    fn gather<'a>(
        &'a self,
        workload: &'a WorkloadKey,
    ) -> BoxFuture<'a, Result<Option<Snapshot>, GatherError>> {
        self.snapshot(workload).boxed()
    }

    fn gather_again<'a>(
        &'a self,
        first: &'a Snapshot,
        raised: &'a Raised,
    ) -> BoxFuture<'a, Result<Snapshot, GatherError>> {
        self.again(first, raised).boxed()
    }

    fn jobset_versions(&self, object: &Object) -> BoxStream<'static, JobSet> {
        let trainjob = &object.trainjob.object;
        let namespace = trainjob.namespace().unwrap_or_default();
        let jobsets = Api::<JobSet>::namespaced(self.client.clone(), &namespace);
        watch_object(jobsets, &trainjob.name_any())
            .backoff(triggers::WatchBackoff::default())
            .filter_map(async |version| version.ok().flatten())
            .boxed()
    }

    fn last_warning<'a>(&'a self, object: &'a Object) -> BoxFuture<'a, Option<String>> {
        warning::last(&self.client, self.limits, &object.trainjob.object).boxed()
    }
}
