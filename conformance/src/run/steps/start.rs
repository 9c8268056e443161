//! `start`: the adapter's Start.

use dispatch_contract::rules::RuleId;
use dispatch_contract::{RuntimeRef, StartAnswer, StartRequest};
use serde_json::Value;

use crate::history::Kind;
use crate::run::error::StepError;
use crate::run::fixture::trainer;
use crate::run::stage::{Job, Stage};
use crate::scenario::{JobDeadline, JobName, Priority};

/// The rule that a repeated Start which gives another object breaks.
const SAME_OBJECT: &str = "SG-07";

/// `activeDeadlineSeconds` of a job with a short deadline, before it is stretched: the pods are up by
/// then, and a step can wait for it.
const SHORT: i64 = 15;

/// The name of a job in the cluster: one of its own, the one that it has, or that of another job.
pub(super) async fn name(
    stage: &mut Stage<'_>,
    job: &JobName,
    again: bool,
    named_as: Option<&JobName>,
) -> Result<String, StepError> {
    if again {
        return Ok(stage.job(job)?.name.clone());
    }
    let name = match named_as {
        Some(other) => stage.job(other)?.name.clone(),
        None => stage.name_for(job)?,
    };
    let named = Job { kind: Kind::TrainJob, name: name.clone(), uid: None };
    stage.name_job(job, named, true).await?;
    Ok(name)
}

/// What Start is asked for.
pub(super) fn request(
    stage: &Stage<'_>,
    name: String,
    (cpu, pods): (u32, u32),
    priority: Option<Priority>,
    deadline: Option<JobDeadline>,
) -> StartRequest {
    StartRequest {
        name,
        runtime_ref: RuntimeRef {
            kind: Some("TrainingRuntime".to_owned()),
            name: stage.names.runtime().to_owned(),
        },
        queue: None,
        priority_class: priority.map(|priority| stage.names.priority_class(priority)),
        labels: [].into(),
        annotations: [].into(),
        trainer: Some(trainer(&stage.host.containers(), cpu, pods)),
        initializer: None,
        active_deadline_seconds: deadline
            .map(|JobDeadline::Short| SHORT * i64::from(stage.time_scale)),
    }
}

/// What Start answered: from then on the job has its UID, and no Start may give it another.
pub(super) async fn started(
    stage: &mut Stage<'_>,
    job: &JobName,
    answer: Value,
) -> Result<(), StepError> {
    let answer: StartAnswer = serde_json::from_value(answer)
        .map_err(|error| StepError::failed(format!("Start's answer cannot be read: {error}")))?;
    let known = stage.job(job)?.clone();
    let (name, uid) = (&answer.name, &answer.uid);
    let is_same = *name == known.name && known.uid.as_ref().is_none_or(|known| known == uid);
    if !is_same {
        let before = known.uid.map(|uid| format!(" of UID {uid}")).unwrap_or_default();
        let why = format!("Start of {}{before} gave {name} of UID {uid}", known.name);
        return Err(StepError::Failed { why, rule: rule(SAME_OBJECT) });
    }
    if known.uid.is_none() {
        let named = Job { uid: Some(answer.uid), ..known };
        stage.name_job(job, named, true).await?;
    }
    Ok(())
}

fn rule(id: &str) -> Option<RuleId> {
    id.parse().ok()
}
