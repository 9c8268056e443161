//! A cluster that others run too: reached by a kubeconfig and a context, and used only where an object
//! that says so was put by hand.
//!
//! [`reach`] makes the client, [`look`] sees what is there, [`judge`] says whether a run could start;
//! [`Fit::begin`] takes the run's Lease, which tells others that what is named after the run is in
//! use. Nothing is installed, restarted or configured here.

mod access;
mod finding;
mod judge;
mod lease;
mod look;
mod manager;
pub mod marker;
mod question;
mod queue;
mod rights;
mod running;
#[cfg(test)]
pub(crate) mod told;

pub use access::{Access, Options, reach};
pub use finding::{Finding, Severity};
pub use judge::judge;
pub use lease::{RunLease, over};
pub use look::{Found, Kind, KindState, look};
pub use manager::Manager;
pub use queue::Queue;
pub use rights::{Right, all as rights, role};
pub use running::{Fit, Running, pinned};
