//! What is judged, and how the suite drives it.
//!
//! The adapter is driven by its calls, behind one trait. The controller is a process of its own,
//! which finds its API server in its configuration and is otherwise a black box: it can be stopped
//! and killed, and it ends with the suite, however the suite ends.

pub mod adapter;
mod built_in;
mod controller;
mod endpoints;
mod error;

pub use adapter::{Adapter, Call};
pub use built_in::{AdapterSetup, BuiltIn};
pub use controller::{Controller, ControllerSetup};
pub use error::SubjectError;
