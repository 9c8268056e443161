//! Executions.

pub(super) mod healed;
pub(super) mod identity;
pub(super) mod overlap;
