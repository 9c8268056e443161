//! The read model: what expectations and judges ask a history.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use dispatch_contract::{ObjectName, names};
use jiff::Timestamp;
use serde_json::Value;

use super::exchange::Exchanges;
use super::{
    Begin, CallInvoked, CallOutcome, End, Event, Exchange, FaultSeen, Gap, JobNamed, Kind, Object,
    ObjectVersion, Trail, Version, What,
};

/// A history, or the part of one that has happened so far.
///
/// Events are added as they come. A version takes its place by its `order`, whatever the order of
/// its arrival, so that questions about an order are answered alike while a run lasts and later.
#[derive(Clone, Debug, Default)]
pub struct History {
    events: Vec<Arc<Event>>,
    trails: Vec<Trail>,
    by_uid: HashMap<String, usize>,
    by_kind: BTreeMap<Kind, Vec<usize>>,
    /// Trails by the UID of an owner.
    owned: HashMap<String, Vec<usize>>,
    /// Jobs and pods by the name of a `JobSet` on their label.
    labelled: HashMap<String, Vec<usize>>,
    jobs: BTreeMap<String, JobNamed>,
    calls: Vec<Call>,
    call_places: HashMap<u64, usize>,
    exchanges: Exchanges,
    faults: Vec<FaultSeen>,
    gaps: Vec<(u64, Gap)>,
    /// How many of the first events have no gap among them; all, where it is `None`.
    whole: Option<usize>,
    /// The place of the last version of each kind.
    last_of_kind: BTreeMap<Kind, usize>,
    latest_order: u64,
}

/// A call to the adapter: what was asked, and what became of it.
#[derive(Clone, Debug)]
pub struct Call {
    /// What was asked.
    pub invoked: CallInvoked,
    /// The number of the event.
    pub invoked_seq: u64,
    /// The store's revision before the call: what is at most this was there before it.
    pub invoked_order: Option<u64>,
    /// When it was sent.
    pub invoked_at: Timestamp,
    /// What became of it; `None` while that is open.
    pub answered: Option<Answered>,
}

/// What became of a call.
#[derive(Clone, Debug)]
pub struct Answered {
    /// What became of it.
    pub outcome: CallOutcome,
    /// The number of the event.
    pub seq: u64,
    /// The store's revision after the answer: what the call did is at most this.
    pub order: Option<u64>,
    /// When the answer came.
    pub at: Timestamp,
}

impl Call {
    /// The answer, if the call succeeded.
    pub fn ok(&self) -> Option<&Value> {
        match &self.answered.as_ref()?.outcome {
            CallOutcome::Ok(answer) => Some(answer),
            _ => None,
        }
    }

    /// The error, if the call failed definitely.
    pub fn failed(&self) -> Option<&dispatch_contract::CallError> {
        match &self.answered.as_ref()?.outcome {
            CallOutcome::Failed(error) => Some(error),
            _ => None,
        }
    }

    /// The UID that the call names in its input, or that Start answered.
    pub fn uid(&self) -> Option<&str> {
        let of = |value: &'_ Value| value.get("uid").and_then(Value::as_str).is_some();
        if of(&self.invoked.input) {
            return self.invoked.input.get("uid").and_then(Value::as_str);
        }
        self.ok().and_then(|answer| answer.get("uid")).and_then(Value::as_str)
    }

    /// The object's name that the call names in its input.
    pub fn name(&self) -> Option<&str> {
        self.invoked.input.get("name").and_then(Value::as_str)
    }

    /// The store's revisions before the call and after its answer, where both are known.
    pub fn orders(&self) -> Option<(u64, u64)> {
        Some((self.invoked_order?, self.answered_order()?))
    }

    /// The numbers of the call's event and of its answer's.
    pub fn events(&self) -> impl Iterator<Item = u64> + use<> {
        let answered = self.answered.as_ref().map(|answered| answered.seq);
        [self.invoked_seq].into_iter().chain(answered)
    }

    /// The store's revision after the answer.
    pub fn answered_order(&self) -> Option<u64> {
        self.answered.as_ref().and_then(|answered| answered.order)
    }
}

impl<E: Into<Arc<Event>>> FromIterator<E> for History {
    fn from_iter<I: IntoIterator<Item = E>>(events: I) -> Self {
        let mut history = Self::default();
        for event in events {
            history.push(event);
        }
        history
    }
}

