//! Calls.

pub(super) mod ended;
pub(super) mod hold;
pub(super) mod release;
pub(super) mod status;
pub(super) mod stop;
