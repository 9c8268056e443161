//! How a call fails.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The kind of a failed call. All are definite, [`ErrorKind::Unknown`] excepted: the call did not
/// do what it was asked, and never will by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// The input is wrong; the message names the field (CA-06).
    Invalid,
    /// The object ended without being opened (OP-08), or it ended and cannot be released (CA-07).
    Rejected,
    /// What was created is not what was asked for, or may not be created so (SG-03, SG-05 to SG-09).
    Refused,
    /// The gate is not proved: only calls that start nothing are answered (PF-02, PF-04).
    ObserveOnly,
    /// There is no object of this name and UID.
    NotFound,
    /// A right is missing; the message names verb and resource (RT-02).
    Forbidden,
    /// The adapter has no such call or mode.
    NotSupported,
    /// The cluster cannot be reached, or answers that it cannot serve the request now; nothing was
    /// done.
    Unavailable,
    /// A time limit of the contract's own has passed: no Workload (SG-05), pods left (CA-02, CA-03).
    Deadline,
    /// A write may have been applied or not; repeating the call after a fresh read is safe (CA-05).
    Unknown,
}

impl ErrorKind {
    /// Every kind, in the order of the documentation.
    pub const ALL: [Self; 10] = [
        Self::Invalid,
        Self::Rejected,
        Self::Refused,
        Self::ObserveOnly,
        Self::NotFound,
        Self::Forbidden,
        Self::NotSupported,
        Self::Unavailable,
        Self::Deadline,
        Self::Unknown,
    ];

    /// The kind as messages and scenarios spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Rejected => "rejected",
            Self::Refused => "refused",
            Self::ObserveOnly => "observe-only",
            Self::NotFound => "not-found",
            Self::Forbidden => "forbidden",
            Self::NotSupported => "not-supported",
            Self::Unavailable => "unavailable",
            Self::Deadline => "deadline",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A failed call, as every adapter answers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(deny_unknown_fields)]
#[error("{kind}: {message}")]
pub struct CallError {
    /// Which kind of failure it is.
    pub kind: ErrorKind,
    /// What happened, on which object, what was expected, what to do.
    pub message: String,
    /// The rules of the contract that ask for this answer, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_spelt_alike_in_messages_and_in_text() {
        for kind in ErrorKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
    }
}
