//! Gets, lists and watches.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use futures::channel::mpsc;
use futures::stream::BoxStream;
use futures::{StreamExt, stream};
use serde_json::{Value, json};

use super::failure::Failure;
use super::request::{List, Request, Verb};
use super::route::Options;
use super::selector::Selection;
use super::server::State;
use super::service::{Answer, joined};
use super::stored::{Document, EventType, Stored};
use super::watching::{self, Course, Told, Watcher};
use crate::object::{Object, name, namespace};
use crate::resource::Resource;

/// For how long a watch lasts at least that does not say it, in seconds; at most for twice as long:
/// apiserver `pkg/endpoints/handlers/get.go`, minRequestTimeout.
const WATCH_S: u64 = 1800;

/// The metadata of an object alone.
pub(super) fn metadata_only(object: &Object) -> Object {
    json!({
        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
        "metadata": object["metadata"],
    })
}

impl State {
    /// One object.
    pub(super) fn get(&self, request: &Request) -> Result<Document, Failure> {
        let resource = request.resource;
        let has_it = match request.subresource.as_deref() {
            None => true,
            Some("status") => resource.status,
            Some(_) => false,
        };
        if !has_it {
            let what =
                format!("get of {resource}/{}", request.subresource.as_deref().unwrap_or(""));
            return Err(Failure::unsupported(&what));
        }
        let name = request.name.as_deref().unwrap_or_default();
        let within = request.namespace.as_deref().unwrap_or_default();
        let found = self.store.find(resource, within, name);
        let found = found.ok_or_else(|| Failure::not_found(resource, name))?;
        Ok(Document::Stored(Arc::clone(found)))
    }

    /// A collection.
    pub(super) fn list(
        &self,
        request: &Request,
        list: &List,
        options: Options,
    ) -> Result<Answer, Failure> {
        let resource = request.resource;
        let page = Page::of(list)?;
        let asked = match &page {
            Some(page) => page.revision,
            None => self.revision_of(&list.resource_version)?,
        };
        let is_fixed = page.is_some() || (options.exact && asked > 0);
        let revision = if is_fixed { asked } else { self.store.revision() };
        if is_fixed && revision < self.store.compacted() {
            return Err(expired(revision, self.store.compacted()));
        }
        let selection = selection(request, list)?;
        let mut selected = self.selected(resource, &selection, revision);
        if let Some(page) = &page {
            let after = (page.namespace.as_str(), page.name.as_str());
            selected.retain(|it| (namespace(it.object()), name(it.object())) > after);
        }
        let left = list.limit.map_or(0, |limit| selected.len().saturating_sub(limit));
        selected.truncate(selected.len() - left);
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        if let Some(last) = selected.last().filter(|_| left > 0) {
            metadata["continue"] = Page::after(last.object(), revision).text().into();
            if list.labels.is_empty() && list.fields.is_empty() {
                metadata["remainingItemCount"] = left.into();
            }
        }
        Ok(written(resource, &selected, &metadata, options.metadata_only))
    }

    /// All objects of a kind, and the revision of which they are.
    pub(super) fn everything(&self, resource: &'static Resource) -> (u64, Vec<Arc<Object>>) {
        let all = self.store.all(resource, None).map(|it| it.shared());
        (self.store.revision(), all.collect())
    }

    /// The objects that are selected, as they were at a revision.
    fn selected(
        &self,
        resource: &'static Resource,
        selection: &Selection,
        revision: u64,
    ) -> Vec<Arc<Stored>> {
        let has = |it: &&Arc<Stored>| selection.has(it.object());
        if revision == self.store.revision() {
            let all = self.store.all(resource, selection.namespace());
            return all.filter(has).cloned().collect();
        }
        let all = self.store.snapshot(resource, revision);
        all.values().flat_map(|it| it.values()).filter(has).cloned().collect()
    }

    /// A collection, from a revision on: as lines.
    pub(super) fn watch(&mut self, request: &Request, options: Options) -> Result<Answer, Failure> {
        if options.initial_events {
            // As a server says it that has no streaming lists.
            let message = "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: \
                           sendInitialEvents is forbidden for watch unless the WatchList feature \
                           gate is enabled";
            return Err(Failure::new(422, "Invalid", message));
        }
        let resource = request.resource;
        let told = self.follow(request)?;
        Ok(Answer::Lines(told.map(move |it| it.line(resource, options.metadata_only)).boxed()))
    }

