//! Starting a supervisor, and waiting for what it says.

use super::features::FeatureGates;
use super::places::{ClusterFolder, Places};
use super::protocol::{Answer, Order, Request, receive, send};
use super::state::{Phase, State};
use super::{endpoint, files, pins, status, supervised, supervisor, supervisor_gone};
use crate::cluster::{ClusterError, Event, Progress};
use fs_err as fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::BufReader;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// What cluster is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Its name.
    pub name: String,
    /// Where cache and state are.
    pub places: Places,
    /// Kueue's feature gates.
    pub feature_gates: FeatureGates,
    /// How long a cache that somebody else builds into is waited for. A cold build takes about 10
    /// minutes on two cores.
    pub cache_patience: Duration,
    /// How long the start may take once everything is built.
    pub ready_within: Duration,
    /// The program that supervises: `dispatch-conformance` itself.
    pub program: PathBuf,
}

impl Options {
    /// The defaults, for a cluster called `name`, supervised by the running program.
    pub fn new(name: &str) -> Result<Self, ClusterError> {
        Ok(Self {
            name: name.to_owned(),
            places: Places::from_environment()?,
            feature_gates: FeatureGates::default(),
            cache_patience: Duration::from_hours(1),
            ready_within: Duration::from_mins(3),
            program: this_program(),
        })
    }

    /// The cluster's folder.
    pub fn folder(&self) -> Result<ClusterFolder, ClusterError> {
        self.places.cluster(&self.name)
    }

    fn order(&self) -> Order {
        Order {
            name: self.name.clone(),
            places: self.places.clone(),
            feature_gates: self.feature_gates.clone(),
            cache_patience_s: self.cache_patience.as_secs(),
            ready_within_s: self.ready_within.as_secs(),
        }
    }

    /// In what a running cluster differs from what is wanted.
    fn difference(&self, state: &State) -> Option<String> {
        if state.pins != pins::digest("") {
            return Some("components of another release".to_owned());
        }
        if state.feature_gates != self.feature_gates {
            return Some(format!(
                "the feature gates {} instead of {}",
                state.feature_gates, self.feature_gates
            ));
        }
        None
    }
}

/// Has the cluster running, and leaves it so: takes one that is there if it matches, else starts
/// it. Dropping the future before it is done ends what it had started.
pub async fn up(options: &Options, progress: &dyn Progress) -> Result<State, ClusterError> {
    let name = || options.name.clone();
    loop {
        if let Some(state) = find(options, progress).await? {
            return match options.difference(&state) {
                None => Ok(state),
                Some(difference) => Err(ClusterError::Occupied { name: name(), difference }),
            };
        }
        match Supervisor::start(options, progress).await {
            // Another came first, after it was looked for.
            Err(ClusterError::Starting { .. }) => {}
            Err(error) => return Err(error),
            Ok(mut supervisor) => {
                supervisor.keep().await?;
                return Ok(supervisor.state);
            }
        }
    }
}

/// The administrator's client of the running cluster of this name, whatever its options.
pub async fn client(
    options: &Options,
    progress: &dyn Progress,
) -> Result<kube::Client, ClusterError> {
    match find(options, progress).await? {
        Some(state) => endpoint::admin(&state.kubeconfig).await,
        None => Err(ClusterError::NotRunning { name: options.name.clone() }),
    }
}

/// A healthy cluster that matches, if there is one.
pub(super) async fn matching(
    options: &Options,
    progress: &dyn Progress,
) -> Result<Option<State>, ClusterError> {
    let found = find(options, progress).await?;
    Ok(found.filter(|state| options.difference(state).is_none()))
}

/// The running cluster of that name. One that is on its way up is waited for.
async fn find(options: &Options, progress: &dyn Progress) -> Result<Option<State>, ClusterError> {
    let folder = options.folder()?;
    let mut told = false;
    let mut turn = tokio::time::interval(Duration::from_millis(100));
    while supervised(&folder) {
        turn.tick().await;
        match status(&options.places, &options.name)? {
            Some(state) if state.phase == Phase::Ready => return Ok(Some(state)),
            Some(state) if state.phase == Phase::Starting && !told => {
                told = true;
                let (name, supervisor) = (options.name.clone(), state.supervisor.pid);
                progress.event(&Event::StartedElsewhere { name, supervisor });
            }
            _ => {}
        }
    }
    Ok(None)
}

/// A supervisor that this process has started. While it is held and was not told to keep the
/// cluster, the cluster ends with it: the supervisor sees the pipe close, however that comes
/// about.
#[derive(Debug)]
pub(super) struct Supervisor {
    input: ChildStdin,
    child: Child,
    /// The cluster's state when it became ready.
    pub state: State,
}

impl Supervisor {
    /// Starts one and waits until its cluster is ready.
    pub(super) async fn start(
        options: &Options,
        progress: &dyn Progress,
    ) -> Result<Self, ClusterError> {
        let folder = options.folder()?;
        let log = folder.supervisor_log();
        let mut child = spawn(options, &folder)?;
        let gone = || {
            // Takes its keys away. What it was is known.
            drop(status(&options.places, &options.name));
            supervisor_gone(&folder, &options.name)
        };
        let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(gone());
        };
        send(&mut input, &options.order()).await.map_err(|e| ClusterError::io(&log, &e))?;
        match listen(output, progress).await? {
            Some(state) => Ok(Self { input, child, state }),
            None => Err(gone()),
        }
    }

    /// Leaves the cluster running when this process goes.
    pub(super) async fn keep(&mut self) -> Result<(), ClusterError> {
        send(&mut self.input, &Request::Keep).await.map_err(|error| ClusterError::Request {
            action: "handing the cluster over to its supervisor".to_owned(),
            detail: error.to_string(),
        })
    }

    /// Ends the cluster and waits until it is gone.
    pub(super) async fn end(mut self, limit: Duration) {
        drop(self.input);
        if tokio::time::timeout(limit, self.child.wait()).await.is_err() {
            drop(self.child.kill().await);
        }
    }
}

/// The running program: by its own path, which `ps` shows, or if that was replaced meanwhile, by
/// the kernel's.
fn this_program() -> PathBuf {
    let path = std::env::current_exe().ok().filter(|path| path.exists());
    path.unwrap_or_else(|| PathBuf::from("/proc/self/exe"))
}

fn spawn(options: &Options, folder: &ClusterFolder) -> Result<Child, ClusterError> {
    files::private_folder(folder.root())?;
    let log = folder.supervisor_log();
    let file = fs::OpenOptions::new().append(true).create(true).open(&log);
    let file = file.map_err(|error| ClusterError::io(&log, &error))?;
    Command::new(&options.program)
        .arg0(env!("CARGO_PKG_NAME"))
        .arg(supervisor::SUBCOMMAND)
        .arg(folder.root())
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(file.into_parts().0)
        .spawn()
        .map_err(|error| ClusterError::io(&options.program, &error))
}

/// Passes events on until the cluster is ready. None if the supervisor ended without a word.
async fn listen(
    output: ChildStdout,
    progress: &dyn Progress,
) -> Result<Option<State>, ClusterError> {
    let mut output = BufReader::new(output);
    while let Ok(Some(answer)) = receive(&mut output).await {
        match answer {
            Answer::Event(event) => progress.event(&event),
            Answer::Ready(state) => return Ok(Some(*state)),
            Answer::Failed(error) => return Err(error),
        }
    }
    Ok(None)
}
