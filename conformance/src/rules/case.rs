//! What judges look at: the history, with what several of them need worked out once.

use std::collections::{BTreeMap, BTreeSet};

use dispatch_contract::resources::{CheckState, TrainJob, Workload};
use dispatch_contract::{AdmissionCount, ObjectName, names};
use jiff::Timestamp;
use serde_json::Value;

use super::requests::Requests;
use crate::history::{
    Account, Begin, Call, Exchange, History, Kind, Mode, Role, Trail, Verb, Version,
};

mod family;
mod subjects;

pub(super) use family::{Family, Raise, Ready};
pub(super) use subjects::{Down, Incarnation, Served};

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
    /// The processes of the controller's replicas.
    pub(super) incarnations: Vec<Incarnation>,
    /// The requests of the subjects.
    pub(super) requests: Requests<'a>,
    /// What the containers said of themselves, by the UID of their pod.
    pub(super) accounts: BTreeMap<&'a str, Account<'a>>,
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

impl<'a> Case<'a> {
    pub(super) fn new(history: &'a History, begin: &'a Begin) -> Self {
        let checks = checks(history, begin);
        let requests = Requests::new(history, begin);
        let trainjobs: Vec<_> = history.of_kind(Kind::TrainJob).collect();
        let of = |class: Class| -> Vec<Family<'a>> {
            let of_class =
                trainjobs.iter().filter(|trail| classify(history, &requests, trail) == class);
            of_class.map(|trail| Family::new(history, &requests, trail, &checks)).collect()
        };
        let claimed = |workload| Claimed { workload, claim: claim(history, workload) };
        Self {
            history,
            begin,
            ended: history.events().last().map_or(Timestamp::UNIX_EPOCH, |event| event.at),
            objects: of(Class::Object),
            probes: of(Class::Probe),
            workloads: history.of_kind(Kind::Workload).map(claimed).collect(),
            served: subjects::served(history),
            down: subjects::down(history),
            incarnations: subjects::incarnations(history),
            checks,
            requests,
            accounts: history.accounts(),
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
        family::readies(self.history, &self.requests, workload, &self.checks)
    }

    /// The process of a replica that sent a request; `None` where its start was not recorded.
    pub(super) fn process_of(&self, exchange: &Exchange) -> Option<Incarnation> {
        if exchange.request.from.role != Role::Controller {
            return None;
        }
        let is_its = |it: &&Incarnation| {
            it.replica == exchange.request.from.replica && it.from < exchange.seq
        };
        self.incarnations.iter().rfind(is_its).copied()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Object,
    Probe,
    Foreign,
}

/// What a `TrainJob` is, by its first version: a raise makes any `TrainJob` look like dispatch's.
fn classify(history: &History, requests: &Requests<'_>, trail: &Trail) -> Class {
    let Some(first) = trail.first().and_then(Version::trainjob) else { return Class::Foreign };
    let by_suite = history.jobs().any(|job| !job.dispatch && job.name == trail.name);
    let labels = first.metadata.labels.as_ref();
    let is_labelled = labels.is_some_and(|labels| labels.contains_key(names::PROBE));
    let made_by = requests.that_made(Kind::TrainJob, trail.created());
    let made_by = made_by.and_then(|create| requests.call_of(create));
    let is_probe = is_labelled || made_by.is_some_and(|it| it.invoked.verb == Verb::Preflight);
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

/// Whether an object has this owner in this version.
pub(super) fn is_owned(history: &History, version: &Version, uid: &str) -> bool {
    let owners = history.raw(version).and_then(|raw| raw["metadata"]["ownerReferences"].as_array());
    owners.into_iter().flatten().any(|owner| owner["uid"] == uid)
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

/// The readable count of a version of a `TrainJob`.
pub(super) fn count(version: &Version) -> Option<AdmissionCount> {
    version.trainjob()?.admission_count()?.ok()
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
