//! A real control plane as processes of this machine: etcd, kube-apiserver,
//! kube-controller-manager, kube-scheduler, JobSet, Trainer and Kueue, built from pinned Go
//! modules into a cache. No containers, no kubelet: nodes and pods are for the suite to drive.
//!
//! Each cluster has a name, a folder, and one supervisor process that owns everything else.
//! [`up`] leaves it running; [`take_up_or_start`] gives a [`Running`] that ends it unless it was
//! there before.

mod bring_up;
pub(in crate::cluster) mod cache;
pub(in crate::cluster) mod certificates;
mod claims;
mod components;
pub(crate) mod endpoint;
mod features;
pub(in crate::cluster) mod files;
pub mod guard;
pub(in crate::cluster) mod install;
pub(in crate::cluster) mod kubeconfig;
mod leaders;
pub(in crate::cluster) mod logs;
pub(in crate::cluster) mod manifests;
pub(in crate::cluster) mod pins;
pub(in crate::cluster) mod places;
pub(crate) mod ports;
mod processes;
mod protocol;
mod restart;
mod running;
mod starter;
mod state;
pub mod supervisor;
mod tokens;
pub(in crate::cluster) mod toolchain;
pub(in crate::cluster) mod waiting;

pub use claims::{Claim, Claims};
pub use features::{FeatureGate, FeatureGates, NotAGate};
pub use places::{ClusterFolder, Places};
pub use running::{Frozen, Lead, Ownership, Running, take_up_or_start};
pub use starter::{Options, client, up};
pub use state::{Phase, ProcessId, ProcessState, State, Timing};

use super::{ClusterError, Progress};
use cache::Cache;
use fs_err as fs;
use protocol::{Request, connect, send};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use toolchain::Toolchain;

/// The name of a cluster, unless another is asked for.
pub const DEFAULT_NAME: &str = "default";

/// How long the end of a cluster may take before its supervisor is killed; its children then die
/// with it.
const END_LIMIT: Duration = Duration::from_secs(15);

/// What `down` found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Down {
    /// A running cluster, which it ended.
    Ended,
    /// What a killed supervisor had left behind: keys and data, which it removed.
    Cleaned,
    /// Nothing.
    Nothing,
}

/// Ends a cluster, in whatever state it is, and returns when it is gone.
pub async fn down(places: &Places, name: &str) -> Result<Down, ClusterError> {
    let folder = places.cluster(name)?;
    let found = if supervised(&folder) {
        if ask_to_stop(&folder).await.is_err() {
            signal(&folder, nix::sys::signal::Signal::SIGTERM);
        }
        if !unsupervised_within(&folder, END_LIMIT).await {
            signal(&folder, nix::sys::signal::Signal::SIGKILL);
            unsupervised_within(&folder, END_LIMIT).await;
        }
        Down::Ended
    } else if folder.run().exists() {
        Down::Cleaned
    } else {
        Down::Nothing
    };
    files::remove_folder(&folder.run())?;
    if let Some(mut state) = State::read(&folder) {
        state.phase = Phase::Ended;
        state.failure = None;
        state.processes.clear();
        state.write(&folder)?;
    }
    Ok(found)
}

/// Builds what the cache lacks, and gives the folder of the programs that a cluster is made of.
pub async fn build(
    places: &Places,
    cache_patience: Duration,
    progress: &dyn Progress,
) -> Result<PathBuf, ClusterError> {
    let toolchain = Toolchain::find().await?;
    let cache = Cache::ready(&places.cache, &toolchain, cache_patience, progress).await?;
    Ok(cache.binaries())
}

/// The state of one cluster, as it is now: of a supervisor that was killed, keys and data are
/// removed on the way. None if there never was such a cluster.
pub fn status(places: &Places, name: &str) -> Result<Option<State>, ClusterError> {
    let folder = places.cluster(name)?;
    let Some(mut state) = State::read(&folder) else { return Ok(None) };
    let supposed = matches!(state.phase, Phase::Starting | Phase::Ready | Phase::Restarting);
    if supposed && !supervised(&folder) {
        files::remove_folder(&folder.run())?;
        state.phase = Phase::Failed;
        state.processes.clear();
        state.failure = Some(supervisor_gone(&folder, name));
        state.write(&folder)?;
    }
    Ok(Some(state))
}

/// The names of all clusters that have a folder.
pub fn names(places: &Places) -> Vec<String> {
    names_in(&places.clusters())
}

/// The names of all clusters that have a folder in this one.
pub(in crate::cluster) fn names_in(clusters: &Path) -> Vec<String> {
    let entries = fs::read_dir(clusters).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// Returns when no supervisor owns the cluster any more, at the latest after `limit`; whether none
/// does.
pub async fn unsupervised_within(folder: &ClusterFolder, limit: Duration) -> bool {
    let gone = async {
        let mut turn = tokio::time::interval(Duration::from_millis(20));
        while supervised(folder) {
            turn.tick().await;
        }
    };
    tokio::time::timeout(limit, gone).await.is_ok()
}

/// Whether a supervisor owns the cluster: it holds the lock for as long as it lives.
fn supervised(folder: &ClusterFolder) -> bool {
    match fs::OpenOptions::new().write(true).open(folder.lock()) {
        Ok(file) => matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock)),
        Err(_) => false,
    }
}

/// Asks the supervisor to end, and waits until it has closed the connection.
async fn ask_to_stop(folder: &ClusterFolder) -> std::io::Result<()> {
    let mut stream = connect(folder).await?;
    send(&mut stream, &Request::Stop).await?;
    let mut rest = Vec::new();
    let closed = tokio::time::timeout(END_LIMIT, stream.read_to_end(&mut rest));
    closed.await.map_err(std::io::Error::other)?.map(drop)
}

/// Signals the supervisor, if it is still the process it says it is.
fn signal(folder: &ClusterFolder, signal: nix::sys::signal::Signal) {
    let supervisor = State::read(folder).map(|state| state.supervisor).filter(|id| id.alive());
    if let Some(pid) = supervisor.and_then(|id| i32::try_from(id.pid).ok()) {
        // It may have ended since.
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), signal).ok();
    }
}

fn supervisor_gone(folder: &ClusterFolder, name: &str) -> ClusterError {
    let log = folder.supervisor_log();
    let tail = logs::last_lines(&logs::end(&log), 15);
    ClusterError::SupervisorGone { name: name.to_owned(), log, tail }
}
