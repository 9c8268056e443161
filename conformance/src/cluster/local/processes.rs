//! The supervisor's children: started through the guard, watched, and ended.

use super::components::{Component, Invocation, Site};
use super::features::FeatureGates;
use super::state::{ProcessId, ProcessState};
use super::{files, guard, logs, ports};
use crate::cluster::ClusterError;
use fs_err as fs;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, oneshot};

/// A component that ended without having been told to.
#[derive(Debug)]
pub(super) struct Death {
    component: Component,
    /// The process, as its parent knows it.
    id: Option<ProcessId>,
    log: PathBuf,
    status: String,
}

impl Death {
    /// The component.
    pub(super) fn component(&self) -> Component {
        self.component
    }

    /// The component, how it ended, and the end of its log. `run` is looked at for a full disk, on
    /// which the log would be silent.
    pub(super) fn into_error(self, run: &Path) -> ClusterError {
        if let Err(error @ ClusterError::DiskFull { .. }) = files::room(run) {
            return error;
        }
        let component = self.component.name().to_owned();
        let end = logs::end(&self.log);
        if logs::tell_of_a_full_disk(&end) {
            let detail = format!("{component} ended: no space left on device");
            return ClusterError::DiskFull { path: run.to_path_buf(), detail };
        }
        let tail = logs::last_lines(&end, 15);
        match ports::in_use(&tail) {
            Some(line) => ClusterError::PortTaken { component, detail: line.trim().to_owned() },
            None => {
                ClusterError::ComponentDied { component, status: self.status, log: self.log, tail }
            }
        }
    }
}

struct Running {
    state: ProcessState,
    component: Component,
    end: oneshot::Sender<()>,
    ended: oneshot::Receiver<()>,
}

/// All running children.
///
/// Children are started from the thread that calls [`Processes::start`], and die with that
/// thread: call it from the supervisor's main thread only.
pub(super) struct Processes {
    binaries: PathBuf,
    running: Mutex<Vec<Running>>,
    /// Whether all are to be ended: then none is started any more.
    over: AtomicBool,
    deaths: mpsc::UnboundedSender<Death>,
}

impl Processes {
    /// None yet. `binaries` is the folder of programs. Deaths are reported on the channel.
    pub(super) fn new(binaries: PathBuf) -> (Self, mpsc::UnboundedReceiver<Death>) {
        let (deaths, reported) = mpsc::unbounded_channel();
        let (running, over) = (Mutex::default(), AtomicBool::new(false));
        (Self { binaries, running, over, deaths }, reported)
    }

    /// Starts a component, with its log from empty.
    pub(super) fn start(
        &self,
        component: Component,
        site: &Site,
        gates: &FeatureGates,
    ) -> Result<(), ClusterError> {
        if self.over.load(Ordering::Relaxed) {
            return Err(ClusterError::Interrupted);
        }
        let Invocation { arguments, configuration } = site.invocation(component, gates);
        if let Some((file, content)) = configuration {
            files::write_private(&file, content.to_string().as_bytes())?;
        }
        files::folder(&site.temporary(component))?;
        let log = site.folder.log(component.name());
        let output = fs::File::create(&log).map_err(|error| ClusterError::io(&log, &error))?;
        let output = output.into_parts().0;
        let errors = output.try_clone().map_err(|error| ClusterError::io(&log, &error))?;

        let etc = (component == Component::Kueue).then(|| site.kueue_etc());
        let program = self.binaries.join(component.binary());
        let mut child = guard::single(&program, etc.as_deref())
            .args(arguments)
            .env_clear()
            .envs(site.environment(component))
            .current_dir(site.folder.run())
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| ClusterError::io(&program, &error))?;

        let id = child.id().and_then(ProcessId::of);
        let (end, told_to_end) = oneshot::channel();
        let (tell_ended, ended) = oneshot::channel();
        let deaths = self.deaths.clone();
        let death_log = log.clone();
        tokio::spawn(async move {
            tokio::select! {
                status = child.wait() => {
                    let status = status.map_or_else(|error| error.to_string(), describe);
                    drop(deaths.send(Death { component, id, log: death_log, status }));
                }
                _ = told_to_end => drop(child.kill().await),
            }
            tell_ended.send(()).ok();
        });
        let port = site.port(component);
        let name = component.name().to_owned();
        if let Some(id) = id {
            let state = ProcessState { name, id, port, log, led_through: None };
            self.locked().push(Running { state, component, end, ended });
        }
        Ok(())
    }

    /// Ends one component and waits until it is gone.
    pub(super) async fn end(&self, component: Component) {
        let found = {
            let mut running = self.locked();
            let place = running.iter().position(|process| process.component == component);
            place.map(|place| running.remove(place))
        };
        if let Some(process) = found {
            process.end().await;
        }
    }

    /// Sends a signal to the component of this name.
    pub(super) fn signal(&self, name: &str, signal: Signal) -> Result<(), ClusterError> {
        let running = self.locked();
        let found = running.iter().find(|process| process.component.name() == name);
        let process = found.ok_or_else(|| ClusterError::NoComponent { name: name.to_owned() })?;
        let pid = i32::try_from(process.state.id.pid).unwrap_or(i32::MAX);
        kill(Pid::from_raw(pid), signal)
            .map_err(|error| ClusterError::io(&process.state.log, &error.into()))
    }

    /// Whether the process that died is still the one of its component.
    pub(super) fn has(&self, death: &Death) -> bool {
        self.locked().iter().any(|process| Some(process.state.id) == death.id)
    }

    /// Ends all, the last started first, and waits until they are gone. None is started after.
    pub(super) async fn end_all(&self) {
        self.over.store(true, Ordering::Relaxed);
        let all = std::mem::take(&mut *self.locked());
        futures::future::join_all(all.into_iter().rev().map(Running::end)).await;
    }

    /// What the state file says of them. `way` is where a component is led.
    pub(super) fn states(&self, way: impl Fn(Component) -> Option<String>) -> Vec<ProcessState> {
        let state = |process: &Running| {
            let led_through = way(process.component);
            ProcessState { led_through, ..process.state.clone() }
        };
        self.locked().iter().map(state).collect()
    }

    fn locked(&self) -> MutexGuard<'_, Vec<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    /// By SIGKILL: nothing that these programs would tidy up outlasts the cluster.
    async fn end(self) {
        self.end.send(()).ok();
        self.ended.await.ok();
    }
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => nix::sys::signal::Signal::try_from(signal)
            .map_or_else(|_| format!("signal {signal}"), |signal| signal.as_str().to_owned()),
        (None, None) => "ended".to_owned(),
    }
}
