//! What the supervisor and those who use it say to each other: JSON, one message a line.
//!
//! The one that starts a supervisor speaks to it on its standard input and output, for as long as
//! the cluster is its own. Others use the socket in the cluster's folder.

use super::features::FeatureGates;
use super::places::{ClusterFolder, Places};
use super::state::State;
use crate::cluster::{ClusterError, Event, LeadThrough};
use fs_err as fs;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

/// The first line a supervisor reads: what to start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Order {
    /// The cluster's name.
    pub name: String,
    /// Where cache and state are.
    pub places: Places,
    /// Kueue's feature gates.
    pub feature_gates: FeatureGates,
    /// How long a locked cache is waited for, in seconds.
    pub cache_patience_s: u64,
    /// How long the start may take once everything is built, in seconds.
    pub ready_within_s: u64,
}

/// What is asked of a supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Request {
    /// Go on when the one who started you is gone. Standard input only.
    Keep,
    /// End the cluster. The connection is closed when it has ended.
    Stop,
    /// Start Kueue again with these feature gates.
    RestartKueue(FeatureGates),
    /// Make the component of this name stand still, until the connection is closed.
    Freeze(String),
    /// Start the components of these names again, with their requests led through these servers,
    /// until the connection is closed. When this side of it is, a second answer says that they are
    /// back.
    Lead(BTreeMap<String, LeadThrough>),
    /// Say nothing, and close the connection when the cluster has ended.
    Watch,
}

/// What a supervisor says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Answer {
    /// Something goes on.
    Event(Event),
    /// What was asked for is done.
    Ready(Box<State>),
    /// It could not be done.
    Failed(ClusterError),
}

/// Reads one message. None at the end of the stream.
pub(super) async fn receive<T: DeserializeOwned>(
    from: &mut (impl AsyncBufRead + Unpin),
) -> io::Result<Option<T>> {
    let mut line = String::new();
    if from.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    serde_json::from_str(&line).map(Some).map_err(io::Error::from)
}

/// Writes one message.
pub(super) async fn send(
    to: &mut (impl AsyncWrite + Unpin),
    message: &impl Serialize,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line).await?;
    to.flush().await
}

/// Listens on the cluster's socket. Its folder lets in this user alone.
pub(super) fn listen(folder: &ClusterFolder) -> io::Result<UnixListener> {
    let (run, socket) = short(folder)?;
    let listener = UnixListener::bind(socket)?;
    drop(run);
    Ok(listener)
}

/// Connects to the cluster's socket.
pub(super) async fn connect(folder: &ClusterFolder) -> io::Result<UnixStream> {
    let (run, socket) = short(folder)?;
    let stream = UnixStream::connect(socket).await?;
    drop(run);
    Ok(stream)
}

/// The socket's path through the open folder: a socket's path holds at most 107 bytes, and a state
/// folder may be longer.
fn short(folder: &ClusterFolder) -> io::Result<(fs::File, PathBuf)> {
    let run = fs::File::open(folder.run())?;
    let socket = folder.socket();
    let name = socket.file_name().unwrap_or_default();
    let path = PathBuf::from(format!("/proc/self/fd/{}", run.as_raw_fd())).join(name);
    Ok((run, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_below_a_long_path_can_be_used() {
        let root = tempfile::tempdir().unwrap();
        let state = root.path().join("long".repeat(40));
        let places = Places { cache: state.clone(), state };
        let folder = places.cluster("c").unwrap();
        fs::create_dir_all(folder.run()).unwrap();

        let listener = listen(&folder).unwrap();
        let mut client = connect(&folder).await.unwrap();
        send(&mut client, &Request::Stop).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let heard: Option<Request> = receive(&mut tokio::io::BufReader::new(stream)).await.unwrap();
        assert_eq!(heard, Some(Request::Stop));
    }
}
