//! A cluster of kind as a host.

use std::collections::BTreeMap;
use std::net::IpAddr;

use futures::future::BoxFuture;
use kube::Client;

use super::Names;
use super::host::{Claim, Frozen, Host, HostError, Led, Way};
use crate::cluster::kind::{Lead, Running};
use crate::cluster::local::{FeatureGate, FeatureGates};
use crate::containers::Choice;
use crate::proxy::Upstream;
use crate::scenario::Component;

impl Host for Running {
    fn kind(&self) -> &'static str {
        "kind"
    }

    fn versions(&self) -> BTreeMap<String, String> {
        let mut versions = self.state().versions;
        if let Choice::Real { image } = Running::containers(self) {
            let tag = image.rsplit_once(':').map_or(image.as_str(), |(_, tag)| tag);
            versions.insert("container".to_owned(), tag.to_owned());
        }
        versions
    }

    fn client(&self) -> Client {
        Running::client(self)
    }

    fn upstream(&self) -> Upstream {
        Upstream::Server {
            server: self.server().to_owned(),
            certificate_authority: self.certificate_authority().to_owned(),
        }
    }

    fn address(&self) -> BoxFuture<'_, Result<IpAddr, HostError>> {
        Box::pin(async move { Ok(self.gateway().await?) })
    }

    fn containers(&self) -> Choice {
        Running::containers(self).clone()
    }

    fn feature_gates(&self) -> BTreeMap<String, bool> {
        let gates = self.state().feature_gates;
        gates.iter().map(|(name, on)| (name.to_owned(), on)).collect()
    }

    fn set_feature_gates<'a>(
        &'a self,
        gates: &'a BTreeMap<String, bool>,
    ) -> BoxFuture<'a, Result<(), HostError>> {
        let add = |all: FeatureGates, (name, on): (&String, &bool)| {
            all.with(FeatureGate { name: name.clone(), on: *on })
        };
        let gates = gates.iter().fold(self.state().feature_gates, add);
        Box::pin(async move { self.restart_kueue(&gates).await.map_err(HostError::from) })
    }

    fn freeze(&self, component: Component) -> BoxFuture<'_, Result<Frozen, HostError>> {
        Box::pin(async move {
            let frozen = Running::freeze(self, component.as_str()).await?;
            Ok(Box::new(frozen) as Frozen)
        })
    }

    fn lead<'a>(
        &'a self,
        through: &'a BTreeMap<Component, Way>,
    ) -> BoxFuture<'a, Result<Box<dyn Led>, HostError>> {
        let named = |(component, way): (&Component, &Way)| {
            (component.as_str().to_owned(), way.through.clone())
        };
        let named = through.iter().map(named).collect();
        Box::pin(async move {
            let lead = Running::lead(self, named).await?;
            Ok(Box::new(lead) as Box<dyn Led>)
        })
    }

    fn claim(&self, scenario: &Names) -> Result<Claim, HostError> {
        Ok(Box::new(Running::claims(self).claim(scenario.suffix())?))
    }

    fn ended(&self) -> BoxFuture<'_, HostError> {
        Box::pin(async move { Running::ended(self).await.into() })
    }
}

impl Led for Lead {
    fn end(self: Box<Self>) -> BoxFuture<'static, Result<(), HostError>> {
        Box::pin(async move { Lead::end(*self).await.map_err(HostError::from) })
    }
}
