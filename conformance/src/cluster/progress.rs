//! What a cluster says while it comes up: what is being done, and what is being waited for.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One thing worth telling a person who waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// Somebody else builds into the same cache.
    CacheLocked {
        /// The lock file.
        path: PathBuf,
        /// The process that holds it, where it has said so.
        holder: Option<u32>,
        /// How long it has been waited for, in milliseconds.
        waited_ms: u64,
    },
    /// A binary that the cache lacks is being built.
    Building {
        /// Its name.
        binary: String,
        /// Which one of those to build it is, from 1.
        nth: usize,
        /// How many are to be built.
        of: usize,
    },
    /// It is built and in the cache.
    Built {
        /// Its name.
        binary: String,
        /// How long that took, in milliseconds.
        elapsed_ms: u64,
    },
    /// A phase of the start has begun.
    Waiting {
        /// The component or step.
        phase: String,
        /// What has to be seen before it counts as done.
        until: String,
    },
    /// A phase is done.
    Done {
        /// The component or step.
        phase: String,
        /// What was seen.
        because: String,
        /// From the start of the phase, in milliseconds.
        elapsed_ms: u64,
    },
    /// The cluster is being started by somebody else, and is waited for.
    StartedElsewhere {
        /// The cluster's name.
        name: String,
        /// The process that starts it.
        supervisor: u32,
    },
}

/// Takes the events of a cluster, in order.
pub trait Progress: Send + Sync {
    /// Called once for each event. It must not block for long: the start waits for it.
    fn event(&self, event: &Event);
}

/// Says nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn event(&self, _: &Event) {}
}
