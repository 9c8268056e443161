//! The processes that are judged, while a scenario is played.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::error::{RunError, StepError};
use super::record::Notes;
use crate::history::{Role, Subject, SubjectChange};
use crate::subject::{
    Adapter, AdapterProcess, AdapterSetup, Asked, Controller, ControllerSetup, HandleError,
    ProcessHandle, SubjectError,
};

/// How long a process may take to stand still.
const FREEZE_LIMIT: Duration = Duration::from_secs(5);

/// The adapter of a scenario.
pub(super) const ADAPTER: Subject = Subject { role: Role::Adapter, replica: 0 };

/// A replica of a scenario's controller.
pub(super) fn controller(replica: u32) -> Subject {
    Subject { role: Role::Controller, replica }
}

/// What the subjects of a scenario are started from.
pub(super) struct Setups {
    pub(super) adapter: AdapterSetup,
    pub(super) controller: ControllerSetup,
}

/// The subjects of a scenario. The end of each is written into the history as it comes, whatever the
/// scenario does meanwhile.
pub(super) struct Subjects {
    setups: Setups,
    notes: Notes,
    handles: BTreeMap<Subject, ProcessHandle>,
    /// Those that were started, and were not found to have ended.
    started: BTreeMap<Subject, Started>,
    deaths: mpsc::UnboundedSender<SubjectError>,
    died: mpsc::UnboundedReceiver<SubjectError>,
}

/// A subject that was started.
struct Started {
    process: Process,
    /// Ends once the end of the process is in the history.
    noted: JoinHandle<()>,
    /// Whether the history says that it stands still.
    still: watch::Receiver<bool>,
}

enum Process {
    Adapter(Arc<AdapterProcess>),
    Controller(Controller),
}

impl Process {
    async fn ready(&self) -> Result<(), SubjectError> {
        match self {
            Self::Adapter(adapter) => adapter.ready().await,
            Self::Controller(controller) => controller.ready().await,
        }
    }

    fn ended(&self) -> BoxFuture<'static, SubjectError> {
        match self {
            Self::Adapter(adapter) => adapter.ended().boxed(),
            Self::Controller(controller) => controller.ended().boxed(),
        }
    }

    async fn terminate(&self) -> Result<(), SubjectError> {
        match self {
            Self::Adapter(adapter) => adapter.terminate().await,
            Self::Controller(controller) => controller.stop().await,
        }
    }

    /// Ends it in the way that it knows.
    async fn end(&self) -> Result<(), SubjectError> {
        match self {
            Self::Adapter(adapter) => adapter.stop().await,
            Self::Controller(controller) => controller.stop().await,
        }
    }
}

impl Subjects {
    /// None yet.
    pub(super) fn new(setups: Setups, notes: Notes) -> Self {
        let (deaths, died) = mpsc::unbounded_channel();
        let (handles, started) = (BTreeMap::new(), BTreeMap::new());
        Self { setups, notes, handles, started, deaths, died }
    }

    /// How a subject is reached, now and after it was started again.
    pub(super) fn handle(&mut self, subject: Subject) -> ProcessHandle {
        self.handles.entry(subject).or_default().clone()
    }

    /// The adapter, while it runs.
    pub(super) fn adapter(&self) -> Option<Arc<dyn Adapter>> {
        match &self.started.get(&ADAPTER)?.process {
            Process::Adapter(adapter) if adapter.handle().is_running() => {
                Some(Arc::clone(adapter) as Arc<dyn Adapter>)
            }
            _ => None,
        }
    }

    /// Starts a subject again; one that runs is killed first, unless a fault has just killed it.
    pub(super) async fn restart(&mut self, subject: Subject) -> Result<(), StepError> {
        match self.handle(subject).kill() {
            Ok(()) | Err(HandleError::NotRunning) => self.forget(subject).await,
            Err(error) => return Err(signalled("kill", subject, error)),
        }
        self.start(subject).await
    }

