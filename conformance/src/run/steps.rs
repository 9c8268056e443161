//! The steps of a scenario: one file for each kind.

mod administrator;
mod apply;
mod call;
mod fault;
mod kueue;
mod pods;
mod stand_still;
mod start;
mod submit;
mod until;

use super::error::{RunError, StepError};
use super::observer::{Observer, Progress};
use super::stage::Stage;
use crate::history::{StepBegan, StepEnded, StepFailed, What};
use crate::scenario::{Action, Step};

pub(super) use fault::pattern;

/// How the steps of a scenario ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Steps {
    /// All were played.
    Finished,
    /// One failed.
    Failed,
}

/// Plays every step, until one fails.
pub(super) async fn play(
    stage: &mut Stage<'_>,
    observer: &mut dyn Observer,
) -> Result<Steps, RunError> {
    let steps = &stage.scenario.steps;
    let mut order = stage.record.notes.revisions.latest().await;
    for (index, step) in steps.iter().enumerate() {
        observer.progress(&Progress::StepBegan { index, of: steps.len(), text: &step.text });
        let began = StepBegan { index, line: step.place.line, text: step.text.clone() };
        stage.record.notes.journal.append(order, What::StepBegan(began))?;
        let ended = one(stage, step, observer).await.and_then(|()| nobody_died(stage));
        // For the end of this step and the beginning of the next one, between which nothing is done.
        order = stage.record.notes.revisions.latest().await;
        match ended {
            Ok(()) => {
                stage.record.notes.journal.append(order, What::StepEnded(StepEnded { index }))?;
                observer.progress(&Progress::StepEnded { index });
            }
            Err(StepError::Failed { why, rule }) => {
                observer.progress(&Progress::StepFailed { index, why: &why });
                let failed = StepFailed { index, why, rule };
                stage.record.notes.journal.append(order, What::StepFailed(failed))?;
                return Ok(Steps::Failed);
            }
            Err(StepError::Run(error)) => return Err(error),
        }
    }
    Ok(Steps::Finished)
}

/// A death that nobody asked for breaks the step in which it came.
fn nobody_died(stage: &mut Stage<'_>) -> Result<(), StepError> {
    stage.subjects.has_died().map_or(Ok(()), |death| Err(StepError::failed(death.to_string())))
}

async fn one(
    stage: &mut Stage<'_>,
    step: &Step,
    observer: &mut dyn Observer,
) -> Result<(), StepError> {
    match &step.action {
        Action::Call(call) => call::run(stage, std::slice::from_ref(call)).await,
        Action::AtOnce(calls) => call::run(stage, calls).await,
        Action::Begin(call) => call::begin(stage, call).await,
        Action::Finish(verb) => call::finish(stage, *verb).await,
        Action::Submit { job, kind, cpu, labels } => {
            submit::run(stage, job, *kind, *cpu, labels).await
        }
        Action::SubmitWorkload { job, like } => submit::workload(stage, job, like).await,
        Action::Until { fact, deadline, or_breaks } => {
            until::run(stage, step, fact, *deadline, *or_breaks, observer).await
        }
        Action::Linger { job } => pods::linger(stage, job).await,
        Action::LetGo { job } => pods::let_go(stage, job).await,
        Action::End { job, end } => pods::end(stage, job, *end).await,
        Action::Delete { thing, propagation, force } => {
            administrator::delete(stage, thing, *propagation, *force).await
        }
        Action::Edit { thing, patch } => administrator::edit(stage, thing, patch).await,
        Action::Apply { target, field, manager } => apply::run(stage, target, field, manager).await,
        Action::Deactivate { job } => administrator::set_active(stage, job, false).await,
        Action::Reactivate { job } => administrator::set_active(stage, job, true).await,
        Action::Approve { job } => administrator::approve(stage, job).await,
        Action::Terminate { subject } => stage.subjects.terminate(*subject).await,
        Action::Kill { subject } => stage.subjects.kill(*subject).await,
        Action::Restart { subject } => stage.subjects.restart(*subject).await,
        Action::Kueue { feature_gates } => kueue::run(stage, feature_gates).await,
        Action::Freeze { subject } => stand_still::freeze(stage, *subject).await,
        Action::Thaw { subject } => stand_still::thaw(stage, *subject).await,
        Action::Place(placed) => fault::place(stage, placed),
        Action::GoOn { fault } => {
            fault::go_on(stage, fault);
            Ok(())
        }
        Action::InTurn(_) => fault::in_turn(stage),
    }
}
