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
use super::stored::{self, Kind};
use crate::object::Object;
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
    /// Whether it wants no more than the metadata.
    pub(super) metadata_only: bool,
    pub(super) sink: UnboundedSender<Bytes>,
}

impl Watcher {
    /// Tells it what happened, if it selects it; whether it still listens.
    pub(super) fn tell(&self, logged: &Logged) -> bool {
        match self.line(logged) {
            Some(line) => self.sink.unbounded_send(line).is_ok(),
            None => !self.sink.is_closed(),
        }
    }

    /// The line that tells it: an object that comes into the selection is added to it, one that
    /// leaves it is deleted from it.
    pub(super) fn line(&self, logged: &Logged) -> Option<Bytes> {
        let before = logged.before.as_ref().filter(|it| self.selection.has(it.object()));
        let now = Some(&logged.now).filter(|it| !logged.gone && self.selection.has(it.object()));
        match (before, now) {
            (None, None) => None,
            (None, Some(now)) => Some(self.written(Kind::Added, now)),
            (Some(_), Some(now)) => Some(self.written(Kind::Modified, now)),
            (Some(_), None) if logged.gone => Some(self.written(Kind::Deleted, &logged.now)),
            (Some(before), None) => {
                let mut last = before.object().clone();
                last["metadata"]["resourceVersion"] = logged.revision.to_string().into();
                Some(self.object_written(Kind::Deleted, last))
            }
        }
    }

    /// The line of a version.
    pub(super) fn written(&self, kind: Kind, stored: &stored::Stored) -> Bytes {
        if self.metadata_only {
            stored::line(kind, &metadata_only(stored.object()))
        } else {
            stored.line(kind)
        }
    }

    fn object_written(&self, kind: Kind, object: Object) -> Bytes {
        let object = if self.metadata_only { metadata_only(&object) } else { object };
        stored::line(kind, &object)
    }
}

/// The line that tells that a watch cannot go on.
pub(super) fn error(status: &Value) -> Bytes {
    Bytes::from(format!("{}\n", json!({"type": "ERROR", "object": status})))
}

/// When a watch ends, and whether bookmarks are sent in it.
pub(super) struct Course {
    pub(super) resource: &'static Resource,
    pub(super) metadata_only: bool,
    pub(super) bookmarks: bool,
    pub(super) lasts: Duration,
    pub(super) revisions: Arc<AtomicU64>,
}

struct Watch {
    lines: UnboundedReceiver<Bytes>,
    course: Course,
    end: Instant,
    next_bookmark: Instant,
}

/// The lines of a watch, until it ends.
pub(super) fn stream(
    lines: UnboundedReceiver<Bytes>,
    course: Course,
) -> impl Stream<Item = Bytes> + Send + 'static {
    let now = Instant::now();
    let end = now + course.lasts;
    let next_bookmark = next_bookmark(now, end);
    stream::unfold(Watch { lines, course, end, next_bookmark }, Watch::next)
}

fn next_bookmark(now: Instant, end: Instant) -> Instant {
    let last = end.checked_sub(LAST_BOOKMARK).filter(|it| *it > now).unwrap_or(end);
    (now + BOOKMARK_EVERY).min(last)
}

impl Watch {
    async fn next(mut self) -> Option<(Bytes, Self)> {
        let wake = if self.course.bookmarks { self.next_bookmark } else { self.end };
        tokio::select! {
            biased;
            line = self.lines.next() => return line.map(|line| (line, self)),
            () = sleep_until(wake) => {}
        }
        let now = Instant::now();
        if now >= self.end {
            return None;
        }
        // Read before the queue is found empty: all up to this revision was told by then.
        let revision = self.course.revisions.load(Ordering::Acquire);
        if let Ok(line) = self.lines.try_recv() {
            return Some((line, self));
        }
        self.next_bookmark = next_bookmark(now, self.end);
        let line = bookmark(&self.course, revision);
        Some((line, self))
    }
}

fn bookmark(course: &Course, revision: u64) -> Bytes {
    let (kind, version) = if course.metadata_only {
        ("PartialObjectMetadata", "meta.k8s.io/v1".to_owned())
    } else {
        (course.resource.kind, course.resource.api_version())
    };
    let metadata = json!({"resourceVersion": revision.to_string(), "creationTimestamp": null});
    let object = json!({"kind": kind, "apiVersion": version, "metadata": metadata});
    Bytes::from(format!("{}\n", json!({"type": "BOOKMARK", "object": object})))
}
