//! Taps: what a scenario sees of a subject's requests, and does to them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::fault::Fault;
use super::log::Log;
use super::port::Taps;
use super::table::{Arrival, FaultId, Met, Orders, Reach, Table};
use crate::bell::Bell;
use crate::history::{Asks, FaultChange, FaultChanged, Request, What};

/// Which requests of a subject a tap is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All: of a subject that belongs to one scenario.
    Everything,
    /// Those within a namespace: of a component that works for many scenarios at once. A watch of
    /// all namespaces is seen as far as its events are of this one.
    Namespace(String),
}

impl Scope {
    /// How much of a request is within it; `None` if nothing is.
    pub(super) fn reach(&self, request: &Request, is_resource: bool) -> Option<Reach> {
        match (self, &request.namespace) {
            (Self::Everything, _) => Some(Reach::Whole),
            (Self::Namespace(own), Some(namespace)) => (own == namespace).then_some(Reach::Whole),
            (Self::Namespace(_), None) => {
                (is_resource && request.verb == "watch").then_some(Reach::Part)
            }
        }
    }
}

/// What a scenario sees of a subject's requests, and does to them.
///
/// When it is dropped its faults are removed, what they hold goes on, and nothing more is logged.
pub struct Tap {
    state: Arc<TapState>,
    taps: Weak<Taps>,
}

impl Tap {
    pub(super) fn new(state: Arc<TapState>, taps: &Arc<Taps>) -> Self {
        Self { state, taps: Arc::downgrade(taps) }
    }

    /// The requests that it is for.
    pub fn scope(&self) -> &Scope {
        &self.state.scope
    }

    /// Places a fault. It is in place when this returns: requests that arrive from now on meet it.
    pub fn place(&self, fault: Fault) -> Placed {
        let name = fault.name.clone();
        let mut table = self.state.table();
        self.state.tell(None, &name, FaultChange::Placed, None);
        let (fault, watches) = table.place(fault);
        for watch in watches {
            self.state.tell(None, &name, FaultChange::Met, Some(watch));
        }
        drop(table);
        self.state.announce();
        Placed { state: Arc::clone(&self.state), fault, name }
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::Release);
        self.state.table().clear();
        if let Some(taps) = self.taps.upgrade() {
            taps.remove(&self.state);
        }
        self.state.announce();
    }
}

/// A fault that is in place. Dropping this changes nothing.
pub struct Placed {
    state: Arc<TapState>,
    fault: FaultId,
    name: String,
}

impl Placed {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it holds goes on, and nothing meets it any more. Nothing happens if it is gone already.
    pub fn release(&self) {
        self.take_away(FaultChange::Released);
    }

    /// Nothing meets it any more, and what it still holds goes on. Nothing happens if it is gone
    /// already.
    pub fn remove(&self) {
        self.take_away(FaultChange::Removed);
    }

    fn take_away(&self, change: FaultChange) {
        let mut table = self.state.table();
        // Told before anything goes on.
        if table.holds(self.fault) {
            self.state.tell(None, &self.name, change, None);
            table.take(self.fault);
        }
        drop(table);
        self.state.announce();
    }
}

/// What a tap is made of.
pub(super) struct TapState {
    pub(super) scope: Scope,
    log: Arc<dyn Log>,
    table: Mutex<Table>,
    /// Rung at everything that may let a request or a watch go on.
    changes: Bell,
    is_over: AtomicBool,
}

impl TapState {
    pub(super) fn new(scope: Scope, log: Arc<dyn Log>, changes: Bell) -> Self {
        Self { scope, log, table: Mutex::default(), changes, is_over: AtomicBool::new(false) }
    }

    /// A number for a request.
    pub(super) fn number(&self) -> u64 {
        self.log.number()
    }

    /// Logs an event, unless the tap is gone.
    pub(super) fn note(&self, order: Option<u64>, what: What) {
        if !self.is_over() {
            self.log.note(order, what);
        }
    }

    /// The store's latest revision.
    pub(super) async fn latest(&self) -> Option<u64> {
        if self.is_over() { None } else { self.log.latest().await }
    }

    /// Logs that a request met a fault.
    pub(super) fn met(&self, order: Option<u64>, met: &Met, request: u64) {
        self.tell(order, &met.name, FaultChange::Met, Some(request));
    }

    fn tell(&self, order: Option<u64>, fault: &str, change: FaultChange, request: Option<u64>) {
        let changed = FaultChanged { fault: fault.to_owned(), change, request };
        self.note(order, What::Fault(changed));
    }

    /// A request arrives; see [`Table::arrive`]. Gives the faults that it meets, when it is not
    /// kept waiting any longer, and whether it was. A watch is to be [`TapState::closed`].
    pub(super) async fn arrive(&self, request: &Request, asks: &Asks) -> (Vec<Met>, bool) {
        let mut changes = self.changes.listen();
        let mut waited = false;
        loop {
            if let Arrival::Goes(met) = self.try_arrive(request, asks) {
                return (met, waited);
            }
            waited = true;
            changes.rung().await;
        }
    }

    fn try_arrive(&self, request: &Request, asks: &Asks) -> Arrival {
        let mut table = self.table();
        let arrival = table.arrive(request, asks);
        if let Arrival::Goes(met) = &arrival
            && request.verb == "watch"
        {
            table.opened(request.clone(), Reach::Whole, met);
        }
        arrival
    }

    /// A request that met a fault was refused; see [`Table::missed`].
    pub(super) fn missed(&self, fault: FaultId, request: &Request, asks: &Asks) {
        self.table().missed(fault, request, asks);
    }

    /// A watch is found open; see [`Table::found`].
    pub(super) fn found(&self, watch: Request, reach: Reach) {
        let number = watch.request;
        let mut table = self.table();
        for met in table.found(watch, reach) {
            self.met(None, &met, number);
        }
    }

    /// A watch is over.
    pub(super) fn closed(&self, watch: u64) {
        self.table().closed(watch);
    }

    /// What a watch has to do.
    pub(super) fn orders(&self, watch: u64) -> Orders {
        self.table().orders(watch)
    }

    /// Whether a fault is in place.
    pub(super) fn holds(&self, fault: FaultId) -> bool {
        self.table().holds(fault)
    }

    /// Returns when a fault is no longer in place.
    pub(super) async fn released(&self, fault: FaultId) {
        let mut changes = self.changes.listen();
        while self.holds(fault) {
            changes.rung().await;
        }
    }

    /// Whether the tap is gone.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    fn announce(&self) {
        self.changes.ring();
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
