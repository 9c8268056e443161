//! Starting components again, on a cluster that is up.

use super::bring_up::{Start, webhooks};
use super::components::Component;
use super::endpoint::admin;
use super::install;
use crate::cluster::ClusterError;
use futures::future::{join_all, try_join_all};

impl Start<'_> {
    /// Ends components and returns when they are gone.
    pub(super) async fn end(&self, components: &[Component]) {
        join_all(components.iter().map(|component| self.processes.end(*component))).await;
    }

    /// Starts components that were ended.
    pub(super) fn start_again(&self, components: &[Component]) -> Result<(), ClusterError> {
        components.iter().try_for_each(|component| self.start(*component))
    }

    /// Returns when components that were started again serve: by the same signs as at their first
    /// start.
    pub(super) async fn serve_again(&self, components: &[Component]) -> Result<(), ClusterError> {
        try_join_all(components.iter().map(|component| self.serves(*component))).await?;
        if components.iter().all(|component| webhooks(*component).is_empty()) {
            return Ok(());
        }
        let client = admin(&self.site.folder.kubeconfig()).await?;
        let install = install::Install { client: &client, waits: self.waits };
        install.webhooks_are_called().await?;
        if components.contains(&Component::Kueue) {
            install.kueue_reconciles().await?;
        }
        Ok(())
    }

    async fn serves(&self, component: Component) -> Result<(), ClusterError> {
        match component {
            Component::Etcd | Component::ApiServer => Ok(()),
            Component::ControllerManager => self.ready(component, "/healthz").await,
            Component::Scheduler => self.ready(component, "/readyz").await,
            Component::JobSet | Component::Trainer | Component::Kueue => {
                self.webhooks_answer(component).await
            }
        }
    }
}
