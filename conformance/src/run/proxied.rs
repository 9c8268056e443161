//! The proxy of a run, and who goes through it: every subject on a port of its own, and, where
//! scenarios ask for it, the cluster's components.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::RunError;
use super::host::{Host, HostError, Led, Way};
use super::subjects::Subjects;
use crate::cluster::LeadThrough;
use crate::history::{Role, Subject};
use crate::proxy::{Log, Port, PortService, Proxy, Scope, Tap};
use crate::scenario::{Component, Need, Party, Scenario};

/// The proxy of a run.
pub struct Proxied {
    proxy: Proxy,
    components: BTreeMap<Role, Port>,
    led: Option<Box<dyn Led>>,
}

impl Proxied {
    /// Starts it, and leads the cluster's components through it if a scenario asks for that.
    ///
    /// # Errors
    /// The proxy cannot listen, or the components do not serve behind it.
    pub async fn start(
        host: &dyn Host,
        mut scenarios: impl Iterator<Item = &Scenario>,
    ) -> Result<Self, RunError> {
        let leads = scenarios.any(|scenario| scenario.needs.contains(&Need::LeadComponents));
        let beside = host.address().await.map_err(RunError::Lead)?;
        let proxy = Proxy::start_beside(host.upstream(), beside).await?;
        let mut components = BTreeMap::new();
        let mut led = None;
        if leads {
            let mut through = BTreeMap::new();
            for component in Component::ALL {
                let role = role(component);
                let port = proxy.port_beside(Subject { role, replica: 0 }).await?;
                let server = port.server();
                let certificate_authority = proxy.certificate_authority().to_owned();
                let way = LeadThrough { server, certificate_authority };
                through.insert(component, Way { through: way, service: port.service() });
                components.insert(role, port);
            }
            led = Some(host.lead(&through).await.map_err(RunError::Lead)?);
        }
        Ok(Self { proxy, components, led })
    }

    /// The certificate authority of the proxy's ports, PEM.
    pub(super) fn certificate_authority(&self) -> &str {
        self.proxy.certificate_authority()
    }

    /// A port for a subject, with its one tap.
    pub(super) async fn subject(
        &self,
        subject: Subject,
        log: Arc<dyn Log>,
    ) -> Result<Tapped, RunError> {
        let port = self.proxy.port(subject).await?;
        let tap = port.tap(Scope::Everything, log);
        Ok(Tapped { port, tap })
    }

    /// What components do in a namespace.
    pub(super) fn components(&self, namespace: &str, log: &Arc<dyn Log>) -> BTreeMap<Role, Tap> {
        let tap = |(role, port): (&Role, &Port)| {
            (*role, port.tap(Scope::Namespace(namespace.to_owned()), Arc::clone(log)))
        };
        self.components.iter().map(tap).collect()
    }

    /// Ends it; the components serve without it when this returns.
    ///
    /// # Errors
    /// A component does not serve again.
    pub async fn end(self) -> Result<(), HostError> {
        match self.led {
            Some(led) => led.end().await,
            None => Ok(()),
        }
    }
}

/// A subject's port and what is seen and done there.
pub(super) struct Tapped {
    pub(super) port: Port,
    pub(super) tap: Tap,
}

/// Everybody whose requests pass the proxy in a scenario.
pub(super) struct Taps {
    pub(super) subjects: BTreeMap<Subject, Tapped>,
    pub(super) components: BTreeMap<Role, Tap>,
}

impl Taps {
    /// Where a subject finds its API server.
    pub(super) fn server(&self, subject: Subject) -> String {
        self.subjects.get(&subject).map(|it| it.port.server()).unwrap_or_default()
    }

    /// The way of each subject in this process to its API server.
    pub(super) fn services(&self) -> impl Iterator<Item = (Subject, PortService)> {
        self.subjects.iter().map(|(subject, tapped)| (*subject, tapped.port.service()))
    }

    /// Faults reach the processes of the subjects from now on.
    pub(super) fn reach(&self, subjects: &mut Subjects) {
        for (subject, tapped) in &self.subjects {
            tapped.port.signals(Arc::new(subjects.handle(*subject)));
        }
    }

    /// Those of a party.
    pub(super) fn of(&self, party: Party) -> impl Iterator<Item = &Tap> {
        let subjects = self.subjects.iter().map(|(who, it)| (who.role, who.replica, &it.tap));
        let components = self.components.iter().map(|(role, tap)| (*role, 0, tap));
        let all = subjects.chain(components);
        all.filter(move |(role, replica, _)| party.is(*role, *replica)).map(|(_, _, tap)| tap)
    }
}

fn role(component: Component) -> Role {
    match component {
        Component::Kueue => Role::Kueue,
        Component::Trainer => Role::Trainer,
        Component::JobSet => Role::Jobset,
        Component::KubeControllerManager => Role::KubeControllerManager,
    }
}
