//! The start gate.

pub(super) mod before_open;
pub(super) mod closed;
pub(super) mod refused;
pub(super) mod runtime;
pub(super) mod workload;
