//! What judges look at: the history, with what several of them need worked out once.

use std::collections::BTreeSet;

use dispatch_contract::resources::{CheckState, TrainJob, Workload};
use dispatch_contract::{AdmissionCount, ObjectName, names};
use jiff::Timestamp;
use serde_json::Value;

use super::requests::Requests;
use super::writer;
use crate::history::{
    Begin, Call, Event, Execution, History, Kind, Lives, Mode, Role, SubjectChange, SubjectChanged,
    Trail, Verb, Version, What,
};

/// A history, prepared for judging.
pub(super) struct Case<'a> {
    /// The history.
    pub(super) history: &'a History,
    /// Its first event.
    pub(super) begin: &'a Begin,
    /// The time of its last event.
    pub(super) ended: Timestamp,
    /// The objects that dispatch made.
    pub(super) objects: Vec<Family<'a>>,
    /// The probes of preflight.
    pub(super) probes: Vec<Family<'a>>,
    /// Every Workload, with whose it is.
    pub(super) workloads: Vec<Claimed<'a>>,
    /// The names of the `AdmissionChecks` that name dispatch's controller.
    pub(super) checks: BTreeSet<&'a str>,
    /// When a replica of the controller served.
    pub(super) served: Vec<Served>,
    /// When none was there, after one was.
    pub(super) down: Vec<Down>,
    /// The requests of the subjects.
    pub(super) requests: Requests<'a>,
}

/// A `TrainJob` with what belongs to it.
pub(super) struct Family<'a> {
    /// The `TrainJob`.
    pub(super) trainjob: &'a Trail,
    /// The Workloads that it owns directly.
    pub(super) workloads: Vec<&'a Trail>,
    /// Its `JobSets`.
    pub(super) jobsets: Vec<&'a Trail>,
    /// Its Jobs.
    pub(super) jobs: Vec<&'a Trail>,
    /// Its pods, in the order of their creation.
    pub(super) pods: Vec<&'a Trail>,
    /// When they lived.
    lives: Lives<'a>,
    /// Its executions.
    pub(super) executions: Vec<Execution<'a>>,
    /// The raises of its count, in their order.
    pub(super) raises: Vec<Raise<'a>>,
    /// Dispatch's checks becoming Ready on its Workloads, in their order.
    pub(super) readies: Vec<Ready<'a>>,
}

/// A version of a `TrainJob` in which the count rises.
#[derive(Clone, Copy)]
pub(super) struct Raise<'a> {
    /// The version before.
    pub(super) before: &'a Version,
    /// The version that has the new count.
    pub(super) after: &'a Version,
    /// The new count.
    pub(super) to: AdmissionCount,
}

/// A version of a Workload in which a check of dispatch's becomes Ready.
#[derive(Clone)]
pub(super) struct Ready<'a> {
    /// The Workload.
    pub(super) workload: &'a Trail,
    /// The check.
    pub(super) check: &'a str,
    /// The version before, from which the write was decided, since it carried its number.
    pub(super) before: Option<&'a Version>,
    /// The version in which it is Ready.
    pub(super) version: &'a Version,
}

/// A Workload and whose it is.
pub(super) struct Claimed<'a> {
    /// The Workload.
    pub(super) workload: &'a Trail,
    /// Whose it is.
    pub(super) claim: Claim<'a>,
}

/// Whose a Workload is (RG-03).
#[derive(Clone, Copy)]
pub(super) enum Claim<'a> {
    /// Of a `TrainJob` of dispatch's (an object or a probe) that owns it directly.
    Dispatch,
    /// Of a `TrainJob` of dispatch's, through another owner.
    ThroughAnother {
        /// That owner.
        by: &'a Trail,
    },
    /// Of somebody else.
    Foreign,
    /// It has no controller owner.
    Ownerless,
    /// The owner is a `TrainJob` that was never seen.
    Unread,
}

/// A time in which a replica of the controller served.
#[derive(Clone, Copy, Debug)]
pub(super) struct Served {
    /// Since when.
    pub(super) from: Timestamp,
    /// Until when, if it ended within the history.
    pub(super) until: Option<Timestamp>,
}

