//! A subject's process, from its start to its end.

use std::ffi::OsString;
use std::fs::File;
use std::future::Future;
use std::io::Write;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dispatch_contract::Clock;
use futures::FutureExt;
use futures::future::pending;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;
use tokio::time::timeout;
use tracing::instrument::WithSubscriber;

use super::command_line::CommandLine;
use super::containers::{self, Image, Launched};
use super::embedded::{self, Gate, How, Ways};
use super::error::SubjectError;
use super::handle::{HandleError, Life, ProcessHandle};
use super::log::Log;
use super::starter;
use crate::cluster::local::guard;
use crate::history::Subject;
use crate::panics::text_of;

/// How long a subject in this process takes to be gone once it has ended.
const LAST_MOMENT: Duration = Duration::from_millis(1);

/// How many lines of its log an error shows.
const LOG_LINES: usize = 15;

/// A subject's process. It dies with this process, and when this is dropped.
#[derive(Debug)]
pub(super) struct Process {
    subject: Subject,
    log: LogFile,
    handle: ProcessHandle,
    life: Life,
    ended: watch::Receiver<Option<ExitStatus>>,
}

/// Where a subject logs.
#[derive(Clone, Debug)]
struct LogFile {
    path: PathBuf,
    /// What writes it, if this process does.
    own: Option<Log>,
}

impl LogFile {
    /// The file, and the end of it.
    fn read(mut self) -> (PathBuf, String) {
        // What cannot be written any more is not in the file.
        let _ = self.own.as_mut().map(Log::flush);
        let lines = last_lines(&self.path);
        (self.path, lines)
    }
}

/// What becomes a subject.
#[derive(Clone, Debug)]
pub enum Program {
    /// A process of this program, which is the suite's own.
    Own(PathBuf),
    /// A process of a program of others.
    Others {
        /// The suite's own program, which becomes theirs.
        suite: PathBuf,
        /// Theirs.
        line: CommandLine,
    },
    /// A container of this image.
    Image(Box<Image>),
    /// A part of this process.
    Embedded(Box<Ways>),
}

/// What a process is started from.
pub(super) struct Launch {
    pub(super) subject: Subject,
    /// What becomes the subject: [`own`] or [`of_others`].
    pub(super) command: Command,
    /// Where its log goes, after what is there.
    pub(super) log: PathBuf,
    /// How it is reached.
    pub(super) handle: ProcessHandle,
}

/// The suite's program, which becomes the subject that these arguments name.
pub(super) fn own(program: &Path, arguments: Vec<OsString>) -> Command {
    let mut command = guard::again(program);
    command.arg("subject").args(arguments);
    command.env_clear().env("RUST_BACKTRACE", "1");
    command
}

/// A program of others. It gets the suite's environment but for what would lead it to another cluster.
pub(super) fn of_others(suite: &Path, line: &CommandLine) -> Command {
    let mut command = guard::others(suite, line.program());
    command.args(line.arguments());
    for name in ["KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"] {
        command.env_remove(name);
    }
    command
}

/// The ends of a child's pipes, where it has some.
type Pipes = (Option<ChildStdin>, Option<ChildStdout>);

/// What a process says and hears.
pub(super) struct Streams {
    pub(super) input: Box<dyn AsyncWrite + Send + Unpin>,
    pub(super) output: Box<dyn AsyncRead + Send + Unpin>,
}

impl Process {
    /// Starts it, with its standard output in its log.
    pub(super) fn start(launch: Launch) -> Result<Self, SubjectError> {
        let output = |log: &File| Ok(Stdio::from(log.try_clone()?));
        Self::launch(launch, Stdio::null(), output).map(|(process, _)| process)
    }

    /// Starts it, with its standard input and output in our hands.
    pub(super) fn converse(launch: Launch) -> Result<(Self, Streams), SubjectError> {
        let subject = launch.subject;
        let launched = Self::launch(launch, Stdio::piped(), |_| Ok(Stdio::piped()))?;
        let (process, (Some(input), Some(output))) = launched else {
            let source = std::io::Error::other("it has no pipes");
            return Err(SubjectError::Process { what: "start", subject, source });
        };
        Ok((process, Streams { input: Box::new(input), output: Box::new(output) }))
    }

