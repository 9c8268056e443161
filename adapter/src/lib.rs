//! The reference adapter of dispatch on Kubernetes: Start, Open, Status, Hold, Release, Stop, List
//! and Preflight.
//!
//! [`Adapter`] has a method for each call of the contract. What a call decides is a pure function
//! of what it read. Reading and writing is
//! thin, and every write to an object that exists carries the resourceVersion of the read it was
//! decided from (OP-03).
//!
//! The adapter speaks Kueue mode. `mode: plain` is understood and refused with `not-supported`.

mod adapter;
mod config;

pub use adapter::Adapter;
pub use config::{Config, ConfigError, LeaseRef, Mode, Preflight, Timeouts};
