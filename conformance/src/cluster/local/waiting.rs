//! Waits that know what they wait for, and say it when it does not come.

use super::cache::millis;
use super::state::Timing;
use crate::cluster::{ClusterError, Event, Progress};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};

/// How often a server that cannot be watched is asked.
const TURN: Duration = Duration::from_millis(50);

/// The waits of one start: one deadline for all of them.
pub(in crate::cluster) struct Waits<'a> {
    progress: &'a dyn Progress,
    logs: PathBuf,
    within: Duration,
    deadline: Instant,
    timings: Mutex<Vec<Timing>>,
}

impl<'a> Waits<'a> {
    /// Waits that are over `within` from now.
    pub(in crate::cluster) fn new(
        progress: &'a dyn Progress,
        logs: PathBuf,
        within: Duration,
    ) -> Self {
        let deadline = Instant::now() + within;
        Self { progress, logs, within, deadline, timings: Mutex::default() }
    }

    /// Asks again and again, until the answer is Ok. `seen` says what that proves.
    pub(in crate::cluster) async fn until<T>(
        &self,
        phase: &str,
        seen: &str,
        mut ask: impl AsyncFnMut() -> Result<T, String>,
    ) -> Result<T, ClusterError> {
        let mut last = "nothing".to_owned();
        let asked = async {
            let mut turn = interval(TURN);
            turn.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                turn.tick().await;
                match ask().await {
                    Ok(answer) => return Ok(answer),
                    Err(answer) => last = answer,
                }
            }
        };
        let begun = self.begin(phase, seen);
        let answer = timeout_at(self.deadline, asked).await;
        match answer {
            Ok(answer) => {
                self.done(phase, seen, begun);
                answer
            }
            Err(_) => Err(self.not_ready(phase, seen, last)),
        }
    }

    /// Does a step that either comes about or fails.
    pub(in crate::cluster) async fn step<T>(
        &self,
        phase: &str,
        seen: &str,
        work: impl Future<Output = Result<T, ClusterError>>,
    ) -> Result<T, ClusterError> {
        let begun = self.begin(phase, seen);
        match timeout_at(self.deadline, work).await {
            Ok(done) => {
                let done = done?;
                self.done(phase, seen, begun);
                Ok(done)
            }
            Err(_) => Err(self.not_ready(phase, seen, "it is still under way".to_owned())),
        }
    }

    /// How long each phase took.
    pub(in crate::cluster) fn timings(&self) -> Vec<Timing> {
        self.timings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn begin(&self, phase: &str, seen: &str) -> Instant {
        let (phase, until) = (phase.to_owned(), seen.to_owned());
        self.progress.event(&Event::Waiting { phase, until });
        Instant::now()
    }

    fn done(&self, phase: &str, seen: &str, begun: Instant) {
        let (phase, because) = (phase.to_owned(), seen.to_owned());
        let elapsed_ms = millis(begun.elapsed());
        let timing = Timing { phase: phase.clone(), elapsed_ms };
        self.timings.lock().unwrap_or_else(PoisonError::into_inner).push(timing);
        self.progress.event(&Event::Done { phase, because, elapsed_ms });
    }

    fn not_ready(&self, phase: &str, seen: &str, last: String) -> ClusterError {
        ClusterError::NotReady {
            component: phase.to_owned(),
            until: seen.to_owned(),
            last,
            after_s: self.within.as_secs(),
            logs: self.logs.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::progress::Silent;

    #[tokio::test]
    async fn what_does_not_come_is_named_with_what_was_seen_last() {
        let waits = Waits::new(&Silent, "/logs".into(), Duration::from_millis(120));
        let never = waits
            .until("kueue", "its webhook answers", async || Err::<(), _>("refused".into()))
            .await;
        let expected = ClusterError::NotReady {
            component: "kueue".into(),
            until: "its webhook answers".into(),
            last: "refused".into(),
            after_s: 0,
            logs: "/logs".into(),
        };
        assert_eq!(never, Err(expected));
        assert_eq!(waits.timings(), []);
    }

    #[tokio::test]
    async fn what_comes_is_timed() {
        let waits = Waits::new(&Silent, "/logs".into(), Duration::from_secs(2));
        let mut left = 3;
        let came = waits.until("etcd", "it is there", async || {
            left -= 1;
            if left == 0 { Ok(7) } else { Err("not yet".to_owned()) }
        });
        assert_eq!(came.await, Ok(7));
        let timings = waits.timings();
        assert!(
            matches!(&timings[..], [Timing { phase, elapsed_ms }] if phase == "etcd" && *elapsed_ms >= 90),
            "{timings:?}"
        );
    }
}