/// Filling.
impl History {
    /// Adds the next event.
    pub fn push(&mut self, event: impl Into<Arc<Event>>) {
        let event = event.into();
        self.latest_order = self.latest_order.max(event.order.unwrap_or_default());
        let seq = event.seq;
        match &event.what {
            What::Version(version) => self.add_version(&event, version),
            What::JobNamed(named) => {
                self.jobs.insert(named.job.clone(), named.clone());
            }
            What::Gap(gap) => {
                // It is noticed late: what is missing of a kind may be anything since its last version.
                let last = |kind| self.last_of_kind.get(&kind).map_or(0, |last| last + 1);
                let place = gap.kind.map_or(self.events.len(), last);
                self.add_gap_since(place, seq, gap.clone());
            }
            What::CallInvoked(invoked) => {
                self.call_places.insert(invoked.call, self.calls.len());
                self.calls.push(Call {
                    invoked: invoked.clone(),
                    invoked_seq: seq,
                    invoked_order: event.order,
                    invoked_at: event.at,
                    answered: None,
                });
            }
            What::CallAnswered(answer) => {
                let call =
                    self.call_places.get(&answer.call).and_then(|at| self.calls.get_mut(*at));
                match call {
                    Some(call) => {
                        call.answered = Some(Answered {
                            outcome: answer.outcome.clone(),
                            seq,
                            order: event.order,
                            at: event.at,
                        });
                    }
                    None => self.add_gap(seq, None, "the call that is answered was not recorded"),
                }
            }
            What::Request(_)
            | What::RequestSent(_)
            | What::RequestEnded(_)
            | What::Delivered(_)
                if !self.exchanges.take(&event, self.latest_order) =>
            {
                self.add_gap(seq, None, "the request that this is about was not recorded");
            }
            What::Fault(fault) => {
                let order = event.order.or(Some(self.latest_order));
                self.faults.push(FaultSeen { seq, order, changed: fault.clone() });
            }
            _ => {}
        }
        self.events.push(event);
    }

    /// Nothing comes after what there is: what should have come is missing.
    pub fn close(&mut self) {
        if self.end().is_none() {
            let why = "the history has no end: the run that wrote it was cut off";
            self.push_gap(self.events.len(), why);
        }
        let open = self.calls.iter().find(|call| call.answered.is_none());
        if let Some((number, seq)) = open.map(|call| (call.invoked.call, call.invoked_seq)) {
            let place = self.events.partition_point(|event| event.seq <= seq);
            self.push_gap(place, &format!("what became of call {number} was not recorded"));
        }
    }

    /// Adds a gap that no event of the file tells of: nothing is missing before this place.
    pub(super) fn push_gap(&mut self, place: usize, why: &str) {
        let seq = self.events.last().map_or(0, |event| event.seq);
        self.add_gap_since(place, seq, Gap { kind: None, why: why.to_owned() });
    }

    fn add_gap(&mut self, seq: u64, kind: Option<Kind>, why: impl Into<String>) {
        self.add_gap_since(self.events.len(), seq, Gap { kind, why: why.into() });
    }

    fn add_gap_since(&mut self, place: usize, seq: u64, gap: Gap) {
        self.whole = Some(self.whole.map_or(place, |whole| whole.min(place)));
        self.gaps.push((seq, gap));
    }

    fn add_version(&mut self, event: &Event, version: &ObjectVersion) {
        let kind = version.kind;
        self.last_of_kind.insert(kind, self.events.len());
        let Some(order) = event.order else {
            return self.add_gap(event.seq, Some(kind), "the version has no order");
        };
        if !agrees_with_itself(order, version) {
            let why = format!("a version of {kind} {} contradicts itself", version.name);
            self.add_gap(event.seq, Some(kind), why);
        }
        let object = Object::read(kind, &version.object);
        if let Object::Unreadable(why) = &object {
            let why = format!("{kind} {} does not have the shape of its kind: {why}", version.name);
            self.add_gap(event.seq, Some(kind), why);
        }
        let place = match self.by_uid.get(&version.uid) {
            Some(place) => *place,
            None => self.add_trail(version),
        };
        self.add_owners(place, version);
        self.trails[place].insert(Version {
            seq: event.seq,
            index: self.events.len(),
            at: event.at,
            order,
            change: version.change,
            object,
        });
    }

