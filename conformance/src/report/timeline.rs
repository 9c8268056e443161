//! The part of a history that shows what went wrong.

use std::collections::BTreeSet;
use std::time::Duration;

use super::describe::describe;
use crate::history::{Event, History, What};

/// The most events that are shown as the proof of one failure.
const CITED: usize = 8;

/// One line of a timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The number of the event.
    pub event: u64,
    /// Since the run began.
    pub after: Duration,
    /// What happened.
    pub text: String,
    /// Whether it is one of the events that prove the failure; others say where in the scenario
    /// that was.
    pub proves: bool,
}

/// The events that prove a failure, each after the step that was being played.
pub(super) fn timeline(history: &History, proof: &[u64]) -> Vec<Entry> {
    let proof: BTreeSet<u64> = proof.iter().copied().take(CITED).collect();
    let mut shown = proof.clone();
    for cited in &proof {
        let earlier = history.events().iter().rev().skip_while(|event| event.seq > *cited);
        let mut steps = earlier.filter(|event| matches!(event.what, What::StepBegan(_)));
        shown.extend(steps.next().map(|event| event.seq));
    }
    let events = history.events().iter().filter(|event| shown.contains(&event.seq));
    let mut events: Vec<&Event> = events.map(AsRef::as_ref).collect();
    // Watches of several kinds deliver in any order; the store's is the one that counts.
    events.sort_by_key(|event| (event.order.unwrap_or_default(), event.seq));
    events
        .into_iter()
        .map(|event| Entry {
            event: event.seq,
            after: Duration::from_nanos(event.elapsed_ns),
            text: describe(history, event),
            proves: proof.contains(&event.seq),
        })
        .collect()
}
