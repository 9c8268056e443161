//! Where a scenario runs.
//!
//! `local` is a real control plane of its own, as processes on this machine. Every cluster
//! reports what it is doing through [`Progress`] and what went wrong through [`ClusterError`].

pub mod error;
pub mod local;
pub mod progress;

pub use error::ClusterError;
pub use progress::{Event, Progress};
