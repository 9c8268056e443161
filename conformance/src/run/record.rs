//! The history of a scenario that is being played: what is written to it, and what was recorded so
//! far.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::error::RunError;
use crate::history::recorder::{Journal, Reader, Revisions};
use crate::history::{History, Subject, SubjectChange, SubjectChanged, What};

/// Writes events that have no order of their own. Clones write to the same history.
#[derive(Clone)]
pub(super) struct Notes {
    pub(super) journal: Arc<Journal>,
    pub(super) revisions: Revisions,
}

impl Notes {
    /// Writes an event, at the store's latest revision.
    pub(super) async fn note(&self, what: What) -> Result<(), RunError> {
        let order = self.revisions.latest().await;
        Ok(self.journal.append(order, what)?)
    }

    /// Writes what happened to a subject.
    pub(super) async fn subject(
        &self,
        subject: Subject,
        change: SubjectChange,
        pid: Option<u32>,
    ) -> Result<(), RunError> {
        let Subject { role, replica } = subject;
        self.note(What::Subject(SubjectChanged { role, replica, change, pid })).await
    }
}

/// The history, to be written to and to be read as far as it was recorded.
pub(super) struct Record {
    pub(super) notes: Notes,
    reader: Reader,
    /// What was read.
    pub(super) history: History,
    calls: AtomicU64,
}

impl Record {
    pub(super) fn new(notes: Notes) -> Self {
        let reader = notes.journal.reader();
        Self { notes, reader, history: History::default(), calls: AtomicU64::new(0) }
    }

    /// A number for a call that no other call of this history has.
    pub(super) fn next_call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }

    /// Reads what was recorded until now.
    pub(super) fn read(&mut self) {
        while let Some(event) = self.reader.try_next() {
            self.history.push(event);
        }
    }

    /// The whole history, of which nothing more will be written.
    pub(super) fn close(mut self) -> History {
        self.read();
        self.history.close();
        self.history
    }

    /// Reads the next event, when there is one.
    pub(super) async fn read_next(&mut self) -> Result<(), RunError> {
        let event = self.reader.next().await?;
        self.history.push(event);
        Ok(())
    }
}