/// A time in which no replica of the controller was there, after one was.
#[derive(Clone, Copy, Debug)]
pub(super) struct Down {
    /// The store's revision once the last one was gone.
    pub(super) from: u64,
    /// The store's revision before the next one was started; the greatest number if none was.
    pub(super) until: u64,
    /// The event of the last one's end.
    pub(super) seq: u64,
}

impl<'a> Case<'a> {
    pub(super) fn new(history: &'a History, begin: &'a Begin) -> Self {
        let checks = checks(history, begin);
        let trainjobs: Vec<_> = history.of_kind(Kind::TrainJob).collect();
        let of = |class: Class| -> Vec<Family<'a>> {
            let of_class = trainjobs.iter().filter(|trail| classify(history, trail) == class);
            of_class.map(|trail| Family::new(history, trail, &checks)).collect()
        };
        let claimed = |workload| Claimed { workload, claim: claim(history, workload) };
        Self {
            history,
            begin,
            ended: history.events().last().map_or(Timestamp::UNIX_EPOCH, |event| event.at),
            objects: of(Class::Object),
            probes: of(Class::Probe),
            workloads: history.of_kind(Kind::Workload).map(claimed).collect(),
            served: served(history),
            down: down(history),
            requests: Requests::new(history, begin),
            checks,
        }
    }

    /// Whether Kueue opens and closes the objects.
    pub(super) fn is_kueue(&self) -> bool {
        self.begin.mode == Mode::Kueue
    }

    /// The calls of one kind for one object, by UID, or by name where no UID is known.
    pub(super) fn calls_for<'c>(
        &'c self,
        verb: Verb,
        trainjob: &'c Trail,
    ) -> impl Iterator<Item = &'c Call> {
        self.calls(verb).filter(move |call| match call.uid() {
            Some(uid) => uid == trainjob.uid,
            None => call.name() == Some(&trainjob.name),
        })
    }

    /// The calls of one kind.
    pub(super) fn calls(&self, verb: Verb) -> impl Iterator<Item = &'a Call> {
        self.history.calls().iter().filter(move |call| call.invoked.verb == verb)
    }

    /// The changes of a Workload's checks to Ready.
    pub(super) fn readies_of(&self, workload: &'a Trail) -> Vec<Ready<'a>> {
        readies(self.history, workload, &self.checks)
    }
}

impl<'a> Family<'a> {
    fn new(history: &'a History, trainjob: &'a Trail, checks: &BTreeSet<&'a str>) -> Self {
        let uid = &trainjob.uid;
        let lives = Lives::until_dead(&history.pods_of(uid));
        let workloads = history.workloads_of(uid);
        let mut readies: Vec<_> =
            workloads.iter().flat_map(|it| readies(history, it, checks)).collect();
        readies.sort_by_key(|ready| ready.version.order);
        Self {
            trainjob,
            jobsets: history.jobsets_of(uid),
            jobs: history.jobs_of(uid),
            executions: history.executions(uid),
            raises: raises(trainjob),
            pods: lives.all().to_vec(),
            lives,
            workloads,
            readies,
        }
    }

    /// The last raise before an order that is after another.
    pub(super) fn raise_between(&self, after: u64, before: u64) -> Option<&Raise<'a>> {
        let earlier = self.raises.partition_point(|raise| raise.after.order < before);
        let last = earlier.checked_sub(1).map(|last| &self.raises[last]);
        last.filter(|raise| after < raise.after.order)
    }

    /// The order of the last Ready before this one, on any of the object's Workloads; 0 if none.
    pub(super) fn last_ready(&self, ready: &Ready<'_>) -> u64 {
        let order = ready.version.order;
        let earlier = self.readies.partition_point(|it| it.version.order < order);
        earlier.checked_sub(1).map_or(0, |last| self.readies[last].version.order)
    }

    /// The raise that a Ready follows: the last one since the last Ready.
    pub(super) fn raise_for(&self, ready: &Ready<'_>) -> Option<&Raise<'a>> {
        self.raise_between(self.last_ready(ready), ready.version.order)
    }

    /// The pods that live at this order.
    pub(super) fn live_pods(&self, order: u64) -> impl Iterator<Item = &'a Trail> {
        self.lives.at(order)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Object,
    Probe,
    Foreign,
}

