//! The controller of Jobs (Kubernetes `pkg/controller/job`).

mod backoff;
mod expectations;
mod indexes;
mod orphans;
mod pods;
mod status;
mod sync;
mod turns;

use std::cell::RefCell;
use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use self::backoff::Backoff;
use self::expectations::Expectations;
use self::pods::{is_tracked, job_of};
use self::turns::Turns;
use crate::api::{Failure, Request, Verb};
use crate::component::{Change, Controller, Key, Next, Plan, View};
use crate::object::{Object, is_terminating, items, number, text, uid};
use crate::resource::{EVENT, JOB, POD, Resource};

pub(super) use orphans::OrphanPods;

/// Who manages Jobs that do not say.
const SELF: &str = "kubernetes.io/job-controller";

/// How many Jobs it works on at once (`--concurrent-job-syncs`).
const WORKERS: usize = 5;

/// Makes the pods of each Job, and its status.
#[derive(Default)]
pub(super) struct Jobs {
    expectations: RefCell<Expectations>,
    turns: RefCell<Turns>,
    backoff: BTreeMap<Key, Backoff>,
    /// The failures that were counted in the plan under way, to be kept once the status is written.
    counting: BTreeMap<Key, Backoff>,
}

impl Controller for Jobs {
    fn name(&self) -> &'static str {
        "job"
    }

    fn workers(&self) -> usize {
        WORKERS
    }

    fn watches(&self) -> &'static [&'static Resource] {
        static KINDS: [&Resource; 2] = [JOB, POD];
        &KINDS
    }

    fn wakes(&self, _view: &View, change: &Change<'_>) -> Vec<Key> {
        if *change.resource == *JOB {
            let key = Key::of(change.object);
            let generation = |it: &Value| number(it, "/metadata/generation");
            let same = change.before.map(generation) == Some(generation(change.object));
            if change.deleted || !same {
                self.turns.borrow_mut().at_once(&key);
            } else {
                self.turns.borrow_mut().batched(&key);
            }
            return vec![key];
        }
        let Some((key, _)) = job_of(change.object) else { return Vec::new() };
        let mut expectations = self.expectations.borrow_mut();
        if change.deleted || is_terminating(change.object) {
            expectations.deletion_seen(&key);
        } else if change.before.is_none() {
            expectations.creation_seen(&key);
        }
        if change.deleted || !is_tracked(change.object) {
            expectations.untracked(uid(change.object));
        }
        self.turns.borrow_mut().batched(&key);
        vec![key]
    }

    fn reconcile(&mut self, view: &View, key: &Key, now: Timestamp) -> Plan {
        if let Some(wait) = self.turns.borrow_mut().wait(key, now) {
            return Plan::nothing().again(wait);
        }
        let Some(job) = view.get(JOB, &key.namespace, &key.name) else {
            self.expectations.borrow_mut().forget(key);
            self.turns.borrow_mut().forget(key);
            self.backoff.remove(key);
            return Plan::nothing();
        };
        if !matches!(text(job, "/spec/managedBy"), "" | SELF) {
            return Plan::nothing();
        }
        let mut expectations = self.expectations.borrow_mut();
        if is_finished(job) {
            self.backoff.remove(key);
            expectations.ended_seen(uid(job));
            return Plan::nothing();
        }
        if expectations.is_ended(uid(job)) {
            return Plan::nothing();
        }
        let before = self.backoff.get(key).copied().unwrap_or_default();
        let synced = sync::sync(view, job, &expectations, before, now);
        self.counting.insert(key.clone(), synced.backoff);
        expectations.expect(key, &synced.plan);
        synced.plan
    }

    fn answered(
        &mut self,
        key: &Key,
        request: &Request,
        answer: &Result<&Object, Failure>,
    ) -> Next {
        let is_of = |resource: &Resource| *request.resource == *resource;
        let Err(failure) = answer else {
            if is_of(JOB) {
                self.turns.borrow_mut().went_well(key);
                self.backoff.extend(self.counting.get(key).map(|it| (key.clone(), *it)));
            }
            let mut expectations = self.expectations.borrow_mut();
            match &request.verb {
                Verb::Update(job, _) if is_finished(job) => expectations.ended(uid(job)),
                Verb::MergePatch(patch, _) => expectations.untracking(uid(patch)),
                _ => {}
            }
            return Next::GoOn;
        };
        // What tells is not waited for, and what is gone needs no more.
        if is_of(EVENT) || (is_of(POD) && failure.code == 404) {
            return Next::GoOn;
        }
        let mut expectations = self.expectations.borrow_mut();
        if matches!(request.verb, Verb::Create(..)) && failure.message.contains(TERMINATING) {
            expectations.creation_seen(key);
            return Next::GoOn;
        }
        expectations.refused(key);
        self.turns.borrow_mut().refused(key);
        Next::TryAgain
    }
}

/// Why nothing is made in a namespace that is going.
const TERMINATING: &str = "because it is being terminated";

/// `util.IsJobFinished`.
fn is_finished(job: &Value) -> bool {
    items(job, "/status/conditions")
        .iter()
        .any(|it| matches!(text(it, "/type"), "Complete" | "Failed") && it["status"] == "True")
}

#[cfg(test)]
mod tests;
