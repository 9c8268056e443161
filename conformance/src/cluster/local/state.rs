//! What a cluster's supervisor says about itself in its folder, for other processes to read.

use super::features::FeatureGates;
use super::files;
use super::places::ClusterFolder;
use crate::cluster::ClusterError;
use fs_err as fs;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A process, told apart from a later one with the same number by when it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    /// Its number.
    pub pid: u32,
    /// When it started, in clock ticks since the machine did (`/proc/PID/stat`, field 22).
    pub start: u64,
}

impl ProcessId {
    /// The process that has this number now.
    pub fn of(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Some(Self { pid, start: start_time(&stat)? })
    }

    /// Whether it still runs (or has ended and was not yet waited for).
    pub fn alive(self) -> bool {
        Self::of(self.pid) == Some(self)
    }
}

/// Field 22 of `/proc/PID/stat`. The name in field 2 may hold anything, even parentheses.
fn start_time(stat: &str) -> Option<u64> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// How far a cluster is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// On its way up.
    Starting,
    /// All of it is ready.
    Ready,
    /// Components are being started again.
    Restarting,
    /// It ended because of `failure`.
    Failed,
    /// It was ended.
    Ended,
}

/// One process of the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessState {
    /// The component.
    pub name: String,
    /// The process.
    #[serde(flatten)]
    pub id: ProcessId,
    /// The port that it listens on.
    pub port: u16,
    /// Its log.
    pub log: PathBuf,
    /// The server that its requests are led through, where they are.
    pub led_through: Option<String>,
}

/// How long a phase of the start took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// The component or step.
    pub phase: String,
    /// In milliseconds.
    pub elapsed_ms: u64,
}

/// The state file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// `dispatch-cluster/1`.
    pub schema: String,
    /// The cluster's name.
    pub name: String,
    /// How far it is.
    pub phase: Phase,
    /// What it is built from: a digest of pins and flags.
    pub pins: String,
    /// Kueue's feature gates, as they are now.
    pub feature_gates: FeatureGates,
    /// The API server's URL.
    pub server: String,
    /// The administrator's kubeconfig.
    pub kubeconfig: PathBuf,
    /// The authority that signed the API server's certificate, PEM.
    pub certificate_authority: String,
    /// The supervisor.
    pub supervisor: ProcessId,
    /// Its processes.
    pub processes: Vec<ProcessState>,
    /// How long each phase of the start took, in the order of their ends.
    pub timings: Vec<Timing>,
    /// Why it failed.
    pub failure: Option<ClusterError>,
}

/// The value of [`State::schema`].
pub(super) const SCHEMA: &str = "dispatch-cluster/1";

impl State {
    /// Reads the state of a cluster. None if there is none, or one of another schema.
    pub fn read(folder: &ClusterFolder) -> Option<Self> {
        let bytes = fs::read(folder.state()).ok()?;
        serde_json::from_slice::<Self>(&bytes).ok().filter(|state| state.schema == SCHEMA)
    }

    /// Writes it, whole.
    pub fn write(&self, folder: &ClusterFolder) -> Result<(), ClusterError> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| ClusterError::File {
            path: folder.state(),
            detail: error.to_string(),
        })?;
        files::write_private(&folder.state(), &text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_time_is_found_behind_an_odd_name() {
        let stat = "42 (a) b (c) S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 0 0";
        assert_eq!(start_time(stat), Some(98765));
    }

    #[test]
    fn a_number_that_was_given_to_another_process_is_not_the_same_process() {
        let me = ProcessId::of(std::process::id()).unwrap();
        assert!(me.alive());
        assert!(!ProcessId { start: me.start + 1, ..me }.alive());
    }
}
