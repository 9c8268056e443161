//! What a run says while it lasts.

use std::time::Duration;

use super::console::seconds;
use super::plain;
use crate::run::Progress;

/// How far a run has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// How many play.
    pub playing: usize,
    /// How many wait.
    pub waiting: usize,
    /// The one that has played longest.
    pub longest: Option<Longest>,
}

/// The one that has played longest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Longest {
    /// Its name.
    pub name: String,
    /// For how long it has played.
    pub since: Duration,
    /// What it said last, such as what it waits for.
    pub said: String,
}

/// How many passed, and how many did not.
pub fn passed(passed: usize, not_passed: usize) -> String {
    match not_passed {
        0 => format!("{passed} passed"),
        _ => format!("{passed} passed, {not_passed} did not"),
    }
}

/// How far a run has come, on one line; `done` says what became of those that ended.
pub fn status(done: &str, status: &Status) -> String {
    let Status { playing, waiting, longest } = status;
    let now = match longest {
        Some(Longest { name, since, said }) => {
            let said = if said.is_empty() { String::new() } else { format!(": {said}") };
            format!("; {} s {name}{said}", since.as_secs())
        }
        None => String::new(),
    };
    format!("{done}, {playing} play, {waiting} wait{now}")
}

/// What one scenario says while it is played, on one line; `None` for what is not worth one.
pub fn progress(progress: &Progress<'_>) -> Option<String> {
    Some(match progress {
        Progress::Preparing { what } => format!("preparing: {}", plain(what)),
        Progress::StepBegan { index, of, text } => {
            format!("step {}/{of}: {}", index + 1, plain(text))
        }
        Progress::Waiting { until, limit, now } => format!(
            "waiting at most {} until {}; now: {}",
            seconds(*limit),
            plain(until),
            plain(now)
        ),
        Progress::StepFailed { index, why } => format!("step {} failed: {}", index + 1, plain(why)),
        Progress::CleaningUp => "cleaning up".to_owned(),
        Progress::Recording { .. } | Progress::StepEnded { .. } => return None,
    })
}
