//! `freeze` and `thaw`: a subject, or a component of the cluster, stands still, and goes on.

use crate::history::Subject;
use crate::run::error::{RunError, StepError};
use crate::run::stage::Stage;
use crate::scenario::Component;

pub(super) async fn freeze(stage: &mut Stage<'_>, subject: Subject) -> Result<(), StepError> {
    let Some(component) = Component::of(subject.role) else {
        return stage.subjects.freeze(subject).await;
    };
    let frozen = stage.host.freeze(component).await;
    let frozen = frozen.map_err(|source| RunError::Freeze { component, source })?;
    stage.frozen.insert(component, frozen);
    Ok(())
}

pub(super) async fn thaw(stage: &mut Stage<'_>, subject: Subject) -> Result<(), StepError> {
    let Some(component) = Component::of(subject.role) else {
        return stage.subjects.thaw(subject).await;
    };
    drop(stage.frozen.remove(&component));
    Ok(())
}
