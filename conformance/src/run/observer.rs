//! What a run says of itself while it lasts.

use std::path::Path;
use std::time::Duration;

/// Something worth telling a person who waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress<'a> {
    /// The scenario's objects and subjects are being brought up.
    Preparing {
        /// What is done, or waited for.
        what: &'a str,
    },
    /// The history is being written.
    Recording {
        /// Where.
        history: &'a Path,
    },
    /// A step began.
    StepBegan {
        /// Its place among the steps, from 0.
        index: usize,
        /// How many steps there are.
        of: usize,
        /// The step, as the scenario has it.
        text: &'a str,
    },
    /// A step waits.
    Waiting {
        /// For what.
        until: &'a str,
        /// For how long at most.
        limit: Duration,
        /// What is the case now.
        now: &'a str,
    },
    /// A step ended as it should.
    StepEnded {
        /// Its place among the steps, from 0.
        index: usize,
    },
    /// A step failed, and with it the scenario.
    StepFailed {
        /// Its place among the steps, from 0.
        index: usize,
        /// What was expected, and what was the case.
        why: &'a str,
    },
    /// Everything that was made is being removed.
    CleaningUp,
}

/// Takes what a run says, in order. It must not block for long: the run waits for it.
pub trait Observer: Send {
    /// Called once for each thing that is said.
    fn progress(&mut self, progress: &Progress<'_>);
}

/// Says nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn progress(&mut self, _: &Progress<'_>) {}
}
