//! A cluster of kind: one node, a container, with kubelet, containerd and everything that Kubernetes
//! starts by itself. Kueue, JobSet and Trainer run in it as pods, from their own manifests.
//!
//! The node's image and those of the three are the ones that `ci/kind` has built, where the container
//! engine has them; else they are pulled. The engine keeps the cluster running: no process of ours
//! does. [`up`] leaves it; [`take_up_or_create`] gives a [`Running`] that deletes it unless it is to
//! stay.

mod bring_up;
mod component;
mod configuration;
mod container_image;
mod engine;
mod images;
mod lead;
mod manifests;
mod node;
mod running;
mod settings;
mod state;

pub use bring_up::{Options, up};
pub use images::Images;
pub use lead::Lead;
pub use running::{Frozen, Running, Stay, delete_unfinished, reach, take_up_or_create};
pub use state::{Phase, State};

use super::ClusterError;
use super::local::{ClusterFolder, Places, files};
use engine::Kind;
use node::Node;

/// What `down` found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Down {
    /// A cluster, which it deleted.
    Deleted,
    /// Nothing.
    Nothing,
}

/// Deletes a cluster, in whatever state it is, and puts the machine's settings back that its kubelet
/// had changed.
pub async fn down(places: &Places, name: &str) -> Result<Down, ClusterError> {
    let folder = places.kind_cluster(name)?;
    let state = State::read(&folder);
    engine::answers().await?;
    let there = Node::of(name).exists().await?;
    if there {
        delete(&folder, name, state.as_ref()).await?;
    }
    files::remove_folder(&folder.run())?;
    if let Some(mut state) = state {
        state.phase = Phase::Ended;
        state.write(&folder)?;
    }
    Ok(if there { Down::Deleted } else { Down::Nothing })
}

/// Deletes the node and all that is in it.
async fn delete(
    folder: &ClusterFolder,
    name: &str,
    state: Option<&State>,
) -> Result<(), ClusterError> {
    let node = Node::of(name);
    if let Some(state) = state {
        settings::put_back(&node, &state.settings).await;
    }
    match state.map(|state| Kind::at(state.kind.clone())) {
        Some(kind) if kind.is_there() => kind.delete(name, &folder.kubeconfig()).await,
        _ => node.remove().await,
    }
}

/// The state of one cluster as it is now. None if there never was such a cluster.
pub async fn status(places: &Places, name: &str) -> Result<Option<State>, ClusterError> {
    let folder = places.kind_cluster(name)?;
    let Some(mut state) = State::read(&folder) else { return Ok(None) };
    let supposed = matches!(state.phase, Phase::Starting | Phase::Ready);
    if supposed && !Node::of(name).runs().await? && !running::is_held(&folder) {
        state.phase = Phase::Gone;
        state.write(&folder)?;
    }
    Ok(Some(state))
}

/// The states of all clusters that are there.
fn states(places: &Places) -> Result<Vec<State>, ClusterError> {
    let mut states = Vec::new();
    for name in names(places) {
        states.extend(State::read(&places.kind_cluster(&name)?));
    }
    states.retain(|state| matches!(state.phase, Phase::Starting | Phase::Ready));
    Ok(states)
}

/// The names of all clusters that have a folder.
pub fn names(places: &Places) -> Vec<String> {
    super::local::names_in(&places.kind_clusters())
}