    /// Starts a subject that does not run. It is ready when this returns; or it was killed before
    /// it was, by somebody whose intention that is.
    pub(super) async fn start(&mut self, subject: Subject) -> Result<(), StepError> {
        let handle = self.handle(subject);
        self.forget(subject).await;
        let process = self.launch(subject, &handle).map_err(RunError::from)?;
        let pid = handle.pid();
        self.notes.subject(subject, SubjectChange::Started, pid).await?;
        let (tell_still, still) = watch::channel(false);
        let watched = Watched {
            subject,
            pid,
            handle: handle.clone(),
            notes: self.notes.clone(),
            still: tell_still,
            deaths: self.deaths.clone(),
        };
        let noted = tokio::spawn(watched.note(process.ended()));
        let ready = process.ready().await;
        self.started.insert(subject, Started { process, noted, still });
        match ready {
            Ok(()) => Ok(self.notes.subject(subject, SubjectChange::Ready, pid).await?),
            Err(_) if handle.asked() == Some(Asked::Kill) => Ok(()),
            Err(error) => {
                // What cannot be used is not left running; that it ended already is as good.
                drop(handle.kill());
                self.forget(subject).await;
                Err(StepError::failed(error.to_string()))
            }
        }
    }

    fn launch(&self, subject: Subject, handle: &ProcessHandle) -> Result<Process, SubjectError> {
        Ok(match subject.role {
            Role::Adapter => {
                let adapter = AdapterProcess::start(&self.setups.adapter, handle)?;
                Process::Adapter(Arc::new(adapter))
            }
            _ => Process::Controller(Controller::start(
                &self.setups.controller,
                subject.replica,
                handle,
            )?),
        })
    }

    /// Kills a subject; it has ended, and its end is in the history, when this returns.
    pub(super) async fn kill(&mut self, subject: Subject) -> Result<(), StepError> {
        self.handle(subject).kill().map_err(|error| signalled("kill", subject, error))?;
        self.forget(subject).await;
        Ok(())
    }

    /// Asks a subject to stop (SIGTERM); it has stopped when this returns.
    pub(super) async fn terminate(&mut self, subject: Subject) -> Result<(), StepError> {
        let Some(started) = self.started.get(&subject) else {
            return Err(signalled("stop", subject, HandleError::NotRunning));
        };
        let stopped = started.process.terminate().await;
        self.forget(subject).await;
        match stopped {
            Ok(()) => Ok(()),
            Err(error @ SubjectError::NotStopped { .. }) => {
                Err(StepError::failed(error.to_string()))
            }
            Err(error) => Err(RunError::from(error).into()),
        }
    }

    /// Makes a subject stand still; all its threads do, and the history says so, when this returns.
    pub(super) async fn freeze(&mut self, subject: Subject) -> Result<(), StepError> {
        self.handle(subject).freeze().map_err(|error| signalled("freeze", subject, error))?;
        self.is_still(subject, true).await
    }

    /// Lets a subject go on; nothing happens to one that does not stand still.
    pub(super) async fn thaw(&mut self, subject: Subject) -> Result<(), StepError> {
        let handle = self.handle(subject);
        if !handle.is_running() {
            return Err(signalled("thaw", subject, HandleError::NotRunning));
        }
        if !handle.is_frozen() {
            return Ok(());
        }
        // Somebody else may have frozen it just now.
        self.is_still(subject, true).await?;
        // Before the signal, so that what it does then comes after this in the history.
        self.notes.subject(subject, SubjectChange::Thawed, handle.pid()).await?;
        handle.thaw().map_err(|error| signalled("thaw", subject, error))?;
        self.is_still(subject, false).await
    }

    /// Returns when it was noted that a subject stands still, or that it no longer does.
    async fn is_still(&mut self, subject: Subject, wanted: bool) -> Result<(), StepError> {
        let gone = || signalled("freeze", subject, HandleError::NotRunning);
        let started = self.started.get_mut(&subject).ok_or_else(gone)?;
        match timeout(FREEZE_LIMIT, started.still.wait_for(|still| *still == wanted)).await {
            Ok(Ok(_)) => Ok(()),
            // Whoever notes it is gone, since the subject has ended.
            Ok(Err(_)) => Err(gone()),
            Err(_) => {
                let error = SubjectError::NotFrozen { subject, limit: FREEZE_LIMIT };
                Err(RunError::from(error).into())
            }
        }
    }

