//! What is stored: the newest version of each object, and what became of each, in order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::{SignedDuration, Timestamp};

use super::fields::Managers;
use super::stored::{EventType, Stored};
use super::watching::Watcher;
use super::webhook::Lookup;
use crate::object::{self, Object};
use crate::resource::Resource;

/// How often old versions are forgotten: apiserver `pkg/storage/storagebackend/config.go`,
/// `DefaultCompactInterval`.
const COMPACT_EVERY: SignedDuration = SignedDuration::from_mins(5);

/// The objects of one kind, by namespace and name.
pub(super) type Objects = BTreeMap<String, BTreeMap<String, Arc<Stored>>>;

/// All objects. Each change is a new revision of the whole, as in etcd.
#[derive(Debug, Default)]
pub(super) struct Store {
    revision: Arc<AtomicU64>,
    /// The oldest revision that can still be read and watched from.
    compacted: u64,
    /// When it is compacted next, and to which revision.
    compacts: Option<(Timestamp, u64)>,
    kinds: BTreeMap<&'static Resource, OfKind>,
}

#[derive(Debug, Default)]
struct OfKind {
    objects: Objects,
    log: Vec<Logged>,
    watchers: Vec<Watcher>,
}

/// What became of an object.
#[derive(Debug)]
pub(super) struct Logged {
    pub(super) revision: u64,
    /// The version before; none of a new object.
    pub(super) before: Option<Arc<Stored>>,
    /// This version; of an object that is gone, the last one, with the revision of its end.
    pub(super) now: Arc<Stored>,
    /// Whether it is gone.
    pub(super) gone: bool,
}

impl Store {
    /// The latest revision.
    pub(super) fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    /// The latest revision, as it goes on.
    pub(super) fn revisions(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.revision)
    }

    /// The oldest revision that can still be read and watched from.
    pub(super) fn compacted(&self) -> u64 {
        self.compacted
    }

    /// Forgets what lies before a revision.
    pub(super) fn compact(&mut self, revision: u64) {
        self.compacted = self.compacted.max(revision);
        for kind in self.kinds.values_mut() {
            let forgotten = kind.log.partition_point(|it| it.revision <= revision);
            kind.log.drain(..forgotten);
        }
    }

    /// Forgets as time passes: each time what lay before the time before, so that what happened within
    /// [`COMPACT_EVERY`] can always be read.
    pub(super) fn pass(&mut self, now: Timestamp) {
        let mut next = self.compacts.unwrap_or((now + COMPACT_EVERY, 0));
        while next.0 <= now {
            self.compact(next.1);
            next = (next.0 + COMPACT_EVERY, self.revision());
        }
        self.compacts = Some(next);
    }

    /// The newest version of an object.
    pub(super) fn find(
        &self,
        resource: &'static Resource,
        namespace: &str,
        name: &str,
    ) -> Option<&Arc<Stored>> {
        self.kinds.get(resource)?.objects.get(namespace)?.get(name)
    }

    /// All objects of a kind, in a namespace or in all.
    pub(super) fn all(
        &self,
        resource: &'static Resource,
        namespace: Option<&str>,
    ) -> impl Iterator<Item = &Arc<Stored>> {
        let objects = self.kinds.get(resource).map(|it| &it.objects);
        let within = namespace.and_then(|it| objects.and_then(|all| all.get(it)));
        let everywhere = objects.filter(|_| namespace.is_none());
        within
            .into_iter()
            .chain(everywhere.into_iter().flat_map(BTreeMap::values))
            .flat_map(BTreeMap::values)
    }

    /// All objects of a kind as they were at a revision.
    pub(super) fn snapshot(&self, resource: &'static Resource, revision: u64) -> Objects {
        let Some(kind) = self.kinds.get(resource) else { return Objects::new() };
        let mut objects = kind.objects.clone();
        for logged in kind.log.iter().rev().take_while(|it| it.revision > revision) {
            let (namespace, name) = place(logged.now.object());
            let within = objects.entry(namespace).or_default();
            match &logged.before {
                Some(before) => drop(within.insert(name, Arc::clone(before))),
                None => drop(within.remove(&name)),
            }
        }
        objects
    }

    /// What happened to a kind after a revision.
    pub(super) fn since(&self, resource: &'static Resource, revision: u64) -> &[Logged] {
        let Some(kind) = self.kinds.get(resource) else { return &[] };
        let start = kind.log.partition_point(|it| it.revision <= revision);
        &kind.log[start..]
    }

    /// Who is told what happens to a kind from now on.
    pub(super) fn watch(&mut self, resource: &'static Resource, watcher: Watcher) {
        self.kinds.entry(resource).or_default().watchers.push(watcher);
    }

    /// Stores a new version of an object.
    pub(super) fn put(&mut self, resource: &'static Resource, object: Object) -> Arc<Stored> {
        self.put_managed(resource, object, None)
    }

    /// The same, of which the managers are known.
    pub(super) fn put_managed(
        &mut self,
        resource: &'static Resource,
        mut object: Object,
        managers: Option<Managers>,
    ) -> Arc<Stored> {
        let revision = self.revision() + 1;
        object["metadata"]["resourceVersion"] = revision.to_string().into();
        let (namespace, name) = place(&object);
        let kind = self.kinds.entry(resource).or_default();
        let within = kind.objects.entry(namespace).or_default();
        let told = if within.contains_key(&name) { EventType::Modified } else { EventType::Added };
        let now = Arc::new(Stored::new(object, told, managers));
        let before = within.insert(name, Arc::clone(&now));
        kind.tell(Logged { revision, before, now: Arc::clone(&now), gone: false });
        self.revision.store(revision, Ordering::Release);
        now
    }

    /// Takes an object out. Watches are told its last version, with the revision of its end.
    pub(super) fn remove(&mut self, resource: &'static Resource, namespace: &str, name: &str) {
        let revision = self.revision() + 1;
        let Some(kind) = self.kinds.get_mut(resource) else { return };
        let Some(within) = kind.objects.get_mut(namespace) else { return };
        let Some(before) = within.remove(name) else { return };
        if within.is_empty() {
            kind.objects.remove(namespace);
        }
        let mut last = before.object().clone();
        last["metadata"]["resourceVersion"] = revision.to_string().into();
        let now = Arc::new(Stored::new(last, EventType::Deleted, None));
        kind.tell(Logged { revision, before: Some(before), now, gone: true });
        self.revision.store(revision, Ordering::Release);
    }
}

impl OfKind {
    fn tell(&mut self, logged: Logged) {
        self.watchers.retain(|it| it.tell(&logged));
        self.log.push(logged);
    }
}

impl Lookup for Store {
    fn get(&self, resource: &'static Resource, namespace: &str, name: &str) -> Option<&Object> {
        self.find(resource, namespace, name).map(|it| it.object())
    }

    fn list(&self, resource: &'static Resource, namespace: Option<&str>) -> Vec<&Object> {
        self.all(resource, namespace).map(|it| it.object()).collect()
    }
}

/// Where an object is.
fn place(object: &Object) -> (String, String) {
    (object::namespace(object).to_owned(), object::name(object).to_owned())
}
