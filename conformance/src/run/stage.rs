//! A scenario on its way: everything that its steps work with.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dispatch_contract::{CallError, Clock, Entropy, ErrorKind, ObjectRef};
use futures::future::{join_all, select_all};
use kube::Client;
use serde_json::Value;
use tokio::time::timeout;

use super::error::{RunError, StepError};
use super::fixture::PrivateFolder;
use super::host::Frozen;
use super::{Host, Names, Observer};
use crate::history::recorder::{Journal, Reader, Recorder, Revisions};
use crate::history::{
    CallAnswered, CallInvoked, CallOutcome, History, JobNamed, Kind, Role, SubjectChange,
    SubjectChanged, What,
};
use crate::kubelet::Kubelet;
use crate::scenario::{Component, JobName, Scenario};
use crate::subject::{Adapter, Call, Controller, ControllerSetup};

/// How long a call may take: longer than any wait of the contract's own (CA-02, CA-03).
const CALL_LIMIT: Duration = Duration::from_mins(3);

/// A scenario that is being played.
pub(super) struct Stage<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) host: &'a dyn Host,
    pub(super) names: Names,
    pub(super) client: Client,
    pub(super) entropy: Arc<dyn Entropy>,
    pub(super) time_scale: u32,
    pub(super) record: Record,
    pub(super) recorder: Recorder,
    pub(super) kubelet: Kubelet,
    pub(super) adapter: Box<dyn Adapter>,
    pub(super) controllers: Controllers,
    pub(super) jobs: BTreeMap<JobName, Job>,
    /// Components that stand still until dropped.
    pub(super) frozen: BTreeMap<Component, Frozen>,
    /// Removed when dropped.
    pub(super) _private: PrivateFolder,
}

/// A job of the scenario, in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Job {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) uid: Option<String>,
}

/// The replicas of the controller.
pub(super) struct Controllers {
    pub(super) setup: ControllerSetup,
    pub(super) running: BTreeMap<u32, Controller>,
}

impl Controllers {
    /// Returns when a replica that should run has ended by itself, with its process id and what is
    /// to be said of it.
    pub(super) async fn any_died(&mut self) -> (u32, Option<u32>, String) {
        let waits = self.running.values_mut().map(|controller| Box::pin(controller.died()));
        let waits: Vec<_> = waits.collect();
        if waits.is_empty() {
            return std::future::pending().await;
        }
        let ((replica, pid, why), _, _) = select_all(waits).await;
        self.running.remove(&replica);
        (replica, pid, why)
    }

    /// Stops every replica; gives those that ended, and how.
    pub(super) async fn stop_all(&mut self) -> Vec<(u32, SubjectChange, Option<u32>)> {
        let running = std::mem::take(&mut self.running);
        let stop = |(replica, controller): (u32, Controller)| async move {
            let pid = controller.pid();
            match controller.stop().await {
                Ok(()) => (replica, SubjectChange::Stopped, pid),
                Err(error) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, "a controller");
                    (replica, SubjectChange::Killed, pid)
                }
            }
        };
        join_all(running.into_iter().map(stop)).await
    }
}

/// The history, to be written to and to be read as far as it was recorded.
pub(super) struct Record {
    pub(super) journal: Arc<Journal>,
    pub(super) revisions: Revisions,
    pub(super) reader: Reader,
    /// What the reader has read.
    pub(super) history: History,
    next_call: u64,
}

impl Record {
    pub(super) fn new(journal: Arc<Journal>, revisions: Revisions) -> Self {
        let reader = journal.reader();
        Self { journal, revisions, reader, history: History::default(), next_call: 0 }
    }

    /// Writes an event that has no order of its own, at the store's latest revision.
    pub(super) async fn note(&self, what: What) -> Result<(), RunError> {
        let order = self.revisions.latest().await;
        Ok(self.journal.append(order, what)?)
    }

    /// Reads what was recorded until now.
    pub(super) fn read(&mut self) {
        while let Some(event) = self.reader.try_next() {
            self.history.push(event);
        }
    }

    /// Reads the next event, when there is one.
    pub(super) async fn read_next(&mut self) -> Result<(), RunError> {
        let event = self.reader.next().await?;
        self.history.push(event);
        Ok(())
    }

    /// Writes what happened to a replica of the controller.
    pub(super) async fn subject(
        &self,
        replica: u32,
        change: SubjectChange,
        pid: Option<u32>,
    ) -> Result<(), RunError> {
        self.note(What::Subject(SubjectChanged { role: Role::Controller, replica, change, pid }))
            .await
    }
}

impl Stage<'_> {
    /// A job that an earlier step made.
    pub(super) fn job(&self, job: &JobName) -> Result<&Job, StepError> {
        let unknown = || StepError::Failed { why: format!("there is no job {job}"), rule: None };
        self.jobs.get(job).ok_or_else(unknown)
    }

    /// How calls name an object of dispatch.
    pub(super) fn object(&self, job: &JobName) -> Result<ObjectRef, StepError> {
        let Job { name, uid, .. } = self.job(job)?;
        let uid = uid.clone().ok_or_else(|| StepError::Failed {
            why: format!("the UID of {job} is not known: its Start did not succeed"),
            rule: None,
        })?;
        Ok(ObjectRef { name: name.clone(), uid })
    }

    /// Takes note of a job's name, and of its UID once that is known.
    pub(super) async fn name_job(
        &mut self,
        job: &JobName,
        named: Job,
        dispatch: bool,
    ) -> Result<(), RunError> {
        let event = JobNamed {
            job: job.as_str().to_owned(),
            kind: named.kind,
            name: named.name.clone(),
            uid: named.uid.clone(),
            dispatch,
        };
        self.jobs.insert(job.clone(), named);
        self.record.note(What::JobNamed(event)).await
    }

    /// Makes a call of the adapter, with both ends of it in the history.
    pub(super) async fn call(
        &mut self,
        call: &Call,
        job: Option<&JobName>,
    ) -> Result<Result<Value, CallError>, RunError> {
        let id = self.record.next_call;
        self.record.next_call += 1;
        let invoked = CallInvoked {
            call: id,
            verb: call.verb(),
            subject: self.adapter.name().to_owned(),
            job: job.map(|job| job.as_str().to_owned()),
            input: call.input(),
        };
        self.record.note(What::CallInvoked(invoked)).await?;
        let limit = CALL_LIMIT * self.time_scale;
        let answer = timeout(limit, self.adapter.call(call)).await;
        let answer = answer.unwrap_or_else(|_| Err(hung(call, limit)));
        let outcome = match &answer {
            Ok(answer) => CallOutcome::Ok(answer.clone()),
            Err(error) if error.kind == ErrorKind::Unknown => CallOutcome::Unknown(error.clone()),
            Err(error) => CallOutcome::Failed(error.clone()),
        };
        self.record.note(What::CallAnswered(CallAnswered { call: id, outcome })).await?;
        Ok(answer)
    }
}

/// What is known of a call that is not answered: nothing.
fn hung(call: &Call, limit: Duration) -> CallError {
    CallError {
        kind: ErrorKind::Unknown,
        message: format!("the adapter did not answer {} within {limit:?}", call.verb().as_str()),
        rules: Vec::new(),
    }
}

/// What the engine is given beside the scenario and the cluster.
pub(super) struct Tools<'a> {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) entropy: Arc<dyn Entropy>,
    pub(super) observer: &'a mut dyn Observer,
}
