//! The history while it is being made: on disk line by line, and for whoever waits on it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dispatch_contract::Clock;
use fs_err::File;
use thiserror::Error;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::history::{Event, Gap, HistoryWriter, What, WriteError};

/// The history cannot be written.
#[derive(Clone, Debug, Error)]
#[error("cannot write the history {}: {why}", path.display())]
pub struct JournalError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub why: String,
}

/// A history that is being made. Each event is on disk before anybody is told of it.
pub struct Journal {
    clock: Arc<dyn Clock>,
    begun: Instant,
    path: PathBuf,
    inner: Mutex<Inner>,
    length: watch::Sender<usize>,
}

struct Inner {
    writer: HistoryWriter<File>,
    events: Vec<Arc<Event>>,
    failure: Option<JournalError>,
}

impl Journal {
    /// Begins a history in a new file.
    pub fn create(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, JournalError> {
        let writer = HistoryWriter::create(path)
            .map_err(|error| JournalError { path: path.to_owned(), why: error.to_string() })?;
        Ok(Self {
            clock,
            begun: Instant::now(),
            path: path.to_owned(),
            inner: Mutex::new(Inner { writer, events: Vec::new(), failure: None }),
            length: watch::Sender::new(0),
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes an event. A history that could not be written once takes nothing more.
    pub fn append(&self, order: Option<u64>, what: What) -> Result<(), JournalError> {
        let mut inner = self.lock();
        if let Some(failure) = &inner.failure {
            return Err(failure.clone());
        }
        let mut event = Event {
            seq: inner.events.len() as u64,
            at: self.clock.now(),
            elapsed_ns: u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX),
            order,
            what,
        };
        match inner.writer.append(&event) {
            Ok(()) => {}
            // A gap was written in its place; whoever waits on this history sees the same.
            Err(WriteError::Withheld { why, .. }) => {
                event.what = What::Gap(Gap { kind: None, why });
            }
            Err(error) => {
                let failure = JournalError { path: self.path.clone(), why: chain(&error) };
                inner.failure = Some(failure.clone());
                self.length.send_modify(|_| ());
                return Err(failure);
            }
        }
        inner.events.push(Arc::new(event));
        self.length.send_replace(inner.events.len());
        Ok(())
    }

    /// As [`Journal::append`], for those who cannot do anything about a failure: whoever reads next
    /// is told of it.
    pub fn note(&self, order: Option<u64>, what: What) {
        if let Err(error) = self.append(order, what) {
            tracing::error!(error = &error as &dyn std::error::Error, "an event is lost");
        }
    }

    /// Reads the history from its first event on.
    pub fn reader(self: &Arc<Self>) -> Reader {
        Reader { journal: Arc::clone(self), next: 0, length: self.length.subscribe() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn chain(error: &WriteError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// Reads a history while it is being made.
pub struct Reader {
    journal: Arc<Journal>,
    next: usize,
    length: watch::Receiver<usize>,
}

impl Reader {
    /// The next event, if there is one already.
    pub fn try_next(&mut self) -> Option<Arc<Event>> {
        let event = self.journal.lock().events.get(self.next).cloned()?;
        self.next += 1;
        Some(event)
    }

    /// The next event, when there is one.
    pub async fn next(&mut self) -> Result<Arc<Event>, JournalError> {
        loop {
            // Seen before it is looked at, so that what comes in between is not slept through.
            self.length.borrow_and_update();
            if let Some(event) = self.try_next() {
                return Ok(event);
            }
            if let Some(failure) = &self.journal.lock().failure {
                return Err(failure.clone());
            }
            // The sender lives in the journal, which this holds.
            let _ = self.length.changed().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use dispatch_contract::SystemClock;

    use super::*;
    use crate::history::{End, EndedBy, Gap};

    fn gap(why: &str) -> What {
        What::Gap(Gap { kind: None, why: why.to_owned() })
    }

    #[tokio::test]
    async fn an_event_is_on_disk_as_soon_as_it_is_told_of() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.ndjson");
        let journal = Arc::new(Journal::create(&path, Arc::new(SystemClock)).unwrap());
        let mut reader = journal.reader();
        assert_eq!(reader.try_next(), None);
        journal.append(Some(7), gap("one")).unwrap();
        journal.append(None, What::End(End { why: EndedBy::Finished })).unwrap();
        for seq in 0..2 {
            let event = reader.next().await.unwrap();
            assert_eq!(event.seq, seq);
            let text = fs_err::read_to_string(&path).unwrap();
            let line = text.lines().nth(usize::try_from(seq).unwrap()).unwrap();
            assert_eq!(serde_json::from_str::<Event>(line).unwrap(), *event);
        }
    }

    #[tokio::test]
    async fn a_reader_waits_for_the_next_event() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.ndjson");
        let journal = Arc::new(Journal::create(&path, Arc::new(SystemClock)).unwrap());
        let mut reader = journal.reader();
        let waiting = tokio::spawn(async move { reader.next().await.unwrap().what.clone() });
        tokio::task::yield_now().await;
        journal.append(None, gap("late")).unwrap();
        assert_eq!(waiting.await.unwrap(), gap("late"));
    }

    #[tokio::test]
    async fn a_full_disk_ends_the_history_and_wakes_its_readers() {
        let path = Path::new("/dev/full");
        let file = File::options().write(true).open(path).unwrap();
        let writer = HistoryWriter::new(file, path);
        let journal = Arc::new(Journal {
            clock: Arc::new(SystemClock),
            begun: Instant::now(),
            path: path.to_owned(),
            inner: Mutex::new(Inner { writer, events: Vec::new(), failure: None }),
            length: watch::Sender::new(0),
        });
        let mut reader = journal.reader();
        let waiting = tokio::spawn(async move { reader.next().await });
        tokio::task::yield_now().await;
        let error = journal.append(None, gap("lost")).unwrap_err();
        assert!(error.to_string().starts_with("cannot write the history /dev/full"));
        assert!(waiting.await.unwrap().is_err());
    }

    #[test]
    fn a_history_is_never_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.ndjson");
        Journal::create(&path, Arc::new(SystemClock)).unwrap();
        assert!(Journal::create(&path, Arc::new(SystemClock)).is_err());
    }
}
