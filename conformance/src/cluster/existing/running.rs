//! A cluster that a run has begun on.

use super::access::Access;
use super::finding::Finding;
use super::judge::judge;
use super::lease::RunLease;
use super::look::{Found, look};
use crate::cluster::{ClusterError, local};
use std::collections::BTreeMap;

/// The versions that the suite is made for, by name.
pub fn pinned() -> BTreeMap<String, String> {
    local::Running::versions()
}

/// A cluster on which a run is under way.
pub struct Running {
    access: Access,
    found: Found,
    warnings: Vec<Finding>,
    lease: RunLease,
}

/// A cluster on which a run could start.
pub struct Fit {
    access: Access,
    found: Found,
    warnings: Vec<Finding>,
}

impl Fit {
    /// Looks at a cluster, and refuses it if it does not do.
    pub async fn look(access: Access) -> Result<Self, ClusterError> {
        let found = look(&access).await?;
        let (refusals, warnings): (Vec<_>, Vec<_>) =
            judge(&found, &pinned()).into_iter().partition(Finding::is_refusal);
        if refusals.is_empty() {
            return Ok(Self { access, found, warnings });
        }
        Err(ClusterError::Refused { context: access.context, refusals })
    }

    /// The client, with the kubeconfig's credentials.
    pub fn client(&self) -> kube::Client {
        self.access.client.clone()
    }

    /// Begins the run of this id: from now on others let what is named after it be.
    pub async fn begin(self, run: &str) -> Result<Running, ClusterError> {
        let Self { access, found, warnings } = self;
        let lease = RunLease::take(access.client.clone(), run).await?;
        Ok(Running { access, found, warnings, lease })
    }
}

impl Running {
    /// How the cluster is reached.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// What the run has to live with.
    pub fn warnings(&self) -> &[Finding] {
        &self.warnings
    }

    /// The versions that were told, by name.
    pub fn versions(&self) -> BTreeMap<String, String> {
        let told = self.found.managers.iter();
        let told = told.filter_map(|(name, it)| Some((name.clone(), it.version.clone()?)));
        told.chain([("kubernetes".to_owned(), self.found.kubernetes.clone())]).collect()
    }

    /// Kueue's feature gates, as far as they were told.
    pub fn feature_gates(&self) -> BTreeMap<String, bool> {
        let kueue = self.found.managers.get("kueue");
        kueue.and_then(|kueue| kueue.feature_gates.clone()).unwrap_or_default()
    }

    /// The run's Lease.
    pub fn lease(&self) -> &RunLease {
        &self.lease
    }

    /// Ends the run: nothing of it is left that others should let be.
    pub async fn end(self) -> Result<(), ClusterError> {
        self.lease.end().await
    }
}
