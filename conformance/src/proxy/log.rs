//! Where the proxy writes what it sees, and how it reaches the process of a subject.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::FutureExt;
use futures::future::BoxFuture;

use crate::history::What;
use crate::history::recorder::{Journal, Revisions};

/// The log of one history.
pub trait Log: Send + Sync {
    /// A number for a request that no other request of this history has.
    fn number(&self) -> u64;

    /// Takes an event.
    fn note(&self, order: Option<u64>, what: What);

    /// The store's latest revision; `None` where it cannot be had. Asked only for requests that a
    /// fault concerns.
    fn latest(&self) -> BoxFuture<'_, Option<u64>>;
}

/// A log that is written to a journal. All taps of a history share one.
pub struct JournalLog {
    journal: Arc<Journal>,
    revisions: Revisions,
    requests: AtomicU64,
}

impl JournalLog {
    /// The log of a journal. There must be only one, since it numbers the requests. `revisions`
    /// must have a client that does not lead through the proxy.
    pub fn new(journal: Arc<Journal>, revisions: Revisions) -> Self {
        Self { journal, revisions, requests: AtomicU64::new(0) }
    }
}

impl Log for JournalLog {
    fn number(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed)
    }

    fn note(&self, order: Option<u64>, what: What) {
        self.journal.note(order, what);
    }

    fn latest(&self) -> BoxFuture<'_, Option<u64>> {
        self.revisions.latest().boxed()
    }
}

/// The process of a subject, as far as faults reach for it. Both return when the signal has reached
/// it, and do nothing if the process is gone.
pub trait Signals: Send + Sync {
    /// Ends it at once (SIGKILL).
    fn kill(&self) -> BoxFuture<'_, ()>;

    /// Stops it where it is (SIGSTOP).
    fn freeze(&self) -> BoxFuture<'_, ()>;
}
