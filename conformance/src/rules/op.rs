//! Open.

pub(super) mod administrator;
pub(super) mod gate;
pub(super) mod held;
pub(super) mod past;
pub(super) mod trainjob;
pub(super) mod version;
