//! What the engine needs of a cluster.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use dispatch_contract::{Clock, Entropy, OsEntropy, SystemClock};
use futures::future::BoxFuture;
use kube::Client;

use super::Names;
use crate::cluster::LeadThrough;
use crate::containers::Choice;
use crate::history::recorder::{Revisions, Source};
use crate::proxy::{PortService, Upstream};
use crate::scenario::{Component, Need, Scenario};
use crate::subject::Surroundings;

/// A cluster that scenarios are played on. The engine makes namespaces, queues and nodes of its own
/// in it and touches nothing else, Kueue's feature gates excepted where a scenario says so.
pub trait Host: Send + Sync {
    /// What kind of cluster it is: `simulated`, `local`, `kind`, `existing`.
    fn kind(&self) -> &'static str;

    /// The version of each component, by its name.
    fn versions(&self) -> BTreeMap<String, String>;

    /// An administrator's client. Recorder, kubelet and the steps that act as an administrator use
    /// it, subjects never do.
    fn client(&self) -> Client;

    /// Where the recorder has objects from.
    fn recorded_from(&self) -> Source {
        Source::Server(self.client())
    }

    /// The API server, for whatever stands between it and the subjects.
    fn upstream(&self) -> Upstream;

    /// The address of this machine as the cluster's components see it: they are led to it.
    fn address(&self) -> BoxFuture<'_, Result<IpAddr, HostError>> {
        Box::pin(async { Ok(Ipv4Addr::LOCALHOST.into()) })
    }

    /// What subjects in this process run by, if they run there; otherwise each is a process of its
    /// own.
    fn embedded(&self) -> Option<Surroundings> {
        None
    }

    /// The time by which the cluster lives.
    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(SystemClock)
    }

    /// Where names and tokens of a run come from.
    fn entropy(&self) -> Arc<dyn Entropy> {
        Arc::new(OsEntropy)
    }

    /// What everything that is left to chance comes of, where one number says it.
    fn seed(&self) -> Option<u64> {
        None
    }

    /// Where the store's latest revision is read, by way of a namespace.
    fn revisions(&self, namespace: &str) -> Revisions {
        Revisions::new(self.client(), namespace)
    }

    /// Why the cluster cannot do what a scenario needs; `None` if it can.
    fn lacks(&self, need: Need) -> Option<&'static str> {
        let _ = need;
        None
    }

    /// What the containers of jobs are.
    fn containers(&self) -> Choice {
        Choice::StandIn
    }

    /// Whether the whole cluster goes with its scenario, so that nothing need be removed.
    fn is_disposable(&self) -> bool {
        false
    }

    /// Kueue's feature gates, as they are now.
    fn feature_gates(&self) -> BTreeMap<String, bool>;

    /// Restarts Kueue with these feature gates instead of those of the same names that it has;
    /// returns when it serves.
    fn set_feature_gates<'a>(
        &'a self,
        gates: &'a BTreeMap<String, bool>,
    ) -> BoxFuture<'a, Result<(), HostError>>;

    /// Makes a component stand still, until the result is dropped or this process is gone.
    fn freeze(&self, component: Component) -> BoxFuture<'_, Result<Frozen, HostError>>;

    /// Starts components again, with their requests led through a proxy; returns when they serve.
    /// They keep their own credentials. It stays so until the result is dropped, or this process is
    /// gone: then they are started again without it.
    fn lead<'a>(
        &'a self,
        through: &'a BTreeMap<Component, Way>,
    ) -> BoxFuture<'a, Result<Box<dyn Led>, HostError>> {
        let _ = through;
        let kind = self.kind();
        Box::pin(async move { Err(NotLed { kind }.into()) })
    }

    /// Claims everything on the cluster that is named after a scenario, until the result is dropped or
    /// this process is gone: only then may it be swept. A cluster that nobody sweeps needs no claims.
    fn claim(&self, scenario: &Names) -> Result<Claim, HostError> {
        let _ = scenario;
        Ok(Box::new(()))
    }

    /// Returns when the cluster has ended, with the reason. To be raced with whatever needs it.
    fn ended(&self) -> BoxFuture<'_, HostError>;
}

/// Why a scenario cannot be played on a cluster; `None` if it can.
pub fn unmet(host: &dyn Host, scenario: &Scenario) -> Option<&'static str> {
    let lacks = scenario.needs.iter().find_map(|need| host.lacks(*need));
    lacks.or_else(|| host.containers().unplayable(scenario))
}

/// The way on which a component's requests are led.
#[derive(Clone)]
pub struct Way {
    /// Over the network.
    pub through: LeadThrough,
    /// Within this process.
    pub service: PortService,
}

/// A component that stands still as long as this is kept.
pub type Frozen = Box<dyn Send + Sync>;

/// What is claimed as long as this is kept.
pub type Claim = Box<dyn Send + Sync>;

/// Components whose requests are led through a proxy as long as this is kept. Dropping it ends that,
/// without waiting.
pub trait Led: Send + Sync {
    /// Ends it, and returns when the components serve without the proxy.
    fn end(self: Box<Self>) -> BoxFuture<'static, Result<(), HostError>>;
}

/// The components of this kind of cluster cannot be led through a proxy.
#[derive(Debug, thiserror::Error)]
#[error("the requests of the components of a {kind} cluster cannot be led through a proxy")]
struct NotLed {
    kind: &'static str,
}

impl From<NotLed> for HostError {
    fn from(error: NotLed) -> Self {
        Self(Box::new(error))
    }
}

/// A cluster does not do what it should.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct HostError(#[from] Box<dyn std::error::Error + Send + Sync>);

impl HostError {
    /// Of this error.
    pub fn new(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }
}