/// What a `TrainJob` is, by its first version: a raise makes any `TrainJob` look like dispatch's.
fn classify(history: &History, trail: &Trail) -> Class {
    let Some(first) = trail.first().and_then(Version::trainjob) else { return Class::Foreign };
    let by_suite = history.jobs().any(|job| !job.dispatch && job.name == trail.name);
    let labels = first.metadata.labels.as_ref();
    let is_probe = labels.is_some_and(|labels| labels.contains_key(names::PROBE));
    match () {
        () if by_suite => Class::Foreign,
        () if ObjectName::matches(&trail.name) => Class::Object,
        () if is_probe && first.dispatch_patch().is_some() => Class::Probe,
        () if first.is_dispatch() => Class::Object,
        () => Class::Foreign,
    }
}

/// Whether the controller has to take a `TrainJob` for dispatch's (RG-03).
pub(super) fn is_dispatch(trail: &Trail) -> bool {
    trail.first().and_then(Version::trainjob).is_some_and(TrainJob::is_dispatch)
}

fn claim<'a>(history: &'a History, workload: &'a Trail) -> Claim<'a> {
    let Some(first) = workload.first() else { return Claim::Ownerless };
    let Some(mut owner) = controller_owner(history, first) else { return Claim::Ownerless };
    let mut through = None;
    // Owners form no circle in a cluster; in a file that somebody wrote they might.
    for _ in 0..8 {
        let Some(trail) = owner["uid"].as_str().and_then(|uid| history.object(uid)) else {
            let is_ours = owner["name"].as_str().is_some_and(ObjectName::matches);
            let unread = owner["kind"] == "TrainJob" && is_ours;
            return if unread { Claim::Unread } else { Claim::Foreign };
        };
        if trail.kind == Kind::TrainJob && is_dispatch(trail) {
            return through.map_or(Claim::Dispatch, |by| Claim::ThroughAnother { by });
        }
        let above = trail.first().and_then(|first| controller_owner(history, first));
        let Some(above) = above else { return Claim::Foreign };
        through = through.or(Some(trail));
        owner = above;
    }
    Claim::Foreign
}

fn controller_owner<'a>(history: &'a History, version: &Version) -> Option<&'a Value> {
    let owners = history.raw(version)?["metadata"]["ownerReferences"].as_array()?;
    owners.iter().find(|owner| owner["controller"] == true)
}

fn checks<'a>(history: &'a History, begin: &'a Begin) -> BTreeSet<&'a str> {
    let controller = begin.controller_name.as_deref();
    let serves = |trail: &&Trail| {
        let raw = trail.first().and_then(|version| history.raw(version));
        let found = raw.and_then(|object| object["spec"]["controllerName"].as_str());
        controller.is_some() && found == controller
    };
    let named = history.of_kind(Kind::AdmissionCheck).filter(serves).map(|it| it.name.as_str());
    named.chain(begin.admission_check.as_deref()).collect()
}

/// The state of a check on a version of a Workload.
pub(super) fn check_state<'a>(version: &'a Version, check: &str) -> Option<&'a CheckState> {
    version.workload().and_then(|workload| workload.check(check)).map(|check| &check.state)
}

/// The changes to Ready that are not Kueue's own.
fn readies<'a>(
    history: &History,
    workload: &'a Trail,
    checks: &BTreeSet<&'a str>,
) -> Vec<Ready<'a>> {
    let is_kueues = |version: &Version, check: &str| {
        history.raw(version).is_some_and(|object| writer::is_kueues(object, check))
    };
    let ready = |version: &Version, check: &str| {
        check_state(version, check) == Some(&CheckState::Ready) && !version.is_deletion()
    };
    let mut found = Vec::new();
    let mut before: Option<&Version> = None;
    for version in workload.versions() {
        for check in checks {
            let becomes = ready(version, check) && !before.is_some_and(|it| ready(it, check));
            if becomes && !is_kueues(version, check) {
                found.push(Ready { workload, check, before, version });
            }
        }
        before = Some(version);
    }
    found
}

