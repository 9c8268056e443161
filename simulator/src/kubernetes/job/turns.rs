//! When a Job is looked at: at once after its spec has changed; a second later after its pods or its
//! status have; and later each time after requests were refused (Kubernetes
//! `pkg/controller/job/job_controller.go`, `SyncJobBatchPeriod`, `DefaultJobApiBackOff`).

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use crate::component::Key;

/// How long changes of pods are gathered.
const BATCH: Duration = Duration::from_secs(1);

/// The pause after a refusal; it doubles with each further one, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// When each Job is looked at.
#[derive(Default)]
pub(super) struct Turns(BTreeMap<Key, Turn>);

#[derive(Default)]
struct Turn {
    at_once: bool,
    /// Asked for, and not counted from now yet.
    delay: Option<Duration>,
    due: Option<Timestamp>,
    refusals: u32,
}

impl Turns {
    pub(super) fn at_once(&mut self, key: &Key) {
        self.of(key).at_once = true;
    }

    pub(super) fn batched(&mut self, key: &Key) {
        self.delayed(key, BATCH);
    }

    pub(super) fn refused(&mut self, key: &Key) {
        let refusals = self.of(key).refusals.min(6);
        self.of(key).refusals += 1;
        self.delayed(key, FIRST_PAUSE.saturating_mul(1 << refusals).min(LONGEST_PAUSE));
    }

    pub(super) fn went_well(&mut self, key: &Key) {
        self.of(key).refusals = 0;
    }

    pub(super) fn forget(&mut self, key: &Key) {
        self.0.remove(key);
    }

    /// How long it still has to wait; none if it is its turn.
    pub(super) fn wait(&mut self, key: &Key, now: Timestamp) -> Option<Duration> {
        let turn = self.of(key);
        if std::mem::take(&mut turn.at_once) {
            return None;
        }
        if let Some(delay) = turn.delay.take() {
            let due = now.saturating_add(delay).unwrap_or(now);
            turn.due = Some(turn.due.map_or(due, |it| it.min(due)));
        }
        let left = turn.due.map(|due| due.duration_since(now));
        match left.and_then(|left| Duration::try_from(left).ok()) {
            Some(left) if !left.is_zero() => Some(left),
            _ => {
                turn.due = None;
                None
            }
        }
    }

    fn delayed(&mut self, key: &Key, delay: Duration) {
        let turn = self.of(key);
        turn.delay = Some(turn.delay.map_or(delay, |it| it.min(delay)));
    }

    fn of(&mut self, key: &Key) -> &mut Turn {
        self.0.entry(key.clone()).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at;

    #[test]
    fn changes_of_pods_are_gathered_and_changes_of_the_spec_are_not() {
        let (mut turns, key) = (Turns::default(), Key::new("n", "a"));
        turns.batched(&key);
        assert_eq!(turns.wait(&key, at(0)), Some(BATCH));
        turns.at_once(&key);
        assert_eq!(turns.wait(&key, at(0)), None);
        assert_eq!(turns.wait(&key, at(0)), Some(BATCH));
        assert_eq!(turns.wait(&key, at(1)), None);
        assert_eq!(turns.wait(&key, at(1)), None);
    }

    #[test]
    fn pauses_double() {
        let (mut turns, key) = (Turns::default(), Key::new("n", "a"));
        for seconds in [1, 2, 4] {
            turns.refused(&key);
            assert_eq!(turns.wait(&key, at(0)), Some(Duration::from_secs(seconds)));
            turns.wait(&key, at(9));
        }
    }
}
