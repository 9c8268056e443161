//! The controller of `TrainJob`s (Trainer `pkg/controller/trainjob_controller.go`).

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::MANAGER;
use super::job_set::{job_set, runtime_of};
use super::status::{DEADLINE_EXCEEDED, Deadline, Status};
use crate::api::{Delete, Failure, Request, Verb};
use crate::component::{Change, Controller, Key, Next, Plan, View};
use crate::event::{Told, newer_event};
use crate::object::{Object, controller, is, name, namespace, text};
use crate::resource::{
    CLUSTER_TRAINING_RUNTIME, EVENT, JOB_SET, Resource, TRAIN_JOB, TRAINING_RUNTIME,
};

/// How much of an error an Event carries, in bytes.
const LONGEST_ERROR: usize = 950;

/// Makes the `JobSet` of each `TrainJob`, and its status.
#[derive(Default)]
pub(super) struct TrainJobs {
    /// What went wrong with the objects of a `TrainJob`, and was not told yet.
    untold: BTreeMap<Key, String>,
    /// How many requests of a plan are not answered yet, and whether one was refused.
    under_way: BTreeMap<Key, (usize, bool)>,
}

impl Controller for TrainJobs {
    fn name(&self) -> &'static str {
        "trainjob"
    }

    fn watches(&self) -> &'static [&'static Resource] {
        static KINDS: [&Resource; 4] =
            [TRAIN_JOB, JOB_SET, TRAINING_RUNTIME, CLUSTER_TRAINING_RUNTIME];
        &KINDS
    }

    fn wakes(&self, _view: &View, change: &Change<'_>) -> Vec<Key> {
        if *change.resource == *TRAIN_JOB {
            return vec![Key::of(change.object)];
        }
        // A runtime that changes wakes nobody: its new state is used when somebody else does.
        let owner = controller(change.object).filter(|it| it["kind"] == TRAIN_JOB.kind);
        let owner = owner.filter(|_| *change.resource == *JOB_SET);
        owner.map(|it| Key::new(namespace(change.object), text(it, "/name"))).into_iter().collect()
    }

    /// It does not look at the deletion timestamp: a `TrainJob` that is being deleted gets its
    /// `JobSet` anew (measured).
    fn reconcile(&mut self, view: &View, key: &Key, now: Timestamp) -> Plan {
        let Some(train_job) = view.get(TRAIN_JOB, &key.namespace, &key.name) else {
            self.untold.remove(key);
            self.under_way.remove(key);
            return Plan::nothing();
        };
        let mut plan = self.tell(key, train_job, now);
        let mut status = Status::of(train_job);
        let made = view.get(JOB_SET, &key.namespace, &key.name);
        match runtime_of(train_job) {
            None => {
                let message = format!("unsupported runtime: {}", runtime_kind(train_job));
                status.fail("TrainingRuntimeNotSupported", &message, now);
            }
            Some(_) if status.is_finished() => {}
            Some(runtime) => match objects(view, train_job, made, runtime) {
                Ok(applied) => plan = plan.with(applied),
                Err(error) => {
                    self.untold.insert(key.clone(), error);
                    plan = plan.with(self.tell(key, train_job, now));
                }
            },
        }
        status.suspend(train_job, now);
        if let Some(made) = made {
            status.follow(made);
        }
        plan = plan.with(finish(train_job, status, now));
        self.under_way.insert(key.clone(), (plan.requests.len(), false));
        plan
    }

    fn answered(
        &mut self,
        key: &Key,
        request: &Request,
        answer: &Result<&Object, Failure>,
    ) -> Next {
        let is_of = |resource: &Resource| *request.resource == *resource;
        let under_way = self.under_way.entry(key.clone()).or_default();
        under_way.0 = under_way.0.saturating_sub(1);
        if let Err(failure) = answer {
            // A JobSet that is not deleted at the deadline is not tried again (reconcileDeadline).
            if is_of(JOB_SET) && matches!(request.verb, Verb::Apply(..)) {
                under_way.1 = true;
                self.untold.insert(key.clone(), failure.message.clone());
            } else if is_of(TRAIN_JOB) && failure.code != 404 {
                under_way.1 = true;
            }
        }
        match *under_way {
            (0, true) => Next::TryAgain,
            _ => Next::GoOn,
        }
    }
}

