//! The controllers of training runtimes: one that is in use is not removed (Trainer
//! `pkg/controller/trainingruntime_controller.go`, `clustertrainingruntime_controller.go`).

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::MANAGER;
use super::job_set::runtime_of;
use crate::api::Request;
use crate::component::{Change, Controller, Key, Plan, View};
use crate::object::{has_finalizer, is_terminating, items, name, namespace};
use crate::resource::{CLUSTER_TRAINING_RUNTIME, Resource, TRAIN_JOB, TRAINING_RUNTIME};

/// The finalizer of a runtime that `TrainJob`s name.
const IN_USE: &str = "trainer.kubeflow.org/resource-in-use";

/// How long after a `TrainJob` it looks at the runtime (`nonRuntimeObjectHandler`).
const LATER: Duration = Duration::from_secs(1);

/// Keeps runtimes of one kind while they are in use.
pub(super) struct Runtimes {
    kind: RuntimeKind,
    /// Those that it looks at only after a while: a `TrainJob` woke them.
    later: Vec<Key>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RuntimeKind {
    Namespaced,
    Cluster,
}

impl Runtimes {
    /// Those in namespaces.
    pub(super) const NAMESPACED: Self = Self { kind: RuntimeKind::Namespaced, later: Vec::new() };
    /// Those for all namespaces.
    pub(super) const CLUSTER: Self = Self { kind: RuntimeKind::Cluster, later: Vec::new() };

    fn resource(&self) -> &'static Resource {
        match self.kind {
            RuntimeKind::Namespaced => TRAINING_RUNTIME,
            RuntimeKind::Cluster => CLUSTER_TRAINING_RUNTIME,
        }
    }
}

impl Controller for Runtimes {
    fn name(&self) -> &'static str {
        match self.kind {
            RuntimeKind::Namespaced => "trainingruntime",
            RuntimeKind::Cluster => "clustertrainingruntime",
        }
    }

    fn watches(&self) -> &'static [&'static Resource] {
        static NAMESPACED: [&Resource; 2] = [TRAINING_RUNTIME, TRAIN_JOB];
        static CLUSTER: [&Resource; 2] = [CLUSTER_TRAINING_RUNTIME, TRAIN_JOB];
        match self.kind {
            RuntimeKind::Namespaced => &NAMESPACED,
            RuntimeKind::Cluster => &CLUSTER,
        }
    }

    fn wakes(&self, _view: &View, change: &Change<'_>) -> Vec<Key> {
        if *change.resource == *self.resource() {
            return vec![Key::of(change.object)];
        }
        let named = runtime_of(change.object).filter(|(kind, ..)| *kind == self.resource());
        named.map(|(_, within, named)| Key::new(within, named)).into_iter().collect()
    }

    fn reconcile(&mut self, view: &View, key: &Key, _now: Timestamp) -> Plan {
        const SOURCE: &str = "Trainer pkg/controller/trainingruntime_controller.go, Reconcile";
        let Some(runtime) = view.get(self.resource(), &key.namespace, &key.name) else {
            return Plan::nothing();
        };
        let wanted = (self.resource(), key.namespace.as_str(), key.name.as_str());
        let in_use = view.all(TRAIN_JOB).any(|it| runtime_of(it) == Some(wanted));
        let kept = has_finalizer(runtime, IN_USE);
        let change = (in_use && !kept) || (is_terminating(runtime) && !in_use && kept);
        if !change {
            return Plan::nothing();
        }
        // What a TrainJob wakes is looked at a second later.
        if !self.later.contains(key) {
            self.later.push(key.clone());
            return Plan::nothing().again(LATER);
        }
        self.later.retain(|it| it != key);
        let patch = json!({"metadata": {"finalizers": finalizers(runtime, in_use)}});
        let (within, named) = (namespace(runtime), name(runtime));
        Plan::one(Request::merge_patch(self.resource(), within, named, patch, MANAGER), SOURCE)
    }
}

fn finalizers(runtime: &Value, in_use: bool) -> Value {
    let all = items(runtime, "/metadata/finalizers").iter().filter(|it| *it != IN_USE).cloned();
    let mut all: Vec<Value> = all.collect();
    if in_use {
        all.push(IN_USE.into());
    }
    if all.is_empty() { Value::Null } else { Value::Array(all) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::api::Verb;

    fn patched(runtime: Value, jobs: Vec<Value>) -> Option<Value> {
        let mut view = View::default();
        let key = Key::of(&runtime);
        view.put(TRAINING_RUNTIME, Arc::new(runtime));
        for job in jobs {
            view.put(TRAIN_JOB, Arc::new(job));
        }
        let mut runtimes = Runtimes::NAMESPACED;
        let first = runtimes.reconcile(&view, &key, Timestamp::UNIX_EPOCH);
        assert!(first.requests.is_empty());
        let plan = runtimes.reconcile(&view, &key, Timestamp::UNIX_EPOCH);
        let request = plan.requests.into_iter().next()?;
        let Verb::MergePatch(patch, _) = request.request.verb else { panic!("a patch") };
        Some(patch["metadata"]["finalizers"].clone())
    }

    fn train_job() -> Value {
        json!({"metadata": {"name": "a", "namespace": "n"}, "spec": {"runtimeRef": {
            "apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": "r",
        }}})
    }

    #[test]
    fn a_runtime_is_kept_while_a_train_job_names_it() {
        let runtime = json!({"metadata": {"name": "r", "namespace": "n"}});
        assert_eq!(patched(runtime.clone(), vec![train_job()]), Some(json!([IN_USE])));
        assert_eq!(patched(runtime, Vec::new()), None);
        let leaving = json!({"metadata": {
            "name": "r", "namespace": "n", "finalizers": [IN_USE], "deletionTimestamp": "t",
        }});
        assert_eq!(patched(leaving.clone(), Vec::new()), Some(Value::Null));
        assert_eq!(patched(leaving, vec![train_job()]), None);
    }
}
