//! What goes wrong with a subject, other than by its answers.

use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use super::handle::HandleError;
use crate::history::Subject;
use crate::mutants::NotMade;

/// A subject could not be driven.
#[derive(Debug, Error)]
pub enum SubjectError {
    /// A file of it cannot be written or read.
    #[error("cannot write or read {}", path.display())]
    File {
        /// Where.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// There is no such subject.
    #[error(transparent)]
    NotMade(#[from] NotMade),
    /// Its process cannot be started or waited for.
    #[error("cannot {what} {subject}")]
    Process {
        /// What was tried.
        what: &'static str,
        /// Which subject.
        subject: Subject,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Its process cannot be signalled.
    #[error("cannot {what} {subject}")]
    Signal {
        /// What was tried.
        what: &'static str,
        /// Which subject.
        subject: Subject,
        /// Why.
        #[source]
        source: HandleError,
    },
    /// It ended by itself.
    #[error("{subject} ended by itself ({status}); its log {}{}", log.display(), tail(lines))]
    Died {
        /// Which subject.
        subject: Subject,
        /// How it ended.
        status: std::process::ExitStatus,
        /// Its log.
        log: PathBuf,
        /// The end of the log.
        lines: String,
    },
    /// It did not become ready in time, or says that it cannot.
    #[error("{subject} was not ready within {limit:?}: {why}; its log {}{}", log.display(), tail(lines))]
    NotReady {
        /// Which subject.
        subject: Subject,
        /// The time limit.
        limit: Duration,
        /// What it said last.
        why: String,
        /// Its log.
        log: PathBuf,
        /// The end of the log.
        lines: String,
    },
    /// The adapter cannot be used.
    #[error("{subject} cannot be used: {why}; its log {}{}", log.display(), tail(lines))]
    Unfit {
        /// Which subject.
        subject: Subject,
        /// Why.
        why: String,
        /// Its log.
        log: PathBuf,
        /// The end of the log.
        lines: String,
    },
    /// It did not stop when asked to, and was killed.
    #[error("{subject} did not stop within {limit:?} and was killed")]
    NotStopped {
        /// Which subject.
        subject: Subject,
        /// The time limit.
        limit: Duration,
    },
    /// It did not stand still when it was frozen.
    #[error("{subject} did not stand still within {limit:?} of SIGSTOP")]
    NotFrozen {
        /// Which subject.
        subject: Subject,
        /// The time limit.
        limit: Duration,
    },
}

fn tail(lines: &str) -> String {
    if lines.is_empty() { " is empty".to_owned() } else { format!(" ends with:\n{lines}") }
}
