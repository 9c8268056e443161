//! How long a Job waits before it replaces pods that have failed (Kubernetes
//! `pkg/controller/job/backoff_utils.go`).

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use crate::object::{condition, items, number, text};

/// The pause after the first failure; it doubles with each further one, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_mins(10);

/// The failures since the last success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Backoff {
    failures: u32,
    last: Option<Timestamp>,
}

impl Backoff {
    /// With pods that have ended since (`newBackoffRecord`).
    pub(super) fn with(self, succeeded: &[&Value], failed: &[&Value]) -> Self {
        let last = |pods: &[&Value]| pods.iter().filter_map(|it| finished_at(it)).max();
        let count = |pods: usize| u32::try_from(pods).unwrap_or(u32::MAX);
        if succeeded.is_empty() {
            if failed.is_empty() {
                return self;
            }
            return Self {
                failures: self.failures.saturating_add(count(failed.len())),
                last: last(failed),
            };
        }
        let success = last(succeeded);
        let after: Vec<&Value> =
            failed.iter().copied().filter(|it| finished_at(it) > success).collect();
        Self { failures: count(after.len()), last: last(&after) }
    }

    /// How long to wait from now on.
    pub(super) fn remaining(self, now: Timestamp) -> Option<Duration> {
        let last = self.last.filter(|_| self.failures > 0)?;
        let pause = FIRST_PAUSE.saturating_mul(1 << (self.failures - 1).min(10)).min(LONGEST_PAUSE);
        let passed = Duration::try_from(now.duration_since(last)).unwrap_or_default();
        pause.checked_sub(passed).filter(|it| !it.is_zero())
    }
}

/// When a pod ended: its last container, or else when it was no longer ready, or when it was
/// deleted (`getFinishedTime`).
fn finished_at(pod: &Value) -> Option<Timestamp> {
    let containers = items(pod, "/status/containerStatuses").iter();
    let ended: Option<Vec<Timestamp>> =
        containers.map(|it| text(it, "/state/terminated/finishedAt").parse().ok()).collect();
    let ended = ended.and_then(|all| all.into_iter().max());
    let unready = || {
        let ready = condition(pod, "Ready").filter(|it| it["status"] == "False")?;
        text(ready, "/lastTransitionTime").parse().ok()
    };
    let deleted = || {
        let at: Timestamp = text(pod, "/metadata/deletionTimestamp").parse().ok()?;
        let grace = number(pod, "/metadata/deletionGracePeriodSeconds").unwrap_or_default();
        Timestamp::from_second(at.as_second() - grace).ok()
    };
    let made = || text(pod, "/metadata/creationTimestamp").parse().ok();
    ended.or_else(unready).or_else(deleted).or_else(made)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::object::seconds;
    use crate::testing::at;

    fn pod(second: i64) -> Value {
        json!({"status": {"containerStatuses": [
            {"state": {"terminated": {"finishedAt": seconds(at(second))}}},
        ]}})
    }

    #[test]
    fn each_failure_doubles_the_pause_and_a_success_ends_it() {
        let first = Backoff::default().with(&[], &[&pod(0)]);
        assert_eq!(first.remaining(at(4)), Some(Duration::from_secs(6)));
        let second = first.with(&[], &[&pod(20)]);
        assert_eq!(second.remaining(at(20)), Some(Duration::from_secs(20)));
        assert_eq!(second.with(&[&pod(21)], &[]).remaining(at(21)), None);
        assert_eq!(first.remaining(at(10)), None);
    }
}
