//! What all controllers have in common.
//!
//! A component is a process of the real cluster: it keeps a [`View`] of the objects that it watches,
//! which lags behind what is stored, and runs controllers on it. A controller decides from its view
//! alone what it asks for, a [`Plan`]; the plan's requests are sent one after the other, and what
//! others write in between is met as on a real cluster: by a conflict, or not at all.

mod informer;
mod pause;
mod recorder;
mod run;
mod transport;
mod view;

use std::time::Duration;

use serde_json::Value;

use crate::api::{Failure, Request, Verb};
use crate::object::Object;
use crate::resource::Resource;

pub use run::{Running, Timing, run};
pub use transport::{ResponseBody, SendRequest, Transport};
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

/// A controller: decisions from a view. It is asked for one key at a time by each of its workers, and
/// for the next one when the requests of the last plan have been answered, unless they are sent
/// aside.
pub trait Controller: Send {
    /// Its name, for logs.
    fn name(&self) -> &'static str;

    /// How many keys it works on at once. A request that is held up holds up one of them.
    fn workers(&self) -> usize {
        1
    }

    /// The kinds that it watches.
    fn watches(&self) -> &'static [&'static Resource];

    /// Whose turn it is after a change.
    fn wakes(&self, view: &View, change: &Change<'_>) -> Vec<Key>;

    /// What it asks for now. Nothing, if all is as it should be: it is asked again when something
    /// changes.
    fn reconcile(&mut self, view: &View, key: &Key, now: jiff::Timestamp) -> Plan;

    /// It is told of the answer of each request of its plan. After a refusal the rest of the plan is
    /// dropped and the key tried again later, unless this says otherwise; whether an Event was taken
    /// changes nothing, nor does it that what was to be deleted is gone.
    fn answered(
        &mut self,
        key: &Key,
        request: &Request,
        answer: &Result<&Object, Failure>,
    ) -> Next {
        let _ = key;
        match answer {
            Ok(_) => Next::GoOn,
            Err(_) if *request.resource == *crate::resource::EVENT => Next::GoOn,
            Err(failure) if failure.code == 404 && matches!(request.verb, Verb::Delete(_)) => {
                Next::GoOn
            }
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
    /// Whether nobody waits for their answers: the key is looked at meanwhile, as any other.
    pub aside: bool,
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
    /// Whether it is sent with the version that the plan's earlier writes gave to its object, and not
    /// with the one that was seen: a component goes on with what it was answered.
    pub follows: bool,
}

impl Planned {
    /// Goes on with the version that an earlier write gave to its object, if it is to.
    fn follow(&mut self, sent: &Request, answer: &Value) {
        let of = |it: &Request| (it.resource, it.namespace.clone(), it.name.clone());
        let version = crate::object::resource_version(answer);
        if !self.follows || version.is_empty() || of(sent) != of(&self.request) {
            return;
        }
        if let Verb::Update(body, _) | Verb::MergePatch(body, _) | Verb::Apply(body, ..) =
            &mut self.request.verb
        {
            body["metadata"]["resourceVersion"] = version.into();
        }
    }
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
        self.requests.push(Planned { request, source, follows: false });
        self
    }

    /// One request more, which goes on with the version that the plan's earlier writes gave to its
    /// object.
    #[must_use]
    pub fn then(mut self, request: Request, source: &'static str) -> Self {
        self.requests.push(Planned { request, source, follows: true });
        self
    }

    /// All of another plan, after this one.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        self.requests.extend(other.requests);
        match other.again {
            Some(after) => self.again(after),
            None => self,
        }
    }

    /// Without waiting for the answers.
    #[must_use]
    pub fn aside(mut self) -> Self {
        self.aside = true;
        self
    }

    /// To look again after this long.
    #[must_use]
    pub fn again(mut self, after: Duration) -> Self {
        self.again = Some(self.again.map_or(after, |before| before.min(after)));
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::resource::{JOB, POD};

    #[test]
    fn a_request_goes_on_with_the_version_of_the_last_write_to_its_object() {
        let object = |version: &str| json!({"metadata": {"namespace": "a", "name": "b", "resourceVersion": version}});
        let sent = Request::update(JOB, object("1"), "").on("status");
        let mut plan = Plan::nothing()
            .then(Request::update(JOB, object("1"), ""), "")
            .and(Request::update(JOB, object("1"), ""), "")
            .then(Request::update(POD, object("1"), ""), "");
        let versions: Vec<String> = plan
            .requests
            .iter_mut()
            .map(|planned| {
                planned.follow(&sent, &object("2"));
                let Verb::Update(body, _) = &planned.request.verb else { panic!("an update") };
                crate::object::resource_version(body).to_owned()
            })
            .collect();
        assert_eq!(versions, ["2", "1", "1"]);
    }
}
