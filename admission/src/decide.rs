//! What to do about one Workload: a pure, total function of what was read.

use std::fmt;

use dispatch_contract::AdmissionCount;
use dispatch_kubernetes::raise::NotTakenOver;

use crate::raise::Raise;
use crate::snapshot::Snapshot;

mod contract;
mod reason;

#[cfg(test)]
mod tests;

pub use contract::Contract;
pub use reason::{Standstill, WaitReason};

/// What to do about a Workload.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// None of its checks names this controller (RG-14).
    NotOurs,
    /// Nothing is to be done now; another event will bring the Workload back.
    Nothing(Standstill),
    /// It is nobody's of dispatch's: Ready, without delay (RG-02).
    PassThrough,
    /// The check stays Pending, with the reason as its message (RG-04, RG-12, RG-16 and others).
    Wait(WaitReason),
    /// A is raised in the `TrainJob` (RG-05, RG-13). Ready follows only after [`Decision::Approve`],
    /// decided from reads that were made after the raise (RG-17).
    Raise(Raise),
    /// A was raised by this pass, and the `JobSet` does not show it yet (RG-17).
    AwaitTakeover(NotTakenOver),
    /// A was raised by this pass and taken over, and nothing of the previous execution is left: the
    /// check is set Ready (RG-05).
    Approve {
        /// A of the execution that follows.
        a: AdmissionCount,
        /// Values that could not be read and were ignored, each with its place (RG-13).
        unreadable: Vec<String>,
    },
    /// An admitted object violates its identity: the check is set to Retry, so that Kueue evicts it
    /// and A is raised again (EX-05).
    Heal {
        /// What is wrong, for people.
        message: String,
    },
    /// The object failed, is sealed, and Kueue has not seen its end: the check is set to Rejected, so
    /// that Kueue deactivates the Workload. Kueue starts what is suspended and admitted, and Trainer
    /// forgets a failure with the `JobSet` (CA-07).
    Reject {
        /// How it ended.
        how: String,
    },
    /// Ready without quota and without admission: back to Pending, so that nothing stays banked
    /// (RG-18).
    Unbank,
    /// The object ended: it is suspended and marked in one update, so that it never runs again
    /// (CA-07).
    MarkEnded {
        /// How it ended: `Complete` or `Failed`.
        how: String,
    },
}

impl Decision {
    /// The kind of the decision, in one word, for logs and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NotOurs => "not-ours",
            Self::Nothing(_) => "nothing",
            Self::PassThrough => "pass-through",
            Self::Wait(_) => "wait",
            Self::Raise(_) => "raise",
            Self::AwaitTakeover(_) => "await-takeover",
            Self::Approve { .. } => "approve",
            Self::Heal { .. } => "heal",
            Self::Reject { .. } => "reject",
            Self::Unbank => "unbank",
            Self::MarkEnded { .. } => "mark-ended",
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOurs => f.write_str("no check of this controller"),
            Self::Nothing(why) => write!(f, "nothing to do: {why}"),
            Self::PassThrough => f.write_str("Ready: not an object of dispatch's"),
            Self::Wait(reason) => write!(f, "Pending: {reason}"),
            Self::Raise(raise) if raise.unreadable.is_empty() => write!(f, "A={}", raise.to),
            Self::Raise(raise) => {
                let ignored = raise.unreadable.join(", ");
                write!(f, "A={}; ignored, since it cannot be read: {ignored}", raise.to)
            }
            Self::AwaitTakeover(why) => write!(f, "not Ready yet: {why}"),
            Self::Approve { a, .. } => write!(f, "Ready: A={a}"),
            Self::Heal { message } => write!(f, "Retry: {message}"),
            Self::Reject { how } => write!(f, "Rejected: ended ({how}); it never runs again"),
            Self::Unbank => f.write_str("Pending: no quota is reserved any more"),
            Self::MarkEnded { how } => write!(f, "ended ({how}): suspended and marked"),
        }
    }
}

/// Decides what to do about a Workload.
pub trait Decide: Send + Sync {
    /// Decides from a snapshot alone; total, and without a clock.
    fn decide(&self, snapshot: &Snapshot) -> Decision;
}
