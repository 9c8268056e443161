//! A replica of the controller, as a process of its own.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use dispatch_admission::{Config, Lease};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::Child;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::endpoints;
use super::error::SubjectError;
use crate::cluster::local::guard;

/// How long a replica may take to become ready.
const READY_LIMIT: Duration = Duration::from_secs(30);

/// How long it may take to stop when asked to.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// How often it is asked whether it is ready.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// How many lines of its log an error shows.
const LOG_LINES: usize = 15;

/// The Lease times of the suite, so that a takeover is a matter of seconds.
const LEASE_DURATION: Duration = Duration::from_secs(3);
const LEASE_RENEW: Duration = Duration::from_secs(1);

/// What every replica of a scenario's controller is told.
#[derive(Clone, Debug)]
pub struct ControllerSetup {
    /// The controller that the `AdmissionCheck` names.
    pub controller_name: String,
    /// The namespace: of the Lease, and the one that is served.
    pub namespace: String,
    /// The name of the Lease.
    pub lease: String,
    /// The kubeconfig.
    pub kubeconfig: PathBuf,
    /// The broken controller that stands in for the reference, by its name.
    pub mutant: Option<String>,
    /// A private folder, for its configuration.
    pub private: PathBuf,
    /// The folder for its logs.
    pub logs: PathBuf,
}

/// A replica of the controller that runs. It is killed when this is dropped.
#[derive(Debug)]
pub struct Controller {
    replica: u32,
    child: Child,
    log: PathBuf,
    endpoints: PathBuf,
}

impl Controller {
    /// Starts a replica. It is not ready yet.
    pub fn start(setup: &ControllerSetup, replica: u32) -> Result<Self, SubjectError> {
        let endpoints = setup.private.join(format!("controller-{replica}.address"));
        // Left by the same replica before it was stopped.
        let _ = fs_err::remove_file(&endpoints);
        let config = config(setup, replica, &endpoints);
        let file = setup.private.join(format!("controller-{replica}.json"));
        write(&file, serde_json::json!(config).to_string().as_bytes())?;
        let log = setup.logs.join(format!("controller-{replica}.log"));
        let child = spawn(setup, &file, &log).map_err(|source| SubjectError::Process {
            what: "start",
            replica,
            source,
        })?;
        Ok(Self { replica, child, log, endpoints })
    }

    /// Returns when it says that it is ready.
    pub async fn ready(&mut self) -> Result<(), SubjectError> {
        let mut why = "it has not said where it listens".to_owned();
        let replica = self.replica;
        let asked = async {
            let mut turn = interval(ASK_EVERY);
            turn.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    ended = self.child.wait() => return ended,
                    _ = turn.tick() => {}
                }
                if let Some(address) = address(&self.endpoints) {
                    match endpoints::ready(address).await {
                        Ok(()) => return Ok(ExitStatus::default()),
                        Err(answer) => why = answer,
                    }
                }
            }
        };
        let asked = timeout(READY_LIMIT, asked).await;
        let (log, lines) = (self.log.clone(), last_lines(&self.log));
        match asked {
            Ok(Ok(_)) if self.is_running() => Ok(()),
            Ok(Ok(status)) => Err(SubjectError::Died { replica, status, log, lines }),
            Ok(Err(source)) => Err(SubjectError::Process { what: "wait for", replica, source }),
            Err(_) => Err(SubjectError::NotReady { replica, limit: READY_LIMIT, why, log, lines }),
        }
    }

    /// Returns when it has ended by itself: its number, its process id, and what is to be said.
    pub async fn died(&mut self) -> (u32, Option<u32>, String) {
        let pid = self.child.id();
        let how = match self.child.wait().await {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        let (replica, log) = (self.replica, self.log.display());
        (replica, pid, format!("controller {replica} ended by itself ({how}); its log is {log}"))
    }

    /// Its process id, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Whether it runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Asks it to stop, and returns when it has.
    pub async fn stop(mut self) -> Result<(), SubjectError> {
        let replica = self.replica;
        let wrap = |what| move |source| SubjectError::Process { what, replica, source };
        if let Some(pid) = self.child.id().and_then(|pid| i32::try_from(pid).ok()) {
            kill(Pid::from_raw(pid), Signal::SIGTERM)
                .map_err(|error| wrap("signal")(std::io::Error::from(error)))?;
        }
        if let Ok(ended) = timeout(STOP_LIMIT, self.child.wait()).await {
            return ended.map(drop).map_err(wrap("wait for"));
        }
        self.child.kill().await.map_err(wrap("kill"))?;
        Err(SubjectError::NotStopped { replica, limit: STOP_LIMIT })
    }
}

fn config(setup: &ControllerSetup, replica: u32, endpoints: &Path) -> Config {
    Config {
        controller_name: setup.controller_name.clone(),
        namespace: Some(setup.namespace.clone()),
        lease: Lease {
            name: setup.lease.clone(),
            namespace: setup.namespace.clone(),
            duration: LEASE_DURATION,
            renew: LEASE_RENEW,
        },
        identity: Some(format!("controller-{replica}")),
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        endpoints_file: Some(endpoints.to_owned()),
        kubeconfig: Some(setup.kubeconfig.clone()),
        ..Config::default()
    }
}

/// Starts this very program again, through the guard, so that it dies with this process.
fn spawn(setup: &ControllerSetup, config: &Path, log: &Path) -> std::io::Result<Child> {
    let log = fs_err::OpenOptions::new().create(true).append(true).open(log)?.into_file();
    let mut command = guard::single(Path::new("/proc/self/exe"), None);
    command.args(["subject", "admission", "--config"]).arg(config);
    if let Some(mutant) = &setup.mutant {
        command.args(["--mutant", mutant]);
    }
    command.env_clear().env("RUST_BACKTRACE", "1").kill_on_drop(true);
    // A Ctrl-C at the terminal is for the suite alone, which then stops what it judges.
    command.process_group(0);
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), SubjectError> {
    fs_err::write(path, bytes)
        .map_err(|source| SubjectError::File { path: path.to_owned(), source })
}

fn address(file: &Path) -> Option<SocketAddr> {
    fs_err::read_to_string(file).ok()?.trim().parse().ok()
}

fn last_lines(log: &Path) -> String {
    let text = fs_err::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().rev().take(LOG_LINES).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}
