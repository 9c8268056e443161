//! What goes wrong with a subject, other than by its answers.

use std::path::PathBuf;
use std::time::Duration;

use dispatch_kubernetes::client::ClientError;
use thiserror::Error;

/// A subject could not be driven.
#[derive(Debug, Error)]
pub enum SubjectError {
    /// It has no client.
    #[error("the subject has no client")]
    Client(#[from] ClientError),
    /// A file of it cannot be written.
    #[error("cannot write {}", path.display())]
    File {
        /// Where.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Its process cannot be started, signalled or waited for.
    #[error("cannot {what} controller {replica}")]
    Process {
        /// What was tried.
        what: &'static str,
        /// Which replica.
        replica: u32,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It ended by itself while it should have become ready.
    #[error(
        "controller {replica} ended by itself ({status}) before it was ready; its log {}{}",
        log.display(), tail(lines)
    )]
    Died {
        /// Which replica.
        replica: u32,
        /// How it ended.
        status: std::process::ExitStatus,
        /// Its log.
        log: PathBuf,
        /// The end of the log.
        lines: String,
    },
    /// It did not become ready in time.
    #[error(
        "controller {replica} was not ready within {limit:?}: {why}; its log {}{}",
        log.display(), tail(lines)
    )]
    NotReady {
        /// Which replica.
        replica: u32,
        /// The time limit.
        limit: Duration,
        /// What it said last.
        why: String,
        /// Its log.
        log: PathBuf,
        /// The end of the log.
        lines: String,
    },
    /// It did not stop when asked to, and was killed.
    #[error("controller {replica} did not stop within {limit:?} of SIGTERM and was killed")]
    NotStopped {
        /// Which replica.
        replica: u32,
        /// The time limit.
        limit: Duration,
    },
    /// A step speaks of a replica that there is not, or that is not as the step needs it.
    #[error("controller {replica} {why}")]
    Replica {
        /// Which replica.
        replica: u32,
        /// Why the step cannot be done.
        why: &'static str,
    },
}

fn tail(lines: &str) -> String {
    if lines.is_empty() { " is empty".to_owned() } else { format!(" ends with:\n{lines}") }
}