    /// Starts it in this process, from what it is made of behind its gate: `body` is what it does
    /// until it ends or is told to stop, and says whether it ended well.
    pub(super) fn embed<F>(
        (subject, clock): (Subject, Arc<dyn Clock>),
        (path, handle): (PathBuf, ProcessHandle),
        body: impl FnOnce(Gate, Terminated) -> F,
    ) -> Result<Self, SubjectError>
    where
        F: Future<Output = bool> + 'static,
    {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let wrap = |source| SubjectError::Process { what: "start", subject, source };
        let mut log = Log::open(&path).map_err(wrap)?;
        let file = LogFile { path, own: Some(log.clone()) };
        let (gate, terminate) = (Gate::new(), watch::Sender::new(false));
        let (tell, ended) = watch::channel(None);
        let life = Life::Embedded { number, gate: gate.clone(), terminate: terminate.clone() };
        handle.reach_life(life.clone(), ended.clone());
        let body = body(gate.clone(), Terminated(terminate));
        let body = caught(body).with_subscriber(log.dispatch(clock));
        tokio::task::spawn_local(async move {
            let how = tokio::select! {
                biased;
                () = gate.ended() => How::Killed,
                how = body => {
                    // What it has begun by then gets through.
                    let _ = timeout(LAST_MOMENT, pending::<()>()).await;
                    how
                }
            };
            // Whatever it has left behind reaches nobody.
            gate.end();
            let _ = log.flush();
            tell.send_replace(Some(embedded::status(how)));
        });
        Ok(Self { subject, log: file, handle, life, ended })
    }

    /// Starts it as a container, which has its own input and writes its log.
    pub(super) fn contain(
        image: &Image,
        launch: containers::Launch,
        handle: ProcessHandle,
    ) -> Result<Self, SubjectError> {
        let (subject, path) = (launch.subject, launch.log.clone());
        let launched = image.launch(launch);
        let wrap = |source| SubjectError::Process { what: "start", subject, source };
        let Launched { life, ended } = launched.map_err(wrap)?;
        handle.reach_life(life.clone(), ended.clone());
        Ok(Self { subject, log: LogFile { path, own: None }, handle, life, ended })
    }

    fn launch(
        launch: Launch,
        input: Stdio,
        output: impl FnOnce(&File) -> std::io::Result<Stdio>,
    ) -> Result<(Self, Pipes), SubjectError> {
        let Launch { subject, mut command, log, handle } = launch;
        let wrap = |source| SubjectError::Process { what: "start", subject, source };
        let file = fs_err::OpenOptions::new().create(true).append(true).open(&log);
        let file = file.map_err(wrap)?.into_file();
        command.kill_on_drop(true);
        // A Ctrl-C at the terminal is for the suite alone, which then stops what it judges.
        command.process_group(0);
        command.stdin(input).stdout(output(&file).map_err(wrap)?).stderr(file);
        let mut child = starter::start(command).map_err(wrap)?;
        let pipes = (child.stdin.take(), child.stdout.take());
        let (tell, ended) = watch::channel(None);
        let pid = child.id().unwrap_or_default();
        // Nobody has waited for the child yet, so the process id is still its own.
        let life = handle.reach(pid, ended.clone()).map_err(wrap)?;
        tokio::spawn(reap(child, tell));
        let log = LogFile { path: log, own: None };
        Ok((Self { subject, log, handle, life, ended }, pipes))
    }

    /// How it is reached.
    pub(super) fn handle(&self) -> &ProcessHandle {
        &self.handle
    }

    /// Who it is.
    pub(super) fn subject(&self) -> Subject {
        self.subject
    }

