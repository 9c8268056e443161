//! The start gate.

pub(super) mod before_open;
pub(super) mod closed;
mod compare;
pub(super) mod read_back;
pub(super) mod refused;
pub(super) mod rehearsed;
pub(super) mod repeated;
pub(super) mod runtime;
pub(super) mod workload;
