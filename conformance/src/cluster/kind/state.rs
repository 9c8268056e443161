//! What is known of a cluster, in its folder, for other processes to read.

use super::images::Images;
use crate::cluster::ClusterError;
use crate::cluster::local::{ClusterFolder, FeatureGates, files};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How far a cluster is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// On its way up, or what a start that was killed has left.
    Starting,
    /// All of it is ready.
    Ready,
    /// Its node does not run any more, and nobody has ended it.
    Gone,
    /// It was ended.
    Ended,
}

impl Phase {
    /// For people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Gone => "gone: its node does not run",
            Self::Ended => "ended",
        }
    }
}

/// The state file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// `dispatch-kind-cluster/1`.
    pub schema: String,
    /// The cluster's name.
    pub name: String,
    /// How far it is.
    pub phase: Phase,
    /// Where its images come from.
    pub images: Images,
    /// The kind that made it.
    pub kind: PathBuf,
    /// The version of each component, by its name; what the API server says of itself once it is
    /// there.
    pub versions: BTreeMap<String, String>,
    /// Kueue's feature gates, as they are now.
    pub feature_gates: FeatureGates,
    /// The administrator's kubeconfig.
    pub kubeconfig: PathBuf,
    /// Settings of the machine before, which the node's kubelet changes.
    pub settings: BTreeMap<String, String>,
}

/// The schema of what this release writes.
pub(super) const SCHEMA: &str = "dispatch-kind-cluster/1";

impl State {
    /// The state of the cluster in a folder, if there is one that can be read.
    pub(super) fn read(folder: &ClusterFolder) -> Option<Self> {
        let state: Self = serde_json::from_slice(&fs::read(folder.state()).ok()?).ok()?;
        (state.schema == SCHEMA).then_some(state)
    }

    /// Writes it for others to read.
    pub(super) fn write(&self, folder: &ClusterFolder) -> Result<(), ClusterError> {
        files::private_folder(folder.root())?;
        let text = serde_json::to_vec_pretty(self).map_err(|error| ClusterError::File {
            path: folder.state(),
            detail: error.to_string(),
        })?;
        files::write_private(&folder.state(), &text)
    }
}
