//! The scheduler: gives quota to Workloads, one ClusterQueue at a time, and takes it from others.
//!
//! It keeps what it has decided, and not seen yet: quota that it has given counts from the decision
//! on, and is there again once the Workload says so (Kueue `pkg/scheduler/scheduler.go`,
//! `pkg/cache/scheduler`, `pkg/cache/queue`).

mod assignment;
mod heads;
mod preemption;

use std::cell::RefCell;
use std::time::Duration;

use serde_json::json;

use crate::api::{Failure, Request, Verb};
use crate::component::{Change, Controller, Key, Next, Plan, View};
use crate::object::{Object, name, namespace};
use crate::resource::{
    ADMISSION_CHECK, CLUSTER_QUEUE, LOCAL_QUEUE, NAMESPACE, RESOURCE_FLAVOR, Resource, WORKLOAD,
};

use self::assignment::{Assignment, Mode};
use self::heads::{Parked, State};
use super::features::Features;
use super::queue::{self, usage};
use super::workload::checks;
use super::workload::status::{Draft, Versioned};
use super::workload::{admitted_by, takes_quota};

const ADMIT: &str = "Kueue pkg/scheduler/scheduler.go, admit: without a version";
const REQUEUE: &str = "Kueue pkg/scheduler/scheduler.go, requeueAndUpdate: without a version";

/// The scheduler.
pub(super) struct Scheduler {
    features: Features,
    state: RefCell<State>,
}

impl Scheduler {
    pub(super) fn new(features: Features) -> Self {
        Self { features, state: RefCell::default() }
    }

    /// What takes quota of a ClusterQueue: as seen, and as decided.
    fn reserving(&self, view: &View, cluster_queue: &str) -> Vec<Object> {
        let state = self.state.borrow();
        let seen = view.all(WORKLOAD).filter(|it| takes_quota(it));
        let seen = seen.filter(|it| !state.is_assumed(&Key::of(it)));
        let all = seen.chain(state.assumed());
        all.filter(|it| admitted_by(it) == cluster_queue).cloned().collect()
    }

    /// Looks at the first Workload of a queue.
    fn look(&mut self, cycle: &Cycle<'_>) -> Plan {
        let workload = cycle.workload;
        let (key, source) = (Key::of(workload), REQUEUE);
        if let Some(message) = cycle.refused() {
            self.state.get_mut().park(key, Parked::Inadmissible);
            return cycle.pending(&message, source);
        }
        let assignment =
            Assignment::of(cycle.cluster_queue, workload, cycle.view, &cycle.reserving);
        if assignment.mode() == Mode::Fit {
            return self.admit(cycle, &assignment);
        }
        let mut message = assignment.message();
        let targets = match assignment.mode() {
            Mode::Preempt => preemption::targets(
                cycle.cluster_queue,
                workload,
                &assignment.amounts(),
                &cycle.reserving,
                cycle.now,
            ),
            _ => Vec::new(),
        };
        if targets.is_empty() {
            self.state.get_mut().park(key, Parked::Inadmissible);
            return cycle.pending(&message, source);
        }
        let evictions = preemption::evictions(cycle.cluster_queue, workload, &targets, cycle.now);
        self.state.get_mut().park(key, Parked::PendingPreemption);
        message = format!("{message}. Pending the preemption of {} workload(s)", targets.len());
        evictions.with(cycle.pending(&message, source))
    }

    /// Gives it quota; in the same write it is admitted, if all checks are Ready already.
    fn admit(&mut self, cycle: &Cycle<'_>, assignment: &Assignment) -> Plan {
        let mut draft = Draft::of(cycle.workload, cycle.now);
        draft.set_quota_reservation(json!({
            "clusterQueue": name(cycle.cluster_queue),
            "podSetAssignments": assignment.pod_sets(),
        }));
        let asked = checks::of_cluster_queue(cycle.cluster_queue, draft.workload());
        if checks::has_all(draft.workload(), &asked) {
            draft.sync_admitted();
        }
        self.state.get_mut().assume(draft.workload().clone());
        // Kueue writes it in a goroutine of its own, and goes on with the next one.
        Plan::one(draft.apply(Versioned::Loose), ADMIT).aside()
    }
}

/// One look at one Workload, with all that it takes.
struct Cycle<'a> {
    view: &'a View,
    cluster_queue: &'a Object,
    workload: &'a Object,
    reserving: Vec<Object>,
    now: jiff::Timestamp,
}

impl Cycle<'_> {
    /// Why it is not even considered.
    fn refused(&self) -> Option<String> {
        let failed = ["Retry", "Rejected"]
            .iter()
            .any(|state| !checks::in_state(self.workload, state).is_empty());
        if failed {
            return Some("The workload has failed admission checks".to_owned());
        }
        let Some(of) = self.view.get(NAMESPACE, "", namespace(self.workload)) else {
            let name = namespace(self.workload);
            return Some(format!(
                "Could not obtain workload namespace: Namespace \"{name}\" not found"
            ));
        };
        let matches = heads::selects(&self.cluster_queue["spec"]["namespaceSelector"], of);
        (!matches).then(|| "Workload namespace doesn't match ClusterQueue selector".to_owned())
    }

    /// It goes on waiting, and says why.
    fn pending(&self, message: &str, source: &'static str) -> Plan {
        let mut draft = Draft::of(self.workload, self.now);
        let unset = draft.unset_quota_reservation("Pending", message);
        let told = usage::told(&usage::requests(self.workload));
        if draft.set_resource_requests(told) || unset {
            return Plan::one(draft.apply(Versioned::Loose), source);
        }
        Plan::nothing()
    }
}

impl Controller for Scheduler {
    fn name(&self) -> &'static str {
        "scheduler"
    }

    fn watches(&self) -> &'static [&'static Resource] {
        static WATCHED: [&Resource; 6] =
            [WORKLOAD, CLUSTER_QUEUE, LOCAL_QUEUE, ADMISSION_CHECK, RESOURCE_FLAVOR, NAMESPACE];
        &WATCHED
    }

    fn wakes(&self, view: &View, change: &Change<'_>) -> Vec<Key> {
        self.state.borrow_mut().see(view, change)
    }

    fn reconcile(&mut self, view: &View, key: &Key, now: jiff::Timestamp) -> Plan {
        let Some(cluster_queue) = view.get(CLUSTER_QUEUE, "", &key.name) else {
            return Plan::nothing();
        };
        if queue::readiness(view, cluster_queue).is_err() {
            return Plan::nothing();
        }
        let head = self.state.get_mut().head(view, cluster_queue, self.features, now);
        let Some(workload) = head else { return Plan::nothing() };
        let reserving = self.reserving(view, name(cluster_queue));
        let plan = self.look(&Cycle { view, cluster_queue, workload, reserving, now });
        // Whoever is next.
        plan.again(Duration::from_millis(1))
    }

    fn answered(
        &mut self,
        _key: &Key,
        request: &Request,
        answer: &Result<&Object, Failure>,
    ) -> Next {
        if answer.is_ok() {
            return Next::GoOn;
        }
        let state = self.state.get_mut();
        state.unpark_all();
        if let Verb::Apply(body, ..) = &request.verb {
            state.forget(&Key::of(body));
        }
        Next::TryAgain
    }
}

#[cfg(test)]
mod tests;