    fn add_trail(&mut self, version: &ObjectVersion) -> usize {
        let place = self.trails.len();
        self.trails.push(Trail::new(version));
        self.by_uid.insert(version.uid.clone(), place);
        self.by_kind.entry(version.kind).or_default().push(place);
        let metadata = &version.object["metadata"];
        let jobset = metadata["labels"].get(names::JOBSET_NAME).and_then(Value::as_str);
        if let (Kind::Job | Kind::Pod, Some(jobset)) = (version.kind, jobset) {
            self.labelled.entry(jobset.to_owned()).or_default().push(place);
        }
        place
    }

    /// The owners of a version: some objects get one, or another, after they were made.
    fn add_owners(&mut self, place: usize, version: &ObjectVersion) {
        let owners = version.object["metadata"]["ownerReferences"].as_array();
        for owner in owners.into_iter().flatten().filter_map(|owner| owner["uid"].as_str()) {
            let owned = self.owned.entry(owner.to_owned()).or_default();
            if !owned.contains(&place) {
                owned.push(place);
            }
        }
    }
}

/// Whether the event of a version says of it what the object itself says.
fn agrees_with_itself(order: u64, version: &ObjectVersion) -> bool {
    let metadata = &version.object["metadata"];
    let says = |key: &str, text: &str| metadata[key].as_str().is_none_or(|it| it == text);
    let kind = version.object["kind"].as_str();
    version.resource_version == order.to_string()
        && says("resourceVersion", &version.resource_version)
        && says("uid", &version.uid)
        && says("name", &version.name)
        && kind.is_none_or(|kind| kind == version.kind.as_str())
}

/// The run.
impl History {
    /// All events, in the order of their recording.
    pub fn events(&self) -> &[Arc<Event>] {
        &self.events
    }

    /// What is run; `None` only where the history is empty.
    pub fn begin(&self) -> Option<&Begin> {
        self.events.iter().find_map(|event| match &event.what {
            What::Begin(begin) => Some(&**begin),
            _ => None,
        })
    }

    /// How the run ended; `None` while it lasts, or where the file was cut off.
    pub fn end(&self) -> Option<End> {
        self.events.iter().rev().find_map(|event| match event.what {
            What::End(end) => Some(end),
            _ => None,
        })
    }

    /// What was not recorded, with the number of the event that says so.
    pub fn gaps(&self) -> impl Iterator<Item = (u64, &Gap)> {
        self.gaps.iter().map(|(seq, gap)| (*seq, gap))
    }

    /// The events before the first gap: among these, none is missing. All, where there is no gap.
    pub fn before_gaps(&self) -> &[Arc<Event>] {
        &self.events[..self.whole.unwrap_or(self.events.len()).min(self.events.len())]
    }

    /// The calls to the adapter, in the order in which they were sent.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// The requests that passed the proxy, in the order in which they reached it.
    pub fn requests(&self) -> &[Exchange] {
        self.exchanges.all()
    }

    /// The request of this number.
    pub fn request(&self, request: u64) -> Option<&Exchange> {
        self.exchanges.get(request)
    }

    /// What happened with faults, in the order of the events.
    pub fn faults(&self) -> impl DoubleEndedIterator<Item = &FaultSeen> {
        self.faults.iter()
    }

    /// The greatest order of any event.
    pub fn latest_order(&self) -> u64 {
        self.latest_order
    }

    /// The job that the scenario calls so.
    pub fn job(&self, job: &str) -> Option<&JobNamed> {
        self.jobs.get(job)
    }

    /// The jobs of the scenario.
    pub fn jobs(&self) -> impl Iterator<Item = &JobNamed> {
        self.jobs.values()
    }

    /// The `TrainJob` or Job that the scenario calls so: the one of its UID, or while that is not
    /// known, the latest one of its name.
    pub fn object_of_job(&self, job: &str) -> Option<&Trail> {
        let named = self.job(job)?;
        match &named.uid {
            Some(uid) => self.object(uid),
            None => self.of_kind(named.kind).rfind(|trail| trail.name == named.name),
        }
    }
}

/// The objects.
impl History {
    /// The object of this UID.
    pub fn object(&self, uid: &str) -> Option<&Trail> {
        self.by_uid.get(uid).map(|place| &self.trails[*place])
    }

    /// All objects of a kind, in the order in which they were first seen.
    pub fn of_kind(&self, kind: Kind) -> impl DoubleEndedIterator<Item = &Trail> {
        let places = self.by_kind.get(&kind).map(Vec::as_slice).unwrap_or_default();
        places.iter().map(|place| &self.trails[*place])
    }

