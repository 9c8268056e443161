//! How long a Workload waits for its next pass where no event can be counted on: after one that failed,
//! or that found what goes by itself.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::snapshot::WorkloadKey;

/// After the first such pass; it doubles with each one after it.
const FIRST: Duration = Duration::from_millis(250);

/// How often it doubles: up to 8 s, so that Ready is within 10 s of the last reason going away
/// (RG-15).
const DOUBLED_AT_MOST: u32 = 5;

/// Such passes in a row, by Workload. Not state that a decision depends on: a controller that starts
/// anew without it only tries sooner.
#[derive(Debug, Default)]
pub(crate) struct Retries {
    passes: Mutex<BTreeMap<WorkloadKey, u32>>,
}

impl Retries {
    /// How long to wait after one more.
    pub(crate) fn next(&self, workload: &WorkloadKey) -> Duration {
        let mut passes = self.lock();
        let before = passes.entry(workload.clone()).or_default();
        let wait = FIRST * 2_u32.pow((*before).min(DOUBLED_AT_MOST));
        *before = before.saturating_add(1);
        wait
    }

    /// A pass led to something, or to a wait that an event ends.
    pub(crate) fn forget(&self, workload: &WorkloadKey) {
        self.lock().remove(workload);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<WorkloadKey, u32>> {
        self.passes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_eight_seconds_and_begin_anew_after_a_success() {
        let key = |name: &str| WorkloadKey { namespace: "n".into(), name: name.into() };
        let retries = Retries::default();
        let waits: Vec<_> = (0..8).map(|_| retries.next(&key("a")).as_millis()).collect();
        assert_eq!(waits, [250, 500, 1000, 2000, 4000, 8000, 8000, 8000]);
        assert_eq!(retries.next(&key("b")), FIRST);
        retries.forget(&key("a"));
        assert_eq!(retries.next(&key("a")), FIRST);
    }
}
