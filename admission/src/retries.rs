//! How long a Workload waits after a pass that failed.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::snapshot::WorkloadKey;

/// After the first failure; it doubles with each one after it.
const FIRST: Duration = Duration::from_millis(250);

/// How often it doubles: up to 8 s, so that Ready is within 10 s of the last reason going away
/// (RG-15).
const DOUBLED_AT_MOST: u32 = 5;

/// Failures in a row, by Workload. Not state that a decision depends on: a controller that starts
/// anew without it only tries sooner.
#[derive(Debug, Default)]
pub(crate) struct Retries {
    failures: Mutex<BTreeMap<WorkloadKey, u32>>,
}

impl Retries {
    /// How long to wait after one more failure.
    pub(crate) fn after_failure(&self, workload: &WorkloadKey) -> Duration {
        let mut failures = self.lock();
        let before = failures.entry(workload.clone()).or_default();
        let wait = FIRST * 2_u32.pow((*before).min(DOUBLED_AT_MOST));
        *before = before.saturating_add(1);
        wait
    }

    /// A pass went through.
    pub(crate) fn forget(&self, workload: &WorkloadKey) {
        self.lock().remove(workload);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<WorkloadKey, u32>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_eight_seconds_and_begin_anew_after_a_success() {
        let key = |name: &str| WorkloadKey { namespace: "n".into(), name: name.into() };
        let retries = Retries::default();
        let waits: Vec<_> = (0..8).map(|_| retries.after_failure(&key("a")).as_millis()).collect();
        assert_eq!(waits, [250, 500, 1000, 2000, 4000, 8000, 8000, 8000]);
        assert_eq!(retries.after_failure(&key("b")), FIRST);
        retries.forget(&key("a"));
        assert_eq!(retries.after_failure(&key("a")), FIRST);
    }
}
