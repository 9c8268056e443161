//! A raise: as it is decided, and as a pass remembers what came of it.

use std::collections::BTreeSet;

use dispatch_contract::AdmissionCount;
use dispatch_kubernetes::raise::RaisedFor;

/// The raise of A.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raise {
    /// The next A.
    pub to: AdmissionCount,
    /// The replicated jobs whose pods are to carry it.
    pub jobs: BTreeSet<String>,
    /// What it is for (EX-04).
    pub raised_for: RaisedFor,
    /// Values that could not be read, each with its place (RG-13).
    pub unreadable: Vec<String>,
}

/// A raise that a pass made, and what the object was then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raised {
    /// What was written.
    pub raise: Raise,
    /// The generation of the `TrainJob` in the answer: every later change of its specification
    /// counts it up.
    pub generation: i64,
}
