//! The recorder: every version of every object of a scenario, as it happens.
//!
//! It has watches of its own, apart from what it records, and takes versions as the API server
//! sends them: no cache lies between that could pass over one. A watch that was cut goes on from
//! the last version; where the server no longer has what followed, a gap is written.

mod journal;
mod kinds;
mod known;
mod revision;
mod source;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use serde_json::Value;
use thiserror::Error;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{Change, Gap, Kind, ObjectVersion, What};
use crate::follow::{Seen, Whole};

pub use journal::{Journal, JournalError, Reader};
pub use kinds::Recorded;
pub use revision::Revisions;
pub use source::Source;

use known::{Known, Listing};

/// How long the API server may take to list a kind for the first time.
const FIRST_LIST_LIMIT: Duration = Duration::from_secs(30);

/// How long the watches may lag behind a list.
const CATCH_UP_LIMIT: Duration = Duration::from_secs(20);

/// Recording could not begin.
#[derive(Debug, Error)]
pub enum RecorderError {
    /// A kind cannot be listed.
    #[error("could not list {kinds} within {limit:?}, so nothing can be recorded: {why}")]
    FirstList {
        /// The kinds.
        kinds: String,
        /// The time limit.
        limit: Duration,
        /// The last error, where there was one.
        why: String,
    },
}

/// Records until it is dropped.
pub struct Recorder {
    source: Source,
    journal: Arc<Journal>,
    recorded: Vec<Recorded>,
    known: Arc<Mutex<Known>>,
    /// Ended when dropped.
    tasks: JoinSet<()>,
}

impl Recorder {
    /// Starts to record. When this returns, every kind was listed, and whatever changes from now on
    /// will be in the journal.
    pub async fn start(
        source: Source,
        journal: Arc<Journal>,
        recorded: Vec<Recorded>,
    ) -> Result<Self, RecorderError> {
        let known = Arc::new(Mutex::new(Known::default()));
        let mut tasks = JoinSet::new();
        for one in &recorded {
            let sink = Sink {
                kind: one.kind,
                recorded: one.clone(),
                journal: Arc::clone(&journal),
                known: Arc::clone(&known),
            };
            tasks.spawn(source.follow(one, move |seen| sink.take(seen)));
        }
        let this = Self { source, journal, recorded, known, tasks };
        this.first_lists().await?;
        Ok(this)
    }

    async fn first_lists(&self) -> Result<(), RecorderError> {
        let mut changes = self.lock().changes();
        let missing = || {
            let known = self.lock();
            let kinds = self.recorded.iter().map(|one| one.kind);
            kinds.filter(|kind| !known.is_listed(*kind)).map(Kind::as_str).collect::<Vec<_>>()
        };
        let listed = async { while !missing().is_empty() && changes.changed().await.is_ok() {} };
        if timeout(FIRST_LIST_LIMIT, listed).await.is_ok() {
            return Ok(());
        }
        let why = self.lock().trouble().unwrap_or("no answer").to_owned();
        Err(RecorderError::FirstList { kinds: missing().join(", "), limit: FIRST_LIST_LIMIT, why })
    }

    /// Ends the recording once everything that was in the store when this was called is in the
    /// journal. What is not there by the deadline is written as a gap. Nothing is written after this.
    pub async fn stop(mut self) {
        self.catch_up().await;
        self.tasks.shutdown().await;
    }

    async fn catch_up(&self) {
        join_all(self.recorded.iter().map(|one| self.catch_up_with(one))).await;
    }

    async fn catch_up_with(&self, one: &Recorded) {
        let missing = match timeout(CATCH_UP_LIMIT, self.source.list(one)).await {
            Ok(Ok(list)) => self.reach(one.kind, &Listing::of(&list)).await,
            Ok(Err(error)) => Some(format!("the last list failed: {error}")),
            Err(_) => Some(format!("the last list was not answered within {CATCH_UP_LIMIT:?}")),
        };
        if let Some(why) = missing {
            self.journal.note(None, What::Gap(Gap { kind: Some(one.kind), why }));
        }
    }

    /// Waits for the watch to reach a list; gives what is missing at the deadline.
    async fn reach(&self, kind: Kind, listing: &Listing) -> Option<String> {
        let mut changes = self.lock().changes();
        let reached = async {
            while self.lock().missing(kind, listing).is_some() && changes.changed().await.is_ok() {}
        };
        match timeout(CATCH_UP_LIMIT, reached).await {
            Ok(()) => None,
            Err(_) => self.lock().missing(kind, listing),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes what is seen of one kind into the journal.
struct Sink {
    kind: Kind,
    recorded: Recorded,
    journal: Arc<Journal>,
    known: Arc<Mutex<Known>>,
}

impl Sink {
    fn take(&self, seen: Seen<Whole>) {
        // Held until the version is in the journal: whoever sees that it is known may rely on that.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match seen {
            Seen::Listed(objects) => {
                let objects = objects.into_iter().map(|it| self.shared(it)).collect();
                for (change, object) in known.relist(self.kind, objects) {
                    self.version(change, object);
                }
            }
            Seen::Added(object) => {
                let object = self.shared(object);
                known.keep(self.kind, &object);
                self.version(Change::Added, object);
            }
            Seen::Modified(object) => {
                let object = self.shared(object);
                known.keep(self.kind, &object);
                self.version(Change::Modified, object);
            }
            Seen::Deleted(object) => {
                let object = self.shared(object);
                known.forget(self.kind, &object);
                self.version(Change::Deleted, object);
            }
            Seen::Lost(why) => {
                self.journal.note(None, What::Gap(Gap { kind: Some(self.kind), why }));
            }
            Seen::Trouble(why) => {
                tracing::warn!(kind = self.kind.as_str(), why, "recording goes on");
                known.note_trouble(why);
            }
        }
        known.announce();
    }

    /// The object, which says of which kind it is: in a list of the real API server it does not.
    fn shared(&self, Whole(mut object): Whole) -> Arc<Value> {
        if object.get("kind").is_none() {
            let types = self.recorded.types();
            let object = Arc::make_mut(&mut object);
            object["apiVersion"] = types.api_version.into();
            object["kind"] = types.kind.into();
        }
        object
    }

    fn version(&self, change: Change, object: Arc<Value>) {
        let text = |key: &str| object["metadata"][key].as_str().map(str::to_owned);
        let version = ObjectVersion {
            kind: self.kind,
            namespace: text("namespace"),
            name: text("name").unwrap_or_default(),
            uid: text("uid").unwrap_or_default(),
            change,
            resource_version: text("resourceVersion").unwrap_or_default(),
            object,
        };
        let order = version.resource_version.parse().ok();
        self.journal.note(order, What::Version(Box::new(version)));
    }
}
