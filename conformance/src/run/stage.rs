//! A scenario on its way: everything that its steps work with.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dispatch_contract::{Clock, Entropy, ErrorKind, ObjectRef};
use kube::Client;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::case::Case;
use super::containers::Containers;
use super::error::{RunError, StepError};
use super::fixture::PrivateFolder;
use super::host::Frozen;
use super::names::JobNames;
use super::proxied::Taps;
use super::record::{Notes, Record};
use super::subjects::Subjects;
use super::{Host, Names, Observer};
use crate::history::recorder::Recorder;
use crate::history::{CallAnswered, CallInvoked, CallOutcome, JobNamed, Kind, Verb, What};
use crate::proxy::Placed;
use crate::scenario::{AdapterCall, Component, FaultName, JobName, Scenario};
use crate::subject::{Adapter, Call, Failure, Unanswered};

/// How long a call may take: longer than any wait of the contract's own (CA-02, CA-03).
const CALL_LIMIT: Duration = Duration::from_mins(3);

/// A scenario that is being played.
pub(super) struct Stage<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) host: &'a dyn Host,
    pub(super) names: Names,
    pub(super) client: Client,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) time_scale: u32,
    pub(super) record: Record,
    pub(super) recorder: Recorder,
    pub(super) containers: Containers,
    pub(super) subjects: Subjects,
    pub(super) jobs: BTreeMap<JobName, Job>,
    /// The names that jobs get in the cluster, by what the scenario calls them: known before they
    /// are made, so that a fault can wait for the very first request.
    pub(super) job_names: JobNames,
    /// Everybody whose requests pass the proxy.
    pub(super) taps: Taps,
    /// The faults that are in place, on each tap.
    pub(super) faults: BTreeMap<FaultName, Vec<Placed>>,
    /// Calls that were begun, and whose answer no step has waited for.
    pub(super) under_way: UnderWay,
    /// The case of the scenario that is played.
    pub(super) case: Option<&'a Case>,
    /// Components that stand still until dropped.
    pub(super) frozen: BTreeMap<Component, Frozen>,
    /// Removed when dropped.
    pub(super) _private: Option<PrivateFolder>,
}

/// A job of the scenario, in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Job {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) uid: Option<String>,
}

impl Stage<'_> {
    /// The name in the cluster of a job that a step makes.
    pub(super) fn name_for(&self, job: &JobName) -> Result<String, StepError> {
        let unknown = || StepError::failed(format!("the job {job} has no name"));
        self.job_names.get(job.as_str()).cloned().ok_or_else(unknown)
    }

    /// A job that an earlier step made.
    pub(super) fn job(&self, job: &JobName) -> Result<&Job, StepError> {
        let unknown = || StepError::Failed { why: format!("there is no job {job}"), rule: None };
        self.jobs.get(job).ok_or_else(unknown)
    }

    /// How calls name an object of dispatch.
    pub(super) fn object(&self, job: &JobName) -> Result<ObjectRef, StepError> {
        let Job { name, uid, .. } = self.job(job)?;
        let uid = uid.clone().ok_or_else(|| StepError::Failed {
            why: format!("the UID of {job} is not known: its Start has no answer"),
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
        self.record.notes.note(What::JobNamed(event)).await
    }

    /// Takes note of a call that is about to be sent, and gives its number.
    pub(super) async fn invoke(
        &self,
        call: &Call,
        job: Option<&JobName>,
    ) -> Result<u64, StepError> {
        let id = self.record.next_call();
        let invoked = CallInvoked {
            call: id,
            verb: call.verb(),
            subject: self.adapter()?.name().to_owned(),
            job: job.map(|job| job.as_str().to_owned()),
            input: call.params(),
        };
        self.record.notes.note(What::CallInvoked(invoked)).await?;
        Ok(id)
    }

    /// Sends the call of this number, and takes note of its answer.
    pub(super) async fn answer(
        &self,
        id: u64,
        call: &Call,
    ) -> Result<Result<Value, Failure>, StepError> {
        let limit = CALL_LIMIT * self.time_scale;
        answer(&*self.adapter()?, &self.record.notes, limit, (id, call)).await
    }

    /// Sends the call of this number; its answer is noted as it comes.
    pub(super) fn begin(
        &mut self,
        id: u64,
        step: &AdapterCall,
        call: Call,
    ) -> Result<(), StepError> {
        let limit = CALL_LIMIT * self.time_scale;
        let (adapter, notes) = (self.adapter()?, self.record.notes.clone());
        let made = async move { answer(&*adapter, &notes, limit, (id, &call)).await };
        let begun = Begun { step: step.clone(), answer: tokio::spawn(made) };
        self.under_way.0.insert(step.verb(), begun);
        Ok(())
    }

    /// The answer of a call that was begun, and the step that began it.
    pub(super) async fn finish(
        &mut self,
        verb: Verb,
    ) -> Result<(AdapterCall, Result<Value, Failure>), StepError> {
        let none = || StepError::failed(format!("no call of {} is under way", verb.as_str()));
        let mut begun = self.under_way.0.remove(&verb).ok_or_else(none)?;
        let answer = (&mut begun.answer).await;
        let answer =
            answer.map_err(|error| StepError::failed(format!("the call broke off: {error}")));
        Ok((begun.step.clone(), answer??))
    }

    fn adapter(&self) -> Result<Arc<dyn Adapter>, StepError> {
        let adapter = self.subjects.adapter();
        adapter.ok_or_else(|| StepError::failed("the adapter does not run, so it cannot be called"))
    }
}

/// Makes the call of this number, and takes note of its answer.
async fn answer(
    adapter: &dyn Adapter,
    notes: &Notes,
    limit: Duration,
    (id, call): (u64, &Call),
) -> Result<Result<Value, Failure>, StepError> {
    let answer = timeout(limit, adapter.call(call)).await;
    let answer = answer.unwrap_or_else(|_| Err(Unanswered::Hung(limit).into()));
    let outcome = match answer.as_ref().map_err(Failure::call_error) {
        Ok(answer) => CallOutcome::Ok(answer.clone()),
        Err(error) if error.kind == ErrorKind::Unknown => CallOutcome::Unknown(error),
        Err(error) => CallOutcome::Failed(error),
    };
    notes.note(What::CallAnswered(CallAnswered { call: id, outcome })).await?;
    Ok(answer)
}

/// The calls that were begun, by what is called. Nobody waits for them any more once this is dropped.
#[derive(Default)]
pub(super) struct UnderWay(BTreeMap<Verb, Begun>);

/// A call that was begun.
struct Begun {
    step: AdapterCall,
    answer: JoinHandle<Result<Result<Value, Failure>, StepError>>,
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.answer.abort();
    }
}

/// What the engine is given beside the scenario and the cluster.
pub(super) struct Tools<'a> {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) entropy: Arc<dyn Entropy>,
    pub(super) observer: &'a mut dyn Observer,
}
