//! A cluster that others run as a host.

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use kube::Client;

use super::Names;
use super::host::{Claim, Frozen, Host, HostError};
use crate::cluster::ClusterError;
use crate::cluster::existing::Running;
use crate::proxy::Upstream;
use crate::scenario::{Component, Need};

impl Host for Running {
    fn kind(&self) -> &'static str {
        "existing"
    }

    fn versions(&self) -> BTreeMap<String, String> {
        Running::versions(self)
    }

    fn client(&self) -> Client {
        self.access().client.clone()
    }

    fn upstream(&self) -> Upstream {
        Upstream::Server {
            server: self.access().server.clone(),
            certificate_authority: self.access().certificate_authority.clone(),
        }
    }

    fn lacks(&self, need: Need) -> Option<&'static str> {
        Some(match need {
            Need::KueueFeatureGates => {
                "it restarts Kueue with other feature gates, which is not done to a cluster that others run"
            }
            Need::FreezeComponents => {
                "it makes a component of the cluster stand still, which is not done to one that others run"
            }
            Need::LeadComponents => {
                "it leads the cluster's components through a proxy, which is not done to one that others run"
            }
        })
    }

    fn feature_gates(&self) -> BTreeMap<String, bool> {
        Running::feature_gates(self)
    }

    fn set_feature_gates<'a>(
        &'a self,
        _: &'a BTreeMap<String, bool>,
    ) -> BoxFuture<'a, Result<(), HostError>> {
        not_ours("Kueue is not restarted")
    }

    fn freeze(&self, _: Component) -> BoxFuture<'_, Result<Frozen, HostError>> {
        not_ours("no component is made to stand still")
    }

    /// The run's Lease claims all of its scenarios.
    fn claim(&self, _: &Names) -> Result<Claim, HostError> {
        match self.lease().is_lost() {
            Some(lost) => Err(lost.into()),
            None => Ok(Box::new(())),
        }
    }

    fn ended(&self) -> BoxFuture<'_, HostError> {
        Box::pin(async move { self.lease().lost().await.into() })
    }
}

fn not_ours<T>(what: &str) -> BoxFuture<'_, Result<T, HostError>> {
    let error = ClusterError::NotOurs { what: what.to_owned() };
    Box::pin(async move { Err(error.into()) })
}
