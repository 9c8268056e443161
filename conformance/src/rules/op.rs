//! Open.

pub(super) mod gate;
