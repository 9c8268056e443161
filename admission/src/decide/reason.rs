//! Why nothing is done, and why a check stays Pending.

use std::fmt;

use dispatch_contract::names;
use dispatch_kubernetes::quiescence::Remainder;
use dispatch_kubernetes::raise::{NoNext, NotRaised, NotTakenOver};

/// Why nothing is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standstill {
    /// The Workload is being deleted, is finished, or was deactivated (RG-01).
    Over,
    /// An eviction is under way: the state that asks for a decision is one that Kueue passes
    /// through (RG-01).
    Evicting,
    /// No quota is reserved: Ready would be banked (RG-08).
    NoQuota,
    /// It is admitted, with nothing wrong.
    Admitted,
    /// No check of this controller is Pending: it is decided, or Kueue has yet to act on it.
    Decided,
}

impl fmt::Display for Standstill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Over => "the Workload is finished, deactivated or being deleted",
            Self::Evicting => "Kueue is evicting the Workload",
            Self::NoQuota => "no quota is reserved",
            Self::Admitted => "the Workload is admitted",
            Self::Decided => "no check of this controller waits for a decision",
        })
    }
}

/// Why the check stays Pending. The text is its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitReason {
    /// An owner cannot be read (RG-03).
    OwnerUnreadable {
        /// Which, and why.
        why: String,
    },
    /// The `TrainJob` does not own the Workload directly (RG-03).
    Indirect {
        /// The `TrainJob`.
        trainjob: String,
        /// What stands between.
        through: String,
    },
    /// A `TrainJob` names the Workload as prebuilt (RG-02).
    Prebuilt {
        /// The `TrainJob`.
        trainjob: String,
    },
    /// The `TrainJob` is being deleted.
    BeingDeleted,
    /// The start gate is shut (RG-12).
    Gated,
    /// The gate is gone, and the object was never opened (RG-12).
    NotOpened,
    /// The object ended (RG-16).
    Ended {
        /// How.
        how: String,
    },
    /// Dispatch holds the object (RG-16).
    Held,
    /// The runtime is no longer the one that Start resolved (SG-09).
    RuntimeDiffers {
        /// Kind and name.
        runtime: String,
    },
    /// There is no such runtime any more (SG-09).
    RuntimeMissing {
        /// Kind and name.
        runtime: String,
    },
    /// Kueue's entry is not in the runtime patches (RG-05).
    NoKueuePatch,
    /// It was healed as often as it may be (EX-05).
    HealedTooOften {
        /// How often.
        times: i32,
    },
    /// The `JobSet` of this name belongs to another object (RG-17).
    OtherJobSet {
        /// The UID of the owner that it has.
        owner: String,
    },
    /// Something of the previous execution may still run (RG-04).
    Remainder(Remainder),
    /// Another reason, and pods of the previous execution live as well: whatever the reason, the
    /// message names the pods (RG-04).
    Besides {
        /// The other reason.
        reason: Box<WaitReason>,
        /// The pods.
        remainder: Remainder,
    },
    /// There is no next A (RG-13).
    NoNext(NoNext),
    /// The answer to the raise does not carry it (RG-05).
    NotRaised(NotRaised),
    /// Trainer refused the raise.
    RaiseRefused {
        /// Its own words.
        why: String,
    },
    /// The `JobSet` does not carry the raised A (RG-17).
    NotTakenOver {
        /// How it stands.
        why: NotTakenOver,
        /// What Trainer last warned of, where that could be read.
        warning: Option<String>,
    },
    /// After the raise, the count in the `TrainJob` is lower than what was raised, or unreadable.
    CountChanged,
    /// After the raise, somebody changed the specification of the `TrainJob`, and may have let it
    /// run with the raised number.
    TrainJobChanged,
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OwnerUnreadable { why } => write!(f, "not decided: {why}"),
            Self::Indirect { trainjob, through } => write!(
                f,
                "never made Ready: this Workload belongs to {through}, below the TrainJob \
                 {trainjob} of dispatch's; only a Workload that the TrainJob owns is admitted"
            ),
            Self::Prebuilt { trainjob } => write!(
                f,
                "waiting: the TrainJob {trainjob} of dispatch's names this Workload as prebuilt; \
                 remove its label {}",
                names::PREBUILT_WORKLOAD
            ),
            Self::BeingDeleted => f.write_str("waiting: the TrainJob is being deleted"),
            Self::Gated => write!(f, "waiting to be opened: the TrainJob carries {}", names::GATE),
            Self::NotOpened => write!(
                f,
                "waiting to be opened: the gate is gone, and the TrainJob lacks {}",
                names::OPENED
            ),
            Self::Ended { how } => write!(f, "ended ({how}); it never runs again"),
            Self::Held => f.write_str("held by dispatch"),
            Self::RuntimeDiffers { runtime } => write!(
                f,
                "waiting: {runtime} is not what it was when the object was started; restore it"
            ),
            Self::RuntimeMissing { runtime } => {
                write!(f, "waiting: {runtime} is not there any more; restore it")
            }
            Self::NoKueuePatch => write!(
                f,
                "waiting: the TrainJob lacks Kueue's runtime patch ({}), without which Kueue \
                 cannot start it",
                names::KUEUE_RUNTIME_PATCH_MANAGER
            ),
            Self::HealedTooOften { times } => write!(
                f,
                "stopped {times} times in a row, each time because a pod or the start gate was \
                 not as the object says; once the cause is found, delete this Workload, and Kueue \
                 makes it again"
            ),
            Self::OtherJobSet { owner } => write!(
                f,
                "waiting: the JobSet of this name belongs to another owner, of UID {owner}"
            ),
            Self::Remainder(remainder) => {
                write!(f, "waiting for the previous execution: {remainder}")
            }
            Self::Besides { reason, remainder } => {
                write!(f, "{reason}; and the previous execution is not over: {remainder}")
            }
            Self::NoNext(error) => write!(f, "cannot raise A: {error}"),
            Self::NotRaised(error) => write!(f, "A was not raised as written: {error}"),
            Self::RaiseRefused { why } => write!(f, "A cannot be raised yet: {why}"),
            Self::NotTakenOver { why, warning: None } => write!(f, "waiting for Trainer: {why}"),
            Self::NotTakenOver { why, warning: Some(warning) } => {
                write!(f, "waiting for Trainer: {why}; its last warning: {warning}")
            }
            Self::CountChanged => {
                f.write_str("the admission count was changed while it was raised; raising it again")
            }
            Self::TrainJobChanged => f.write_str(
                "somebody changed the TrainJob after A was raised, and may have let it run with \
                 that number; raising it again",
            ),
        }
    }
}
