//! Calls.

pub(super) mod deletes;
pub(super) mod ended;
pub(super) mod hold;
pub(super) mod input;
pub(super) mod list;
pub(super) mod release;
pub(super) mod status;
pub(super) mod stop;
pub(super) mod unknown;