    /// The same: what it tells.
    pub(super) fn follow(
        &mut self,
        request: &Request,
    ) -> Result<BoxStream<'static, Told>, Failure> {
        let Verb::Watch { list, bookmarks, timeout_seconds } = &request.verb else {
            return Err(Failure::unsupported("a watch that is none"));
        };
        let resource = request.resource;
        let mut selection = selection(request, list)?;
        if let Some(name) = &request.name {
            let fields = format!("metadata.name={name}");
            selection =
                Selection::parse(resource, request.namespace.as_deref(), &list.labels, &fields)?;
        }
        let from = self.revision_of(&list.resource_version)?;
        let (sink, news) = mpsc::unbounded();
        let watcher = Watcher { selection, sink };
        // A sink whose other end is here takes all.
        let tell = |told| watcher.sink.unbounded_send(told).unwrap_or_default();
        if from == 0 {
            let all = self.store.all(resource, watcher.selection.namespace());
            for stored in all.filter(|it| watcher.selection.has(it.object())) {
                tell(Told::Version(EventType::Added, Arc::clone(stored)));
            }
        } else if from < self.store.compacted() {
            let error = Told::Error(expired(from, self.store.compacted()).status());
            return Ok(stream::iter([error]).boxed());
        } else {
            let missed = self.store.since(resource, from);
            missed.iter().filter_map(|it| watcher.told(it)).for_each(tell);
        }
        self.store.watch(resource, watcher);
        let by_itself = || WATCH_S + self.random.u64(0..WATCH_S);
        let lasts = timeout_seconds.filter(|it| *it > 0).unwrap_or_else(by_itself);
        let course = Course {
            bookmarks: *bookmarks,
            lasts: Duration::from_secs(lasts),
            revisions: self.store.revisions(),
        };
        Ok(watching::stream(news, course).boxed())
    }

    /// The revision of a resourceVersion; 0 for none.
    fn revision_of(&self, resource_version: &str) -> Result<u64, Failure> {
        if resource_version.is_empty() {
            return Ok(0);
        }
        let revision: u64 = resource_version.parse().map_err(|_| {
            let message = format!("Invalid value: \"{resource_version}\": invalid resourceVersion");
            Failure::new(400, "BadRequest", message)
        })?;
        let current = self.store.revision();
        if revision > current {
            let message = format!("Too large resource version: {revision}, current: {current}");
            return Err(Failure::new(504, "Timeout", message));
        }
        Ok(revision)
    }
}

fn selection(request: &Request, list: &List) -> Result<Selection, Failure> {
    let namespace = request.namespace.as_deref();
    Selection::parse(request.resource, namespace, &list.labels, &list.fields)
}

fn expired(revision: u64, compacted: u64) -> Failure {
    let message = format!("too old resource version: {revision} ({compacted})");
    Failure::new(410, "Expired", message)
}

fn written(
    resource: &Resource,
    selected: &[Arc<Stored>],
    metadata: &Value,
    metadata_only: bool,
) -> Answer {
    let of_all = |kind: &str, version: &str, items: &[Bytes]| {
        let head = format!(
            r#"{{"kind":"{kind}List","apiVersion":"{version}","metadata":{metadata},"items":["#
        );
        Answer::Json(200, joined(&head, items, "]}"))
    };
    if metadata_only {
        let partial = |it: &Arc<Stored>| Bytes::from(self::metadata_only(it.object()).to_string());
        let items: Vec<Bytes> = selected.iter().map(partial).collect();
        return of_all("PartialObjectMetadata", "meta.k8s.io/v1", &items);
    }
    let items: Vec<Bytes> = selected.iter().map(|it| it.json()).collect();
    of_all(resource.kind, &resource.api_version(), &items)
}

/// Where a page of a list begins.
struct Page {
    revision: u64,
    namespace: String,
    name: String,
}

impl Page {
    /// The page that is asked for.
    fn of(list: &List) -> Result<Option<Self>, Failure> {
        if list.continue_.is_empty() {
            return Ok(None);
        }
        let read = || {
            let text = URL_SAFE_NO_PAD.decode(&list.continue_).ok()?;
            let value: Value = serde_json::from_slice(&text).ok()?;
            Some(Self {
                revision: value["rv"].as_u64()?,
                namespace: value["namespace"].as_str()?.to_owned(),
                name: value["name"].as_str()?.to_owned(),
            })
        };
        let message = "continue key is not valid";
        read().map(Some).ok_or_else(|| Failure::new(400, "BadRequest", message))
    }

    fn after(last: &Object, revision: u64) -> Self {
        let (namespace, name) = (namespace(last).to_owned(), name(last).to_owned());
        Self { revision, namespace, name }
    }

    fn text(&self) -> String {
        let value = json!({"rv": self.revision, "namespace": self.namespace, "name": self.name});
        URL_SAFE_NO_PAD.encode(value.to_string())
    }
}
