//! Whether the suite itself stood still: stopped, or without a processor for a while.
//!
//! The requests of all subjects pass it, so then nobody had an API server. That is no fault of theirs:
//! what follows is written down as a gap, so that nothing is judged by it.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, interval};

use crate::history::recorder::Journal;
use crate::history::{Gap, What};

/// How often it looks.
const PACE: Duration = Duration::from_millis(500);

/// What a subject has to bear: half of what a request, or the controller's next step, may take (RG-15).
const BEARABLE: Duration = Duration::from_secs(5);

/// Writes a gap whenever the suite stood still; until it is dropped.
pub(super) struct Watchman {
    _task: JoinSet<()>,
}

impl Watchman {
    pub(super) fn start(journal: Arc<Journal>) -> Self {
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut pace = interval(PACE);
            let mut last = Instant::now();
            loop {
                pace.tick().await;
                let since = std::mem::replace(&mut last, Instant::now()).elapsed();
                if let Some(why) = stood_still(since) {
                    journal.note(None, What::Gap(Gap { kind: None, why }));
                }
            }
        });
        Self { _task: task }
    }
}

/// What is to be said of a look that came so long after the last one.
fn stood_still(since: Duration) -> Option<String> {
    let late = since.saturating_sub(PACE);
    let seconds = late.as_secs();
    (late > BEARABLE).then(|| {
        format!("the suite itself stood still for {seconds} s, and with it all that the subjects asked for")
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::on_time(Duration::from_millis(510), None)]
    #[case::bearable(Duration::from_millis(5_500), None)]
    #[case::not_bearable(Duration::from_secs(17), Some("stood still for 16 s"))]
    fn a_look_that_comes_too_late_is_told(#[case] since: Duration, #[case] told: Option<&str>) {
        let said = stood_still(since);
        assert_eq!(said.is_some(), told.is_some(), "{said:?}");
        assert!(said.unwrap_or_default().contains(told.unwrap_or_default()));
    }
}
