//! What a controller has asked for and not seen yet. Until it has, it neither makes nor deletes pods
//! (Kubernetes `pkg/controller/controller_utils.go`, `pkg/controller/job/tracking_utils.go`).

use std::collections::{BTreeMap, BTreeSet};

use crate::api::Verb;
use crate::component::{Key, Plan};
use crate::resource::POD;

/// What is expected, by Job.
#[derive(Default)]
pub(super) struct Expectations {
    pods: BTreeMap<Key, Pods>,
    /// The UIDs of pods whose tracking finalizer was taken away.
    untracking: BTreeSet<String>,
    /// The UIDs of Jobs whose end was written.
    ended: BTreeSet<String>,
}

/// How many pods are expected to come and to go.
#[derive(Clone, Copy, Default)]
struct Pods {
    creations: i64,
    deletions: i64,
}

impl Expectations {
    /// Whether nothing is expected of this Job.
    pub(super) fn are_met(&self, key: &Key) -> bool {
        self.pods.get(key).is_none_or(|it| it.creations <= 0 && it.deletions <= 0)
    }

    /// Whether this pod's finalizer was taken away already.
    pub(super) fn is_untracking(&self, pod: &str) -> bool {
        self.untracking.contains(pod)
    }

    /// Expects what a plan asks for.
    pub(super) fn expect(&mut self, key: &Key, plan: &Plan) {
        let mut expected = Pods::default();
        for planned in &plan.requests {
            if *planned.request.resource != *POD {
                continue;
            }
            match &planned.request.verb {
                Verb::Create(..) => expected.creations += 1,
                Verb::Delete(_) => expected.deletions += 1,
                _ => {}
            }
        }
        if expected.creations > 0 || expected.deletions > 0 {
            self.pods.insert(key.clone(), expected);
        }
    }

    pub(super) fn creation_seen(&mut self, key: &Key) {
        if let Some(pods) = self.pods.get_mut(key) {
            pods.creations -= 1;
        }
    }

    pub(super) fn deletion_seen(&mut self, key: &Key) {
        if let Some(pods) = self.pods.get_mut(key) {
            pods.deletions -= 1;
        }
    }

    /// A pod's finalizer was taken away.
    pub(super) fn untracking(&mut self, pod: &str) {
        self.untracking.insert(pod.to_owned());
    }

    /// A pod is seen without its finalizer, or is gone.
    pub(super) fn untracked(&mut self, pod: &str) {
        self.untracking.remove(pod);
    }

    /// A request was refused, and what comes after it is not asked for. No pods are expected any more,
    /// since they may not have been made.
    pub(super) fn refused(&mut self, key: &Key) {
        self.pods.remove(key);
    }

    pub(super) fn ended(&mut self, job: &str) {
        self.ended.insert(job.to_owned());
    }

    pub(super) fn ended_seen(&mut self, job: &str) {
        self.ended.remove(job);
    }

    pub(super) fn is_ended(&self, job: &str) -> bool {
        self.ended.contains(job)
    }

    pub(super) fn forget(&mut self, key: &Key) {
        self.pods.remove(key);
    }
}