    /// The objects of dispatch: `TrainJobs` whose name has the grammar of an object's. Probes have
    /// other names.
    pub fn dispatch_objects(&self) -> impl Iterator<Item = &Trail> {
        self.of_kind(Kind::TrainJob).filter(|trail| ObjectName::matches(&trail.name))
    }

    /// The version as it was recorded, whole.
    pub fn raw(&self, version: &Version) -> Option<&Value> {
        match &self.events.get(version.index)?.what {
            What::Version(recorded) => Some(&recorded.object),
            _ => None,
        }
    }

    /// The Workloads that an object controls, in the order in which they were first seen.
    pub fn workloads_of(&self, uid: &str) -> Vec<&Trail> {
        self.owned_by(uid, Kind::Workload)
    }

    /// The `JobSets` that a `TrainJob` owns, in the order in which they were first seen.
    pub fn jobsets_of(&self, uid: &str) -> Vec<&Trail> {
        self.owned_by(uid, Kind::JobSet)
    }

    /// The Jobs of a `TrainJob`, by owner and by label.
    pub fn jobs_of(&self, uid: &str) -> Vec<&Trail> {
        self.descendants(uid, Kind::Job)
    }

    /// The pods of a `TrainJob`, of a `JobSet` or of a Job, by owner and by label.
    pub fn pods_of(&self, uid: &str) -> Vec<&Trail> {
        self.descendants(uid, Kind::Pod)
    }

    /// The pods of an object that live at this order.
    pub fn live_pods(&self, uid: &str, order: u64) -> Vec<&Trail> {
        self.pods_of(uid).into_iter().filter(|pod| pod.lives_at(order)).collect()
    }

    fn owned_by(&self, uid: &str, kind: Kind) -> Vec<&Trail> {
        let places = self.owned.get(uid).map(Vec::as_slice).unwrap_or_default();
        places.iter().map(|place| &self.trails[*place]).filter(|trail| trail.kind == kind).collect()
    }

    /// What is owned, directly or through others, and what carries the name of a `JobSet` of it on
    /// its label.
    fn descendants(&self, uid: &str, kind: Kind) -> Vec<&Trail> {
        let mut found = HashSet::new();
        let mut open = vec![uid];
        let mut seen = HashSet::from([uid]);
        while let Some(owner) = open.pop() {
            for place in self.owned.get(owner).into_iter().flatten() {
                if seen.insert(&self.trails[*place].uid) {
                    open.push(&self.trails[*place].uid);
                }
                found.insert(*place);
            }
        }
        found.extend(self.labelled_with(uid));
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_unstable();
        found.into_iter().map(|at| &self.trails[at]).filter(|trail| trail.kind == kind).collect()
    }

    /// What carries the name of a `TrainJob`, which its `JobSet` shares, on its label. Where the
    /// name was used more than once, the owner decides; without an owner that is known, the one
    /// that was there when the pod came.
    fn labelled_with(&self, uid: &str) -> Vec<usize> {
        let Some(trainjob) = self.object(uid).filter(|trail| trail.kind == Kind::TrainJob) else {
            return Vec::new();
        };
        let namesakes: Vec<_> = self
            .of_kind(Kind::TrainJob)
            .filter(|other| other.name == trainjob.name && other.namespace == trainjob.namespace)
            .collect();
        let places = self.labelled.get(&trainjob.name).map(Vec::as_slice).unwrap_or_default();
        let is_ours = |place: &&usize| {
            let trail = &self.trails[**place];
            let latest = namesakes.iter().rfind(|other| other.created() <= trail.created());
            trail.namespace == trainjob.namespace
                && latest.is_none_or(|latest| latest.uid == trainjob.uid)
                && !self.has_known_owner(trail)
        };
        places.iter().filter(is_ours).copied().collect()
    }

    fn has_known_owner(&self, trail: &Trail) -> bool {
        let metadata =
            trail.first().and_then(|version| self.raw(version)).map(|it| &it["metadata"]);
        let owners = metadata.and_then(|metadata| metadata["ownerReferences"].as_array());
        owners
            .into_iter()
            .flatten()
            .filter_map(|owner| owner["uid"].as_str())
            .any(|owner| self.by_uid.contains_key(owner))
    }
}
