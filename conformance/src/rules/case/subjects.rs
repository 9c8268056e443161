//! When the controller's replicas were there, and could do their work.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::history::{Event, FaultChange, History, Role, SubjectChange, SubjectChanged, What};

/// A time in which a replica of the controller served.
#[derive(Clone, Copy, Debug)]
pub(in crate::rules) struct Served {
    /// Since when.
    pub(in crate::rules) from: Timestamp,
    /// Until when, if it ended within the history.
    pub(in crate::rules) until: Option<Timestamp>,
}

/// A time in which no replica of the controller was there, after one was.
#[derive(Clone, Copy, Debug)]
pub(in crate::rules) struct Down {
    /// The store's revision once the last one was gone.
    pub(in crate::rules) from: u64,
    /// The store's revision before the next one was started; the greatest number if none was.
    pub(in crate::rules) until: u64,
    /// The event of the last one's end.
    pub(in crate::rules) seq: u64,
}

/// A process of a replica, from its start to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rules) struct Incarnation {
    /// The replica.
    pub(in crate::rules) replica: u32,
    /// The event of its start; 0 if it was there before the record began.
    pub(in crate::rules) from: u64,
    /// The event of its end; the greatest number if it did not end.
    pub(in crate::rules) until: u64,
}

/// The changes of the controller's replicas.
fn replicas(history: &History) -> impl Iterator<Item = (&Event, &SubjectChanged)> {
    history.events().iter().filter_map(|event| match &event.what {
        What::Subject(subject) if subject.role == Role::Controller => Some((&**event, subject)),
        _ => None,
    })
}

/// When a replica served, and no fault kept any from it.
pub(super) fn served(history: &History) -> Vec<Served> {
    let mut up = BTreeSet::new();
    let mut frozen = BTreeSet::new();
    let mut found: Vec<Served> = Vec::new();
    for (event, subject) in replicas(history) {
        let change = subject.change;
        match change {
            // One that was frozen before it was ready goes on to become so.
            SubjectChange::Thawed if !frozen.remove(&subject.replica) => {}
            SubjectChange::Ready | SubjectChange::Thawed => {
                if up.is_empty() {
                    found.push(Served { from: event.at, until: None });
                }
                up.insert(subject.replica);
            }
            SubjectChange::Started => {}
            SubjectChange::Frozen
            | SubjectChange::Stopped
            | SubjectChange::Killed
            | SubjectChange::Died => {
                frozen.remove(&subject.replica);
                if change == SubjectChange::Frozen && up.contains(&subject.replica) {
                    frozen.insert(subject.replica);
                }
                let was_last = up.remove(&subject.replica) && up.is_empty();
                if let (true, Some(last)) = (was_last, found.last_mut()) {
                    last.until = Some(event.at);
                }
            }
        }
    }
    found.into_iter().flat_map(|served| undisturbed(served, &disturbed(history))).collect()
}

/// When none was there.
pub(super) fn down(history: &History) -> Vec<Down> {
    let mut there = BTreeSet::new();
    let mut found: Vec<Down> = Vec::new();
    for (event, subject) in replicas(history) {
        match subject.change {
            // One that stands still may have sent something that is still on its way.
            SubjectChange::Frozen | SubjectChange::Thawed => {}
            SubjectChange::Started | SubjectChange::Ready => {
                let open = found.last_mut().filter(|down| down.until == u64::MAX);
                if let (true, Some(down)) = (there.is_empty(), open) {
                    down.until = event.order.unwrap_or(down.from);
                }
                there.insert(subject.replica);
            }
            SubjectChange::Stopped | SubjectChange::Killed | SubjectChange::Died => {
                let was_last = there.remove(&subject.replica) && there.is_empty();
                if let (true, Some(from)) = (was_last, event.order) {
                    found.push(Down { from, until: u64::MAX, seq: event.seq });
                }
            }
        }
    }
    found
}

/// Every process of a replica, in the order of their starts.
pub(super) fn incarnations(history: &History) -> Vec<Incarnation> {
    let mut found: Vec<Incarnation> = Vec::new();
    for (event, subject) in replicas(history) {
        let replica = subject.replica;
        let is_open = |it: &&mut Incarnation| it.replica == replica && it.until == u64::MAX;
        let open = found.iter_mut().find(is_open);
        match (subject.change, open) {
            (SubjectChange::Started, _) | (SubjectChange::Ready, None) => {
                found.push(Incarnation { replica, from: event.seq, until: u64::MAX });
            }
            (SubjectChange::Stopped | SubjectChange::Killed | SubjectChange::Died, Some(open)) => {
                open.until = event.seq;
            }
            _ => {}
        }
    }
    found
}

/// Times in which a fault kept a replica from what it wanted, in their order: from the first request
/// that met it to the end of the last one, or until what it held went on.
fn disturbed(history: &History) -> Vec<(Timestamp, Timestamp)> {
    let last = history.events().last().map_or(Timestamp::UNIX_EPOCH, |event| event.at);
    let mut faults: BTreeMap<&str, (Timestamp, Timestamp)> = BTreeMap::new();
    for event in history.events() {
        let What::Fault(fault) = &event.what else { continue };
        let name = fault.fault.as_str();
        match fault.change {
            FaultChange::Met => {
                let exchange = fault.request.and_then(|request| history.request(request));
                let Some(exchange) = exchange else { continue };
                if exchange.request.from.role != Role::Controller {
                    continue;
                }
                let until = exchange.ended.as_ref().map_or(last, |ended| ended.at);
                let span = faults.entry(name).or_insert((event.at, until));
                span.1 = span.1.max(until);
            }
            FaultChange::Released | FaultChange::Removed => {
                if let Some(span) = faults.get_mut(name) {
                    span.1 = span.1.max(event.at);
                }
            }
            FaultChange::Placed => {}
        }
    }
    let mut spans: Vec<_> = faults.into_values().collect();
    spans.sort_unstable();
    spans
}

/// What is left of a time without those in which a fault was in the way.
fn undisturbed(served: Served, disturbed: &[(Timestamp, Timestamp)]) -> Vec<Served> {
    let mut left = Vec::new();
    let mut from = served.from;
    for (since, until) in disturbed {
        if served.until.is_some_and(|end| end <= *since) {
            break;
        }
        if from < *since {
            left.push(Served { from, until: Some(*since) });
        }
        from = from.max(*until);
    }
    if served.until.is_none_or(|until| from < until) {
        left.push(Served { from, until: served.until });
    }
    left
}
