//! An object, with everything that belongs to it.

use std::collections::BTreeSet;

use dispatch_contract::AdmissionCount;
use dispatch_contract::resources::CheckState;

use super::{check_state, count};
use crate::history::{Execution, History, Lives, Subject, Trail, Version};
use crate::rules::requests::Requests;
use crate::rules::writer::{self, Author};

/// A `TrainJob` with what belongs to it.
pub(in crate::rules) struct Family<'a> {
    /// The `TrainJob`.
    pub(in crate::rules) trainjob: &'a Trail,
    /// The Workloads that it owns directly.
    pub(in crate::rules) workloads: Vec<&'a Trail>,
    /// Its `JobSets`.
    pub(in crate::rules) jobsets: Vec<&'a Trail>,
    /// Its Jobs.
    pub(in crate::rules) jobs: Vec<&'a Trail>,
    /// Its pods, in the order of their creation.
    pub(in crate::rules) pods: Vec<&'a Trail>,
    /// When they lived.
    lives: Lives<'a>,
    /// Its executions.
    pub(in crate::rules) executions: Vec<Execution<'a>>,
    /// The raises of its count, in their order.
    pub(in crate::rules) raises: Vec<Raise<'a>>,
    /// Dispatch's checks becoming Ready on its Workloads, in their order.
    pub(in crate::rules) readies: Vec<Ready<'a>>,
}

/// A version of a `TrainJob` in which the count rises.
#[derive(Clone, Copy)]
pub(in crate::rules) struct Raise<'a> {
    /// The version before.
    pub(in crate::rules) before: &'a Version,
    /// The version that has the new count.
    pub(in crate::rules) after: &'a Version,
    /// The new count.
    pub(in crate::rules) to: AdmissionCount,
    /// The replica that wrote it, where that is known.
    pub(in crate::rules) by: Option<Subject>,
}

/// A version of a Workload in which a check of dispatch's becomes Ready.
#[derive(Clone)]
pub(in crate::rules) struct Ready<'a> {
    /// The Workload.
    pub(in crate::rules) workload: &'a Trail,
    /// The check.
    pub(in crate::rules) check: &'a str,
    /// The version before, from which the write was decided, since it carried its number.
    pub(in crate::rules) before: Option<&'a Version>,
    /// The version in which it is Ready.
    pub(in crate::rules) version: &'a Version,
    /// The replica that wrote it, where that is known.
    pub(in crate::rules) by: Option<Subject>,
}

impl<'a> Family<'a> {
    pub(super) fn new(
        history: &'a History,
        requests: &Requests<'a>,
        trainjob: &'a Trail,
        checks: &BTreeSet<&'a str>,
    ) -> Self {
        let uid = &trainjob.uid;
        let lives = Lives::until_dead(&history.pods_of(uid));
        let workloads = history.workloads_of(uid);
        let readies = workloads.iter().flat_map(|it| readies(history, requests, it, checks));
        // A Workload that was nobody's became Ready as such.
        let mut readies: Vec<_> =
            readies.filter(|ready| super::is_owned(history, ready.version, uid)).collect();
        readies.sort_by_key(|ready| ready.version.order);
        Self {
            trainjob,
            jobsets: history.jobsets_of(uid),
            jobs: history.jobs_of(uid),
            executions: history.executions(uid),
            raises: raises(requests, trainjob),
            pods: lives.all().to_vec(),
            lives,
            workloads,
            readies,
        }
    }

    /// The order of the last Ready before this one, on any of the object's Workloads; 0 if none.
    pub(in crate::rules) fn last_ready(&self, ready: &Ready<'_>) -> u64 {
        let order = ready.version.order;
        let earlier = self.readies.partition_point(|it| it.version.order < order);
        earlier.checked_sub(1).map_or(0, |last| self.readies[last].version.order)
    }

    /// The raise that a Ready follows: the last one since the last Ready, by the replica that wrote
    /// the Ready where that made one. Another replica may raise at the same time, and what that one
    /// read says nothing of this one.
    pub(in crate::rules) fn raise_for(&self, ready: &Ready<'_>) -> Option<&Raise<'a>> {
        let since = self.raises_for(ready);
        let own = since.iter().rfind(|raise| raise.by.is_some() && raise.by == ready.by);
        own.or(since.last())
    }

    /// That raise, and those of other replicas until the Ready: whatever came later counts as well.
    pub(in crate::rules) fn raised_for(&self, ready: &Ready<'_>) -> &[Raise<'a>] {
        let all = self.raises_for(ready);
        let own = self.raise_for(ready).map_or(0, |raise| raise.after.order);
        &all[all.partition_point(|raise| raise.after.order < own)..]
    }

    /// The raises since the last Ready before this one.
    pub(in crate::rules) fn raises_for(&self, ready: &Ready<'_>) -> &[Raise<'a>] {
        let (after, before) = (self.last_ready(ready), ready.version.order);
        let from = self.raises.partition_point(|raise| raise.after.order <= after);
        let to = self.raises.partition_point(|raise| raise.after.order < before);
        self.raises.get(from..to).unwrap_or_default()
    }

    /// The pods that live at this order.
    pub(in crate::rules) fn live_pods(&self, order: u64) -> impl Iterator<Item = &'a Trail> {
        self.lives.at(order)
    }
}

/// The changes to Ready that the controller may have made.
pub(super) fn readies<'a>(
    history: &History,
    requests: &Requests<'a>,
    workload: &'a Trail,
    checks: &BTreeSet<&'a str>,
) -> Vec<Ready<'a>> {
    let ready = |version: &Version, check: &str| {
        check_state(version, check) == Some(&CheckState::Ready) && !version.is_deletion()
    };
    let mut found = Vec::new();
    let mut before: Option<&Version> = None;
    for version in workload.versions() {
        for check in checks {
            let becomes = ready(version, check) && !before.is_some_and(|it| ready(it, check));
            if !becomes {
                continue;
            }
            let by = match writer::author(requests, workload, version) {
                Author::Controller(by) => Some(by),
                Author::Another => continue,
                Author::Unknown => {
                    let raw = history.raw(version);
                    if raw.is_some_and(|object| writer::is_kueues(object, check)) {
                        continue;
                    }
                    None
                }
            };
            found.push(Ready { workload, check, before, version, by });
        }
        before = Some(version);
    }
    found
}

/// The rises of the count that the controller may have made.
fn raises<'a>(requests: &Requests<'a>, trainjob: &'a Trail) -> Vec<Raise<'a>> {
    let changes = trainjob.changes().filter(|(_, after)| !after.is_deletion());
    changes
        .filter_map(|(before, after)| {
            let to = count(after)?;
            if count(before).is_some_and(|from| from >= to) {
                return None;
            }
            let by = match writer::author(requests, trainjob, after) {
                Author::Controller(by) => Some(by),
                // In plain mode Open raises, and Release.
                Author::Another if requests.is_kueue() => return None,
                Author::Another | Author::Unknown => None,
            };
            Some(Raise { before, after, to, by })
        })
        .collect()
}
