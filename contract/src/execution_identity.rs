//! R, the execution identity that a pod reports.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::AdmissionCount;

/// R, the identity of an execution as a pod reports it: the admission count A, then the restart
/// attempt of the `JobSet`. A weighs more, so that an execution after a preemption is above every
/// restart within the one before it.
///
/// R names an execution, not a pod: within one execution several pods carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecutionIdentity {
    /// A of the execution.
    pub admission: AdmissionCount,
    /// How often the `JobSet` was restarted within it.
    pub restarts: u32,
}

impl ExecutionIdentity {
    /// The number of restarts at which [`ExecutionIdentity::as_integer`] has no more room.
    pub const RESTARTS_END: u32 = 1 << 20;

    /// R as one integer, A·2^20 + restarts. `None` when there are
    /// [`ExecutionIdentity::RESTARTS_END`] restarts or more, which would reach into the next A.
    pub fn as_integer(self) -> Option<u64> {
        (self.restarts < Self::RESTARTS_END)
            .then(|| (self.admission.get() << 20) + u64::from(self.restarts))
    }
}

impl fmt::Display for ExecutionIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.admission, self.restarts)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn identity(admission: u64, restarts: u32) -> ExecutionIdentity {
        ExecutionIdentity { admission: AdmissionCount::new(admission).unwrap(), restarts }
    }

    #[test]
    fn a_raise_weighs_more_than_any_restart() {
        assert!(identity(2, 0) > identity(1, ExecutionIdentity::RESTARTS_END - 1));
        assert_eq!(identity(1, ExecutionIdentity::RESTARTS_END).as_integer(), None);
    }

    proptest! {
        #[test]
        fn the_integer_keeps_the_order(
            a in 0..=1u64 << 42, b in 0..=1u64 << 42, r in 0..1u32 << 20, s in 0..1u32 << 20,
        ) {
            let (one, other) = (identity(a, r), identity(b, s));
            prop_assert_eq!(one.cmp(&other), one.as_integer().cmp(&other.as_integer()));
            prop_assert!(one.as_integer().is_some());
        }
    }
}