    /// Returns when a subject has ended that nobody asked to, with what is to be said of it.
    pub(super) async fn died(&mut self) -> SubjectError {
        match self.died.recv().await {
            Some(death) => death,
            // There is always a sender, which is ours.
            None => pending().await,
        }
    }

    /// As [`Subjects::died`], if there was such an end by now.
    pub(super) fn has_died(&mut self) -> Option<SubjectError> {
        self.died.try_recv().ok()
    }

    /// Stops every subject; the end of each is in the history when this returns.
    pub(super) async fn stop_all(&mut self) {
        let stop = |(subject, started): (Subject, Started)| {
            let handle = self.handles.get(&subject).cloned().unwrap_or_default();
            async move {
                // One that stands still hears nothing.
                let frozen = handle.is_frozen() && handle.kill().is_ok();
                if !frozen && let Err(error) = started.process.end().await {
                    tracing::warn!(error = &error as &dyn std::error::Error, "a subject");
                }
                started.noted().await;
            }
        };
        join_all(std::mem::take(&mut self.started).into_iter().map(stop)).await;
    }

    /// Forgets a subject that ends, once that is in the history.
    async fn forget(&mut self, subject: Subject) {
        if let Some(started) = self.started.remove(&subject) {
            started.noted().await;
        }
    }
}

impl Drop for Subjects {
    /// What is given up is killed, and that is no part of the history.
    fn drop(&mut self) {
        self.started.values().for_each(|started| started.noted.abort());
    }
}

impl Started {
    async fn noted(self) {
        let Self { process, noted, .. } = self;
        if let Err(error) = noted.await {
            tracing::error!(%error, "the end of a subject is not in the history");
        }
        drop(process);
    }
}

/// Who is watched until its end.
struct Watched {
    subject: Subject,
    pid: Option<u32>,
    handle: ProcessHandle,
    notes: Notes,
    still: watch::Sender<bool>,
    deaths: mpsc::UnboundedSender<SubjectError>,
}

impl Watched {
    /// Writes into the history that it stands still, whoever made it, and that it has ended.
    async fn note(self, ended: impl Future<Output = SubjectError>) {
        let death = tokio::select! {
            biased;
            death = ended => death,
            never = self.note_freezes() => match never {},
        };
        let change = match self.handle.asked() {
            Some(Asked::Kill) => SubjectChange::Killed,
            Some(Asked::Stop) => SubjectChange::Stopped,
            None => SubjectChange::Died,
        };
        self.write(change).await;
        if change == SubjectChange::Died {
            drop(self.deaths.send(death));
        }
    }

    async fn note_freezes(&self) -> Infallible {
        // None when it has ended, which is noted beside this.
        let Some(mut freezes) = self.handle.freezes() else { return pending().await };
        // It may be frozen already.
        freezes.mark_changed();
        while freezes.changed().await.is_ok() {
            let frozen = *freezes.borrow_and_update();
            if frozen && self.handle.stands_still().await.is_ok() {
                self.write(SubjectChange::Frozen).await;
                self.still.send_replace(true);
            } else {
                self.still.send_replace(false);
            }
        }
        pending().await
    }

    async fn write(&self, change: SubjectChange) {
        if let Err(error) = self.notes.subject(self.subject, change, self.pid).await {
            tracing::error!(error = &error as &dyn std::error::Error, "a change of a subject");
        }
    }
}

fn signalled(what: &'static str, subject: Subject, error: HandleError) -> StepError {
    match error {
        HandleError::NotRunning => StepError::failed(format!("{subject} does not run")),
        source @ (HandleError::Refused { .. } | HandleError::Engine { .. }) => {
            RunError::from(SubjectError::Signal { what, subject, source }).into()
        }
    }
}

#[cfg(test)]
mod tests;
