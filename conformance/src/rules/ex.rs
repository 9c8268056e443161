//! Executions.

mod account;
pub(super) mod bypassed;
pub(super) mod healed;
pub(super) mod identity;
pub(super) mod overlap;
mod violation;