fn raises(trainjob: &Trail) -> Vec<Raise<'_>> {
    let changes = trainjob.changes().filter(|(_, after)| !after.is_deletion());
    changes
        .filter_map(|(before, after)| {
            let to = count(after)?;
            (count(before).is_none_or(|from| from < to)).then_some(Raise { before, after, to })
        })
        .collect()
}

/// The readable count of a version of a `TrainJob`.
pub(super) fn count(version: &Version) -> Option<AdmissionCount> {
    version.trainjob()?.admission_count()?.ok()
}

/// The changes of the controller's replicas.
fn replicas(history: &History) -> impl Iterator<Item = (&Event, &SubjectChanged)> {
    history.events().iter().filter_map(|event| match &event.what {
        What::Subject(subject) if subject.role == Role::Controller => Some((event, subject)),
        _ => None,
    })
}

fn served(history: &History) -> Vec<Served> {
    let mut up = BTreeSet::new();
    let mut frozen = BTreeSet::new();
    let mut found: Vec<Served> = Vec::new();
    for (event, subject) in replicas(history) {
        let change = subject.change;
        match change {
            // One that was frozen before it was ready goes on to become so.
            SubjectChange::Thawed if !frozen.remove(&subject.replica) => {}
            SubjectChange::Ready | SubjectChange::Thawed => {
                if up.is_empty() {
                    found.push(Served { from: event.at, until: None });
                }
                up.insert(subject.replica);
            }
            SubjectChange::Started => {}
            SubjectChange::Frozen
            | SubjectChange::Stopped
            | SubjectChange::Killed
            | SubjectChange::Died => {
                frozen.remove(&subject.replica);
                if change == SubjectChange::Frozen && up.contains(&subject.replica) {
                    frozen.insert(subject.replica);
                }
                let was_last = up.remove(&subject.replica) && up.is_empty();
                if let (true, Some(last)) = (was_last, found.last_mut()) {
                    last.until = Some(event.at);
                }
            }
        }
    }
    found
}

fn down(history: &History) -> Vec<Down> {
    let mut there = BTreeSet::new();
    let mut found: Vec<Down> = Vec::new();
    for (event, subject) in replicas(history) {
        match subject.change {
            // One that stands still may have sent something that is still on its way.
            SubjectChange::Frozen | SubjectChange::Thawed => {}
            SubjectChange::Started | SubjectChange::Ready => {
                let open = found.last_mut().filter(|down| down.until == u64::MAX);
                if let (true, Some(down)) = (there.is_empty(), open) {
                    down.until = event.order.unwrap_or(down.from);
                }
                there.insert(subject.replica);
            }
            SubjectChange::Stopped | SubjectChange::Killed | SubjectChange::Died => {
                let was_last = there.remove(&subject.replica) && there.is_empty();
                if let (true, Some(from)) = (was_last, event.order) {
                    found.push(Down { from, until: u64::MAX, seq: event.seq });
                }
            }
        }
    }
    found
}

/// Whether a Workload is where the controller acts: quota reserved, and neither evicted, admitted,
/// finished, deactivated nor on its way out (RG-01). `Err` says what stands against it.
pub(super) fn may_act(workload: &Workload) -> Result<(), &'static str> {
    let against: [(bool, &'static str); 6] = [
        (!workload.is("QuotaReserved"), "it had no quota reserved"),
        (workload.is("Evicted"), "it was being evicted"),
        (workload.is("Admitted"), "it was admitted"),
        (workload.is("Finished"), "it had finished"),
        (!workload.is_active(), "it was deactivated"),
        (workload.metadata.deletion_timestamp.is_some(), "it was being deleted"),
    ];
    against.iter().find(|(is, _)| *is).map_or(Ok(()), |(_, why)| Err(why))
}

/// The versions of several objects, in the order of the store.
pub(super) fn merged<'a>(
    trails: impl IntoIterator<Item = &'a Trail>,
) -> Vec<(&'a Trail, &'a Version)> {
    let versions = |trail: &'a Trail| trail.versions().iter().map(move |version| (trail, version));
    let mut all: Vec<_> = trails.into_iter().flat_map(versions).collect();
    all.sort_by_key(|(_, version)| version.order);
    all
}
