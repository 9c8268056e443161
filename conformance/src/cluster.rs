//! Where a scenario runs.
//!
//! `simulated` is embedded in this process, in a time of its own. `local` is a real control plane of
//! its own, as processes on this machine; `kind` is a whole cluster in a container; `existing` is one
//! that others run. Every real cluster
//! reports what it is doing through [`Progress`] and what went wrong through [`ClusterError`].

pub mod error;
pub mod existing;
pub mod kind;
mod lead_through;
pub mod local;
mod managers;
pub mod progress;
pub mod simulated;

pub use error::ClusterError;
pub use lead_through::LeadThrough;
pub use progress::{Event, Progress};
