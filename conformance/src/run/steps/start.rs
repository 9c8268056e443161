//! `start`: the adapter's Start.

use dispatch_contract::{ErrorKind, ObjectName, RuntimeRef, StartAnswer, StartRequest};

use super::call::expected;
use crate::history::Kind;
use crate::run::error::StepError;
use crate::run::fixture::trainer;
use crate::run::stage::{Job, Stage};
use crate::scenario::{JobName, Priority};
use crate::subject::Call;

pub(super) async fn run(
    stage: &mut Stage<'_>,
    job: &JobName,
    cpu: u32,
    priority: Option<Priority>,
    refused: Option<ErrorKind>,
) -> Result<(), StepError> {
    let name = ObjectName::new(stage.entropy.ulid(), 1)
        .ok_or_else(|| StepError::failed("1 is no number of an object"))?
        .to_string();
    let named = |uid| Job { kind: Kind::TrainJob, name: name.clone(), uid };
    let request = StartRequest {
        name: name.clone(),
        runtime_ref: RuntimeRef {
            kind: Some("TrainingRuntime".to_owned()),
            name: stage.names.runtime().to_owned(),
        },
        queue: None,
        priority_class: priority.map(|priority| stage.names.priority_class(priority)),
        labels: [].into(),
        annotations: [].into(),
        trainer: Some(trainer(cpu)),
        initializer: None,
        active_deadline_seconds: None,
    };
    stage.name_job(job, named(None), true).await?;
    let answer = stage.call(&Call::Start(request), Some(job)).await?;
    let Some(answer) = expected(answer, refused)? else { return Ok(()) };
    let started: StartAnswer = serde_json::from_value(answer)
        .map_err(|error| StepError::failed(format!("Start's answer cannot be read: {error}")))?;
    Ok(stage.name_job(job, named(Some(started.uid)), true).await?)
}
