//! The processes that are judged, while a scenario is played.

use std::collections::BTreeMap;

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::error::{RunError, StepError};
use super::record::Notes;
use crate::history::{Role, Subject, SubjectChange};
use crate::subject::{
    Adapter, AdapterProcess, AdapterSetup, Asked, Controller, ControllerSetup, ProcessHandle,
    SubjectError,
};

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
}

enum Process {
    Adapter(Box<AdapterProcess>),
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
    pub(super) fn adapter(&self) -> Option<&dyn Adapter> {
        match &self.started.get(&ADAPTER)?.process {
            Process::Adapter(adapter) if adapter.handle().is_running() => Some(&**adapter),
            _ => None,
        }
    }

    /// Starts a subject that does not run. It is ready when this returns; or it was killed before
    /// it was, by somebody whose intention that is.
    pub(super) async fn start(&mut self, subject: Subject) -> Result<(), StepError> {
        let handle = self.handle(subject);
        if handle.is_running() {
            return Err(StepError::failed(format!("{subject} runs already")));
        }
        self.forget(subject).await;
        let process = self.launch(subject, &handle).map_err(RunError::from)?;
        let pid = handle.pid();
        self.notes.subject(subject, SubjectChange::Started, pid).await?;
        let noted = tokio::spawn(note_end(
            process.ended(),
            Noted {
                subject,
                pid,
                handle: handle.clone(),
                notes: self.notes.clone(),
                deaths: self.deaths.clone(),
            },
        ));
        let ready = process.ready().await;
        self.started.insert(subject, Started { process, noted });
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
                Process::Adapter(Box::new(adapter))
            }
            _ => Process::Controller(Controller::start(
                &self.setups.controller,
                subject.replica,
                handle,
            )?),
        })
    }

    /// Asks a subject to stop (SIGTERM); it has stopped when this returns.
    pub(super) async fn terminate(&mut self, subject: Subject) -> Result<(), StepError> {
        let Some(started) = self.started.get(&subject) else {
            return Err(StepError::failed(format!("{subject} does not run")));
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

    /// Returns when a subject has ended that nobody asked to, with what is to be said of it.
    pub(super) async fn died(&mut self) -> SubjectError {
        match self.died.recv().await {
            Some(death) => death,
            // There is always a sender, which is ours.
            None => std::future::pending().await,
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
        let Self { process, noted } = self;
        if let Err(error) = noted.await {
            tracing::error!(%error, "the end of a subject is not in the history");
        }
        drop(process);
    }
}

/// Who is watched until its end.
struct Noted {
    subject: Subject,
    pid: Option<u32>,
    handle: ProcessHandle,
    notes: Notes,
    deaths: mpsc::UnboundedSender<SubjectError>,
}

/// Writes the end of a subject into the history, when it comes.
async fn note_end(ended: impl Future<Output = SubjectError>, watched: Noted) {
    let Noted { subject, pid, handle, notes, deaths } = watched;
    let death = ended.await;
    let change = match handle.asked() {
        Some(Asked::Kill) => SubjectChange::Killed,
        Some(Asked::Stop) => SubjectChange::Stopped,
        None => SubjectChange::Died,
    };
    if let Err(error) = notes.subject(subject, change, pid).await {
        tracing::error!(error = &error as &dyn std::error::Error, "the end of a subject");
    }
    if change == SubjectChange::Died {
        drop(deaths.send(death));
    }
}
