//! The engine: plays a scenario on a cluster and writes its history.
//!
//! The way of a run: the scenario's own namespace, queues and nodes are made; the recorder watches;
//! the subjects are started; the steps are played, each waiting on what the recorder sees; and in
//! the end, however it comes, everything that was made is removed. Nothing is judged here: the
//! history is all that is handed on.

mod error;
mod host;
mod interrupt;
mod names;
mod observer;

use std::path::PathBuf;

pub use error::RunError;
pub use host::{Host, HostError};
pub use interrupt::{Interruption, Interrupts};
pub use names::Names;
pub use observer::{Observer, Progress, Silent};

use crate::history::EndedBy;
use crate::scenario::Scenario;

/// How a scenario is played.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The id of the run: lower-case letters and digits, at most 26. Names of objects end in it.
    pub run: String,
    /// The number of the scenario in the run. Names of objects end in it too.
    pub number: u32,
    /// The folder of the run's results; the scenario gets one of its own in it.
    pub results: PathBuf,
    /// By how much deadlines are stretched for a slow cluster; 1 for none.
    pub time_scale: u32,
    /// What is judged.
    pub subjects: Subjects,
}

/// What is judged: the reference adapter and controller, unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subjects {
    /// The broken controller that stands in for the reference, by its name.
    pub mutant: Option<String>,
}

/// A scenario that was played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// Its folder: the history, and the logs of the subjects.
    pub folder: PathBuf,
    /// The history.
    pub history: PathBuf,
    /// How it ended.
    pub ended: EndedBy,
    /// What could not be removed, and why, one a line; empty when nothing is left.
    pub left_behind: Vec<String>,
}

/// Plays a scenario.
///
/// A step that fails is no error: the history has it, and the judges say what it means. When this
/// returns, or its future is dropped, subjects have ended; objects are removed when it returns.
///
/// # Errors
/// What keeps a scenario from being played: [`RunError`].
pub async fn play(
    scenario: &Scenario,
    host: &dyn Host,
    settings: &Settings,
    interrupts: Interrupts,
    observer: &mut dyn Observer,
) -> Result<Played, RunError> {
    let _ = (scenario, host, settings, interrupts, observer);
    std::future::ready(Err(RunError::NotYet)).await
}
