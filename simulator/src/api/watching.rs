//! Watches.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender};
use futures::{Stream, StreamExt, stream};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use super::reading::metadata_only;
use super::selector::Selection;
use super::store::Logged;
use super::stored::{EventType, Stored};
use crate::resource::Resource;

/// How often bookmarks are sent: apiserver `pkg/storage/cacher/cacher.go`, bookmarkFrequency.
const BOOKMARK_EVERY: Duration = Duration::from_mins(1);

/// How long before the end of a watch its last bookmark is sent, if there is time: the same,
/// `cache_watcher.go`, nextBookmarkTime.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);

/// Who is told what happens to a kind.
#[derive(Debug)]
pub(super) struct Watcher {
    pub(super) selection: Selection,
    pub(super) sink: UnboundedSender<Told>,
}

/// What a watch tells.
#[derive(Clone, Debug)]
pub(super) enum Told {
    /// What became of an object with this version.
    Version(EventType, Arc<Stored>),
    /// All up to this revision was told.
    Bookmark(u64),
    /// It cannot go on, for this reason.
    Error(Value),
}

impl Told {
    /// The line that tells it of this kind.
    pub(super) fn line(self, resource: &Resource, metadata_only: bool) -> Bytes {
        match self {
            Self::Version(kind, stored) if metadata_only => {
                Stored::new(self::metadata_only(stored.object()), kind, None).line(kind)
            }
            Self::Version(kind, stored) => stored.line(kind),
            Self::Bookmark(revision) => bookmark(resource, metadata_only, revision),
            Self::Error(status) => written(&json!({"type": "ERROR", "object": status})),
        }
    }
}

impl Watcher {
    /// Tells it what happened, if it selects it; whether it still listens.
    pub(super) fn tell(&self, logged: &Logged) -> bool {
        match self.told(logged) {
            Some(told) => self.sink.unbounded_send(told).is_ok(),
            None => !self.sink.is_closed(),
        }
    }

    /// What it is told: an object that comes into the selection is added to it, one that leaves it is
    /// deleted from it.
    pub(super) fn told(&self, logged: &Logged) -> Option<Told> {
        let before = logged.before.as_ref().filter(|it| self.selection.has(it.object()));
        let now = Some(&logged.now).filter(|it| !logged.gone && self.selection.has(it.object()));
        match (before, now) {
            (None, None) => None,
            (None, Some(now)) => Some(Told::Version(EventType::Added, Arc::clone(now))),
            (Some(_), Some(now)) => Some(Told::Version(EventType::Modified, Arc::clone(now))),
            (Some(_), None) if logged.gone => {
                Some(Told::Version(EventType::Deleted, Arc::clone(&logged.now)))
            }
            (Some(before), None) => {
                let mut last = before.object().clone();
                last["metadata"]["resourceVersion"] = logged.revision.to_string().into();
                let last = Stored::new(last, EventType::Deleted, None);
                Some(Told::Version(EventType::Deleted, Arc::new(last)))
            }
        }
    }
}

/// When a watch ends, and whether bookmarks are sent in it.
pub(super) struct Course {
    pub(super) bookmarks: bool,
    pub(super) lasts: Duration,
    pub(super) revisions: Arc<AtomicU64>,
}

struct Watch {
    news: UnboundedReceiver<Told>,
    course: Course,
    end: Instant,
    next_bookmark: Instant,
}

/// What a watch tells, until it ends.
pub(super) fn stream(
    news: UnboundedReceiver<Told>,
    course: Course,
) -> impl Stream<Item = Told> + Send + 'static {
    let now = Instant::now();
    let end = now + course.lasts;
    let next_bookmark = next_bookmark(now, end);
    stream::unfold(Watch { news, course, end, next_bookmark }, Watch::next)
}

fn next_bookmark(now: Instant, end: Instant) -> Instant {
    let last = end.checked_sub(LAST_BOOKMARK).filter(|it| *it > now).unwrap_or(end);
    (now + BOOKMARK_EVERY).min(last)
}

impl Watch {
    async fn next(mut self) -> Option<(Told, Self)> {
        let wake = if self.course.bookmarks { self.next_bookmark } else { self.end };
        tokio::select! {
            biased;
            told = self.news.next() => return told.map(|told| (told, self)),
            () = sleep_until(wake) => {}
        }
        let now = Instant::now();
        if now >= self.end {
            return None;
        }
        // Read before the queue is found empty: all up to this revision was told by then.
        let revision = self.course.revisions.load(Ordering::Acquire);
        if let Ok(told) = self.news.try_recv() {
            return Some((told, self));
        }
        self.next_bookmark = next_bookmark(now, self.end);
        Some((Told::Bookmark(revision), self))
    }
}

fn bookmark(resource: &Resource, metadata_only: bool, revision: u64) -> Bytes {
    let (kind, version) = if metadata_only {
        ("PartialObjectMetadata", "meta.k8s.io/v1".to_owned())
    } else {
        (resource.kind, resource.api_version())
    };
    let metadata = json!({"resourceVersion": revision.to_string(), "creationTimestamp": null});
    let object = json!({"kind": kind, "apiVersion": version, "metadata": metadata});
    written(&json!({"type": "BOOKMARK", "object": object}))
}

fn written(event: &Value) -> Bytes {
    Bytes::from(format!("{event}\n"))
}
