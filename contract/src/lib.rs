//! The contract of dispatch on Kubernetes, as types: its names, its rules, the identity of an
//! execution, the gate list, the custom resources as far as they are read, the calls of an adapter,
//! what they answer, and the protocol by which they are made.
//!
//! Nothing here does I/O. An adapter or a controller written in Rust needs only this crate to speak
//! the contract's language; the reference adapter, the reference controller and the conformance
//! suite are all built on it.

mod admission_count;
mod calls;
mod clock;
pub mod driver;
pub mod duration_text;
mod entropy;
mod error_kind;
mod execution_identity;
mod gate_list;
pub mod names;
mod object_name;
pub mod quantity;
pub mod resources;
pub mod rules;

pub use admission_count::{AdmissionCount, UnreadableCount};
pub use calls::{
    ListEntry, ListRequest, ObjectRef, OpenRequest, PodOfObject, PreflightAnswer, ReadmissionGate,
    ReleaseAnswer, RuntimeRef, StartAnswer, StartRequest, State, StatusAnswer, StopAnswer,
    Violation,
};
pub use clock::{Clock, SystemClock};
pub use entropy::{Entropy, OsEntropy};
pub use error_kind::{CallError, ErrorKind};
pub use execution_identity::ExecutionIdentity;
pub use gate_list::{GateList, Removal};
pub use object_name::{InvalidObjectName, ObjectName};
