//! `kueue`: Kueue is restarted with other feature gates.

use std::collections::BTreeMap;

use crate::run::error::{RunError, StepError};
use crate::run::stage::Stage;

pub(super) async fn run(
    stage: &mut Stage<'_>,
    gates: &BTreeMap<String, bool>,
) -> Result<(), StepError> {
    let set = stage.host.set_feature_gates(gates).await;
    set.map_err(|error| RunError::FeatureGates(error).into())
}
