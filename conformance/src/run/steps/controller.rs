//! `stop-controller`, `start-controller`.

use crate::history::SubjectChange;
use crate::run::error::{RunError, StepError};
use crate::run::stage::{Controllers, Record, Stage};
use crate::subject::{Controller, SubjectError};

/// Asks a replica to stop; it has stopped when this returns.
pub(super) async fn stop(stage: &mut Stage<'_>, replica: u32) -> Result<(), StepError> {
    let Some(controller) = stage.controllers.running.remove(&replica) else {
        return Err(StepError::failed(format!("controller {replica} does not run")));
    };
    let pid = controller.pid();
    match controller.stop().await {
        Ok(()) => {}
        Err(error @ SubjectError::NotStopped { .. }) => {
            stage.record.subject(replica, SubjectChange::Killed, pid).await?;
            return Err(StepError::failed(error.to_string()));
        }
        Err(error) => return Err(RunError::from(error).into()),
    }
    Ok(stage.record.subject(replica, SubjectChange::Stopped, pid).await?)
}

/// Starts a replica; it is ready when this returns.
pub(in crate::run) async fn start(
    controllers: &mut Controllers,
    record: &Record,
    replica: u32,
) -> Result<(), StepError> {
    if controllers.running.contains_key(&replica) {
        return Err(StepError::failed(format!("controller {replica} runs already")));
    }
    let mut controller = Controller::start(&controllers.setup, replica).map_err(RunError::from)?;
    let pid = controller.pid();
    record.subject(replica, SubjectChange::Started, pid).await?;
    let ready = controller.ready().await;
    let change = match &ready {
        Ok(()) => SubjectChange::Ready,
        Err(SubjectError::Died { .. }) => SubjectChange::Died,
        Err(_) => SubjectChange::Killed,
    };
    record.subject(replica, change, pid).await?;
    ready.map_err(|error| StepError::failed(error.to_string()))?;
    controllers.running.insert(replica, controller);
    Ok(())
}
