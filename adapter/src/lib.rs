//! The reference adapter of dispatch on Kubernetes: Start, Open, Status, Hold, Release, Stop, List
//! and Preflight.
//!
//! [`Adapter`] has a method for each call of the contract. What a call decides is a pure function
//! of what it read, and [`Decisions`] names each of these. Reading and writing is thin, and every
//! write to an object that exists carries the resourceVersion of the read it was decided from
//! (OP-03).
//!
//! The adapter speaks Kueue mode. `mode: plain` is understood and refused with `not-supported`.
//! [`cli`] is its command line, [`serve`] the driver protocol, for supervisors.

mod adapter;
pub mod cli;
mod connect;
mod decisions;
mod error;
mod hold;
mod lease;
mod list;
pub mod manifests;
mod open;
mod preflight;
mod priority;
mod release;
pub mod serve;
mod start;
mod status;
mod stop;
mod watch;
mod workload;
mod write;
mod yaml;

pub use adapter::Adapter;
pub use connect::connect;
pub use decisions::{ByContract, Decisions};
pub use dispatch_contract::driver::{Config, InvalidConfig, LeaseRef, Mode, Preflight, Timeouts};
pub use hold::decide as decide_hold;
pub use lease::Heartbeat;
pub use list::is_listed;
pub use open::decide as decide_open;
pub use preflight::{
    Findings, PROBE_WINDOW, ProbeVerdict, Proofs, Sighting, conclude, judge_probe, observe_only,
};
pub use release::{Lifted, Resumption, decide as decide_release, resume as decide_resume};
pub use start::{
    Difference, Input, Runtime, WorkloadVerdict, check_input, differences, judge_workload,
    leftovers, object, same_input,
};
pub use status::{Observed, state, violations};
pub use stop::{Left, deletion, left};
pub use write::Step;
