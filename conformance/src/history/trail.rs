//! All versions of one Kubernetes object.

use dispatch_contract::resources::{JobSet, TrainJob, Workload};
use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use serde::Deserialize;
use serde_json::Value;

use super::{Change, Kind, ObjectVersion};

/// All versions of one Kubernetes object, known by its UID, in the order of the store.
#[derive(Clone, Debug)]
pub struct Trail {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace; `None` where the kind has none.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    versions: Vec<Version>,
    /// The order as of which a pod is Succeeded, Failed or gone.
    dead: Option<u64>,
}

/// One version of an object.
#[derive(Clone, Debug)]
pub struct Version {
    /// The number of its event, to cite it by.
    pub seq: u64,
    /// The place of its event in [`super::History::events`].
    pub index: usize,
    /// When it was recorded.
    pub at: Timestamp,
    /// The store's revision that made it.
    pub order: u64,
    /// What the watch said of it.
    pub change: Change,
    /// The object, as far as judges read it.
    pub object: Object,
}

/// An object, as far as judges read it.
#[derive(Clone, Debug)]
pub enum Object {
    /// A `TrainJob`.
    TrainJob(Box<TrainJob>),
    /// A Workload.
    Workload(Box<Workload>),
    /// A `JobSet`.
    JobSet(Box<JobSet>),
    /// A Job.
    Job(Box<Job>),
    /// A pod.
    Pod(Box<Pod>),
    /// A kind that is read as JSON, by the event that [`Version::index`] names.
    Other,
    /// An object that does not have the shape of its kind, and why: as good as a gap.
    Unreadable(String),
}

impl Object {
    /// Reads the object of a version.
    pub(super) fn read(kind: Kind, object: &Value) -> Self {
        fn typed<'a, T: Deserialize<'a>>(object: &'a Value, make: fn(Box<T>) -> Object) -> Object {
            match T::deserialize(object) {
                Ok(object) => make(Box::new(object)),
                Err(error) => Object::Unreadable(error.to_string()),
            }
        }
        match kind {
            Kind::TrainJob => typed(object, Self::TrainJob),
            Kind::Workload => typed(object, Self::Workload),
            Kind::JobSet => typed(object, Self::JobSet),
            Kind::Job => typed(object, Self::Job),
            Kind::Pod => typed(object, Self::Pod),
            _ => Self::Other,
        }
    }
}

impl Version {
    /// The `TrainJob`, if it is one.
    pub fn trainjob(&self) -> Option<&TrainJob> {
        match &self.object {
            Object::TrainJob(object) => Some(object),
            _ => None,
        }
    }

    /// The Workload, if it is one.
    pub fn workload(&self) -> Option<&Workload> {
        match &self.object {
            Object::Workload(object) => Some(object),
            _ => None,
        }
    }

    /// The `JobSet`, if it is one.
    pub fn jobset(&self) -> Option<&JobSet> {
        match &self.object {
            Object::JobSet(object) => Some(object),
            _ => None,
        }
    }

    /// The Job, if it is one.
    pub fn job(&self) -> Option<&Job> {
        match &self.object {
            Object::Job(object) => Some(object),
            _ => None,
        }
    }

    /// The pod, if it is one.
    pub fn pod(&self) -> Option<&Pod> {
        match &self.object {
            Object::Pod(object) => Some(object),
            _ => None,
        }
    }

    /// Whether the object is gone as of this version.
    pub fn is_deletion(&self) -> bool {
        self.change == Change::Deleted
    }

    /// Whether this is a pod that is Succeeded or Failed.
    fn is_ended_pod(&self) -> bool {
        let status = self.pod().and_then(|pod| pod.status.as_ref());
        let phase = status.and_then(|status| status.phase.as_deref());
        matches!(phase, Some("Succeeded" | "Failed"))
    }
}

impl Trail {
    /// The trail of the object that a version is of, without any version yet.
    pub(super) fn new(version: &ObjectVersion) -> Self {
        Self {
            kind: version.kind,
            namespace: version.namespace.clone(),
            name: version.name.clone(),
            uid: version.uid.clone(),
            versions: Vec::new(),
            dead: None,
        }
    }

    /// Adds a version in its place. One that is there already, as after a watch that was resumed,
    /// is not added again.
    pub(super) fn insert(&mut self, version: Version) {
        let place = self.versions.partition_point(|known| known.order < version.order);
        if self.versions.get(place).is_none_or(|known| known.order != version.order) {
            if version.is_deletion() || version.is_ended_pod() {
                self.dead = Some(self.dead.map_or(version.order, |dead| dead.min(version.order)));
            }
            self.versions.insert(place, version);
        }
    }

    /// The versions, in the order of the store; at least one.
    pub fn versions(&self) -> &[Version] {
        &self.versions
    }

    /// Pairs of versions that follow each other.
    pub fn changes(&self) -> impl DoubleEndedIterator<Item = (&Version, &Version)> {
        self.versions.windows(2).map(|pair| (&pair[0], &pair[1]))
    }

    /// The versions after one order, up to and with another.
    pub fn between(&self, after: u64, to: u64) -> &[Version] {
        let from = self.versions.partition_point(|version| version.order <= after);
        let to = self.versions.partition_point(|version| version.order <= to);
        self.versions.get(from..to).unwrap_or_default()
    }

    /// The first version that was recorded.
    pub fn first(&self) -> Option<&Version> {
        self.versions.first()
    }

    /// The last version that was recorded.
    pub fn last(&self) -> Option<&Version> {
        self.versions.last()
    }

    /// The version before the one of this order.
    pub fn before(&self, order: u64) -> Option<&Version> {
        let place = self.versions.partition_point(|version| version.order < order);
        place.checked_sub(1).and_then(|place| self.versions.get(place))
    }

    /// The version that holds at this order; `None` before the first one and once the object is
    /// gone.
    pub fn at(&self, order: u64) -> Option<&Version> {
        let place = self.versions.partition_point(|version| version.order <= order);
        let version = place.checked_sub(1).and_then(|place| self.versions.get(place))?;
        (!version.is_deletion()).then_some(version)
    }

    /// The version of exactly this order.
    pub fn exactly(&self, order: u64) -> Option<&Version> {
        let place = self.versions.partition_point(|version| version.order < order);
        self.versions.get(place).filter(|version| version.order == order)
    }

    /// The present version; `None` once the object is gone.
    pub fn now(&self) -> Option<&Version> {
        self.last().filter(|version| !version.is_deletion())
    }

    /// The order of the first version that was recorded.
    pub fn created(&self) -> u64 {
        self.first().map_or(u64::MAX, |version| version.order)
    }

    /// The version as of which the object is gone.
    pub fn deleted(&self) -> Option<&Version> {
        self.last().filter(|version| version.is_deletion())
    }

    /// Of a pod: the version as of which it no longer lives, being Succeeded, Failed or gone.
    pub fn dead(&self) -> Option<&Version> {
        let dead = self.dead?;
        self.versions.get(self.versions.partition_point(|version| version.order < dead))
    }

    /// Of a pod: whether it lives at this order, scheduled or not, Terminating or not.
    pub fn lives_at(&self, order: u64) -> bool {
        self.created() <= order && self.dead.is_none_or(|dead| order < dead)
    }
}
