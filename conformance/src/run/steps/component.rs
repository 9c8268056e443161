//! `freeze` and `thaw`: a component of the cluster stands still, and goes on.

use crate::run::error::{RunError, StepError};
use crate::run::stage::Stage;
use crate::scenario::Component;

pub(super) async fn freeze(stage: &mut Stage<'_>, component: Component) -> Result<(), StepError> {
    let frozen = stage.host.freeze(component).await;
    let frozen = frozen.map_err(|source| RunError::Freeze { component, source })?;
    stage.frozen.insert(component, frozen);
    Ok(())
}

pub(super) fn thaw(stage: &mut Stage<'_>, component: Component) {
    drop(stage.frozen.remove(&component));
}
