//! The readmission gate.

pub(super) mod banked;
pub(super) mod crash;
pub(super) mod down;
pub(super) mod foreign;
pub(super) mod in_time;
pub(super) mod leaders;
pub(super) mod marks;
pub(super) mod next;
pub(super) mod own_entry;
pub(super) mod owner;
pub(super) mod raise;
pub(super) mod remainder;
pub(super) mod served;
pub(super) mod stale;
pub(super) mod state;
pub(super) mod taken_over;
