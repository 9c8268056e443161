//! The embedded cluster as a host.

use std::collections::BTreeMap;
use std::sync::Arc;

use dispatch_contract::{Clock, Entropy};
use dispatch_simulator::Cluster;
use dispatch_simulator::component;
use futures::future::{BoxFuture, pending};
use kube::Client;

use super::host::{Frozen, Host, HostError, Led, Way};
use crate::cluster::simulated::{Simulated, SimulatedApi};
use crate::history::recorder::{Revisions, Source};
use crate::proxy::Upstream;
use crate::scenario::Component;
use crate::subject::Surroundings;

impl Host for Simulated {
    fn kind(&self) -> &'static str {
        "simulated"
    }

    fn versions(&self) -> BTreeMap<String, String> {
        Simulated::versions()
    }

    fn client(&self) -> Client {
        Simulated::client(self)
    }

    fn recorded_from(&self) -> Source {
        Source::Embedded(Arc::clone(self.cluster()))
    }

    fn upstream(&self) -> Upstream {
        Upstream::Embedded(Arc::new(SimulatedApi(Arc::clone(self.cluster()))))
    }

    fn embedded(&self) -> Option<Surroundings> {
        Some(Surroundings { clock: Simulated::clock(self), entropy: Simulated::entropy(self) })
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Simulated::clock(self)
    }

    fn entropy(&self) -> Arc<dyn Entropy> {
        Simulated::entropy(self)
    }

    fn seed(&self) -> Option<u64> {
        Some(Simulated::seed(self))
    }

    fn revisions(&self, _: &str) -> Revisions {
        let cluster = Arc::clone(self.cluster());
        Revisions::of_store(Arc::new(move || cluster.revision()))
    }

    fn is_disposable(&self) -> bool {
        true
    }

    fn feature_gates(&self) -> BTreeMap<String, bool> {
        self.cluster().feature_gates()
    }

    fn set_feature_gates<'a>(
        &'a self,
        gates: &'a BTreeMap<String, bool>,
    ) -> BoxFuture<'a, Result<(), HostError>> {
        Box::pin(async move { self.cluster().set_feature_gates(gates).map_err(HostError::new) })
    }

    fn freeze(&self, component: Component) -> BoxFuture<'_, Result<Frozen, HostError>> {
        let (cluster, component) = (Arc::clone(self.cluster()), simulated(component));
        Box::pin(async move {
            cluster.freeze(component, true);
            Ok(Box::new(StandsStill { cluster, component }) as Frozen)
        })
    }

    fn lead<'a>(
        &'a self,
        through: &'a BTreeMap<Component, Way>,
    ) -> BoxFuture<'a, Result<Box<dyn Led>, HostError>> {
        for (component, way) in through {
            let service = way.service.clone().of_component();
            self.cluster().lead(simulated(*component), service);
        }
        Box::pin(async { Ok(Box::new(LedToTheEnd) as Box<dyn Led>) })
    }

    fn ended(&self) -> BoxFuture<'_, HostError> {
        Box::pin(pending())
    }
}

/// A component that goes on when this is dropped.
struct StandsStill {
    cluster: Arc<Cluster>,
    component: component::Component,
}

impl Drop for StandsStill {
    fn drop(&mut self) {
        self.cluster.freeze(self.component, false);
    }
}

/// The cluster ends with its scenario.
struct LedToTheEnd;

impl Led for LedToTheEnd {
    fn end(self: Box<Self>) -> BoxFuture<'static, Result<(), HostError>> {
        Box::pin(async { Ok(()) })
    }
}

fn simulated(component: Component) -> component::Component {
    match component {
        Component::Kueue => component::Component::Kueue,
        Component::Trainer => component::Component::Trainer,
        Component::JobSet => component::Component::JobSet,
        Component::KubeControllerManager => component::Component::KubeControllerManager,
    }
}