impl TrainJobs {
    /// Tells what went wrong the last time.
    fn tell(&mut self, key: &Key, train_job: &Value, now: Timestamp) -> Plan {
        let Some(error) = self.untold.remove(key) else { return Plan::nothing() };
        let mut end = error.len().min(LONGEST_ERROR);
        while !error.is_char_boundary(end) {
            end -= 1;
        }
        let dots = if end < error.len() { " ..." } else { "" };
        let message = format!("TrainJob resources reconciliation failed: {}{dots}", &error[..end]);
        let told = Told {
            warning: true,
            reason: "TrainJobResourcesCreationFailed",
            message: &message,
            component: "trainer-trainjob-controller",
        };
        let request = newer_event(train_job, told, "Reconciling", MANAGER, now);
        debug_assert!(*request.resource == *EVENT, "events are what is told");
        Plan::one(request, "Trainer pkg/controller/trainjob_controller.go, Reconcile")
    }
}

/// Applies the `JobSet` where there is none, or either it or the `TrainJob` is suspended. One that
/// runs is left as it is (Trainer `plugins/jobset`, `Build`).
fn objects(
    view: &View,
    train_job: &Value,
    made: Option<&Value>,
    (kind, within, named): (&'static Resource, &str, &str),
) -> Result<Plan, String> {
    let Some(runtime) = view.get(kind, within, named) else {
        let missing = Failure::not_found(kind, named).message;
        let what = if *kind == *TRAINING_RUNTIME {
            "TrainingRuntime specified in TrainJob is not found"
        } else {
            "not found ClusterTrainingRuntime specified in TrainJob"
        };
        return Err(format!("{what}: {missing}"));
    };
    let wanted = job_set(train_job, runtime).map_err(|unsupported| unsupported.to_string())?;
    let runs = |it: &Value| !is(it, "/spec/suspend");
    if made.is_some_and(runs) && runs(train_job) {
        return Ok(Plan::nothing());
    }
    let request = Request::apply(JOB_SET, wanted, "trainer");
    Ok(Plan::one(request, "Trainer pkg/controller/trainjob_controller.go, reconcileObjects"))
}

/// Writes the status. When nothing has changed an empty patch is sent all the same, except while a
/// deadline runs (measured: it compares a pointer with a value, which are never equal).
fn finish(train_job: &Value, mut status: Status, now: Timestamp) -> Plan {
    const SOURCE: &str = "Trainer pkg/controller/trainjob_controller.go, reconcileDeadline";
    let mut plan = Plan::nothing();
    let deadline = status.until_deadline(train_job, now);
    if deadline == Some(Deadline::Passed) {
        let message = "TrainJob exceeded its active deadline";
        status.fail(DEADLINE_EXCEEDED, message, now);
        let mut delete = Request::get(JOB_SET, namespace(train_job), name(train_job));
        delete.verb = Verb::Delete(Delete::default());
        plan = plan.and(delete, SOURCE);
    }
    let patch = status.patch(train_job);
    if let Some(Deadline::In(left)) = deadline {
        plan = plan.again(left);
        if patch == serde_json::json!({}) {
            return plan;
        }
    }
    let (within, named) = (namespace(train_job), name(train_job));
    let request = Request::merge_patch(TRAIN_JOB, within, named, patch, MANAGER).on("status");
    plan.and(request, "Trainer pkg/controller/trainjob_controller.go, Reconcile")
}

fn runtime_kind(train_job: &Value) -> String {
    let (kind, group) = ("/spec/runtimeRef/kind", "/spec/runtimeRef/apiGroup");
    format!("{}.{}", text(train_job, kind), text(train_job, group))
}

#[cfg(test)]
mod tests;
