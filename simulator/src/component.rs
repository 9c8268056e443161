//! What all controllers have in common.
//!
//! A component is a process of the real cluster: it keeps a [`View`] of the objects that it watches,
//! which lags behind what is stored, and runs controllers on it. A controller decides from its view
//! alone what it asks for, a [`Plan`]; the plan's requests are sent one after the other, and what
//! others write in between is met as on a real cluster: by a conflict, or not at all.

mod informer;
mod pause;
mod run;
mod view;

use std::time::Duration;

use serde_json::Value;

use crate::api::{Failure, Request};
use crate::resource::Resource;

pub use run::{ResponseBody, Running, SendRequest, Timing, Transport, run};
pub use view::{Change, View};

/// A process of the real cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// Kueue's manager.
    Kueue,
    /// Trainer's manager.
    Trainer,
    /// `JobSet`'s manager.
    JobSet,
    /// Kubernetes' controllers: Jobs, garbage collection, namespaces.
    KubeControllerManager,
    /// Kubernetes' scheduler.
    KubeScheduler,
}

impl Component {
    /// The name of its program.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kueue => "kueue",
            Self::Trainer => "trainer",
            Self::JobSet => "jobset",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::KubeScheduler => "kube-scheduler",
        }
    }
}

/// What a controller looks at: an object, by namespace and name, or whatever else it numbers its work
/// by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The namespace; empty for objects without one.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl Key {
    /// The key of an object.
    pub fn of(object: &Value) -> Self {
        Self::new(crate::object::namespace(object), crate::object::name(object))
    }

    /// A key.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

/// A controller: decisions from a view. It is asked for one key at a time, and for the next one when
/// the requests of the last plan have been answered.
pub trait Controller: Send {
    /// Its name, for logs.
    fn name(&self) -> &'static str;

    /// The kinds that it watches.
    fn watches(&self) -> &'static [&'static Resource];

    /// Whose turn it is after a change.
    fn wakes(&self, view: &View, change: &Change<'_>) -> Vec<Key>;

    /// What it asks for now. Nothing, if all is as it should be: it is asked again when something
    /// changes.
    fn reconcile(&mut self, view: &View, key: &Key, now: jiff::Timestamp) -> Plan;

    /// It is told of the answer of each request of its plan. After a refusal the rest of the plan is
    /// dropped and the key tried again later, unless this says otherwise.
    fn answered(&mut self, key: &Key, request: &Request, answer: &Result<Value, Failure>) -> Next {
        let _ = (key, request);
        match answer {
            Ok(_) => Next::GoOn,
            Err(_) => Next::TryAgain,
        }
    }
}

/// How it goes on after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// With the next request.
    GoOn,
    /// The rest is dropped; the key is tried again after a pause, which grows with each time.
    TryAgain,
    /// The rest is dropped; until something changes.
    Stop,
}

/// What a controller asks for.
#[derive(Debug, Default)]
pub struct Plan {
    /// Sent one after the other.
    pub requests: Vec<Planned>,
    /// After how long the key is looked at again, whatever happens.
    pub again: Option<Duration>,
}

/// A request, and where the real component makes it.
#[derive(Debug)]
pub struct Planned {
    /// The request.
    pub request: Request,
    /// The place in the source, or the measured fact, that it mirrors.
    pub source: &'static str,
}

impl Plan {
    /// Nothing.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// One request.
    pub fn one(request: Request, source: &'static str) -> Self {
        Self::nothing().and(request, source)
    }

    /// One request more.
    #[must_use]
    pub fn and(mut self, request: Request, source: &'static str) -> Self {
        self.requests.push(Planned { request, source });
        self
    }

    /// To look again after this long.
    #[must_use]
    pub fn again(mut self, after: Duration) -> Self {
        self.again = Some(self.again.map_or(after, |before| before.min(after)));
        self
    }
}