    /// Returns when it has ended, with how it did.
    pub(super) fn status(&self) -> impl Future<Output = ExitStatus> + Send + 'static {
        let mut ended = self.ended.clone();
        async move {
            let status = ended.wait_for(Option::is_some).await.ok().and_then(|status| *status);
            // Whoever waits for it ends with the runtime only, and this with it.
            status.unwrap_or_default()
        }
    }

    /// Returns when it has ended, with what is to be said if nobody asked it to.
    pub(super) fn ended(&self) -> impl Future<Output = SubjectError> + Send + 'static {
        let (subject, log, status) = (self.subject, self.log.clone(), self.status());
        async move {
            let status = status.await;
            let (log, lines) = log.read();
            SubjectError::Died { subject, status, log, lines }
        }
    }

    /// Asks it to stop (SIGTERM), and returns when it has; kills it after this time.
    pub(super) async fn terminate(&self, limit: Duration) -> Result<(), SubjectError> {
        let subject = self.subject;
        match self.handle.terminate() {
            Ok(()) => self.gone_within(limit).await,
            Err(HandleError::NotRunning) => Ok(()),
            Err(source) => Err(SubjectError::Signal { what: "stop", subject, source }),
        }
    }

    /// Returns when it has ended; kills it after this time.
    pub(super) async fn gone_within(&self, limit: Duration) -> Result<(), SubjectError> {
        if timeout(limit, self.status()).await.is_ok() {
            return Ok(());
        }
        let subject = self.subject;
        let wrap = |source| SubjectError::Signal { what: "kill", subject, source };
        match self.handle.kill() {
            Ok(()) => {}
            Err(HandleError::NotRunning) => return Ok(()),
            Err(error) => return Err(wrap(error)),
        }
        self.status().await;
        Err(SubjectError::NotStopped { subject, limit })
    }

    /// Its log, and the end of it.
    pub(super) fn log(&self) -> (PathBuf, String) {
        self.log.clone().read()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.handle.abandon(&self.life);
    }
}

/// How a subject in this process ends by itself. A panic is its own, as that of a process would be.
async fn caught(body: impl Future<Output = bool>) -> How {
    // Nothing of it is used after a panic.
    match AssertUnwindSafe(body).catch_unwind().await {
        Ok(true) => How::Well,
        Ok(false) => How::Badly,
        Err(panic) => {
            tracing::error!(panic = text_of(&*panic), "it has panicked");
            How::Panicked
        }
    }
}

/// That a subject in this process was asked to stop.
pub(super) struct Terminated(watch::Sender<bool>);

impl Terminated {
    /// Returns when it was.
    pub(super) async fn wait(self) {
        // The sender lives here.
        let _ = self.0.subscribe().wait_for(|asked| *asked).await;
    }
}

fn last_lines(log: &Path) -> String {
    let text = fs_err::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().rev().take(LOG_LINES).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

/// Waits for the end of a child. Dropped before that, with the runtime, it kills the child.
async fn reap(mut child: Child, tell: watch::Sender<Option<ExitStatus>>) {
    let status = match child.wait().await {
        Ok(status) => status,
        Err(error) => {
            tracing::error!(%error, "a subject cannot be waited for");
            ExitStatus::default()
        }
    };
    tell.send_replace(Some(status));
}

#[cfg(test)]
mod tests {
    use dispatch_contract::SystemClock;
    use tokio::task::LocalSet;

    use super::*;
    use crate::history::Role;

    #[tokio::test]
    async fn a_part_of_this_process_that_panics_ends_as_a_process_would_and_its_log_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("controller.log");
        let subject = Subject { role: Role::Controller, replica: 0 };
        let local = LocalSet::new();
        let died = local.run_until(async {
            let whose: (_, Arc<dyn Clock>) = (subject, Arc::new(SystemClock));
            let place = (path, ProcessHandle::default());
            let broken = |_: Gate, _: Terminated| async { panic!("odd state") };
            Process::embed(whose, place, broken).unwrap().ended().await
        });
        let SubjectError::Died { status, lines, .. } = died.await else { panic!("it died") };
        assert_eq!(status.code(), Some(101));
        assert!(lines.contains("odd state"), "{lines}");
    }
}
