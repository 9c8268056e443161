//! Whether a node takes a pod (Kubernetes `pkg/scheduler/framework/plugins`: nodeaffinity,
//! nodeunschedulable, tainttoleration, noderesources).

use std::collections::BTreeMap;

use serde_json::Value;

use crate::component::View;
use crate::object::{is, items, label, name, text};
use crate::quantity::thousandths;
use crate::resource::POD;

/// Amounts of resources, in thousandths; pods are one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Resources(BTreeMap<String, i128>);

/// A pod more or less.
const ONE_POD: i128 = 1000;

impl Resources {
    fn of(amounts: &Value) -> Self {
        let all = amounts.as_object().into_iter().flatten();
        Self(all.filter_map(|(key, value)| Some((key.clone(), thousandths(value)?))).collect())
    }

    fn take(&mut self, other: &Self) {
        for (key, amount) in &other.0 {
            *self.0.entry(key.clone()).or_default() -= amount;
        }
    }

    fn add(&mut self, other: &Self) {
        for (key, amount) in &other.0 {
            *self.0.entry(key.clone()).or_default() += amount;
        }
    }

    fn at_least(&mut self, other: &Self) {
        for (key, amount) in &other.0 {
            let own = self.0.entry(key.clone()).or_default();
            *own = (*own).max(*amount);
        }
    }

    /// Whether there is so much of everything that is wanted.
    pub(super) fn has(&self, wanted: &Self) -> bool {
        let own = |key: &String| self.0.get(key).copied().unwrap_or_default();
        wanted.0.iter().all(|(key, amount)| *amount == 0 || own(key) >= *amount)
    }

    pub(super) fn cpu(&self) -> i128 {
        self.0.get("cpu").copied().unwrap_or_default()
    }
}

/// What a pod asks for: all its containers together, or its greediest init container if that asks
/// for more.
pub(super) fn requested(pod: &Value) -> Resources {
    let mut all = Resources::default();
    for container in items(pod, "/spec/containers") {
        all.add(&Resources::of(&container["resources"]["requests"]));
    }
    for container in items(pod, "/spec/initContainers") {
        all.at_least(&Resources::of(&container["resources"]["requests"]));
    }
    all.0.insert("pods".to_owned(), ONE_POD);
    all
}

/// What a node has left, with pods that are on the way to it.
pub(super) fn free<'a>(
    view: &View,
    node: &Value,
    assumed: impl Iterator<Item = &'a (String, Resources)>,
) -> Resources {
    let mut free = Resources::of(&node["status"]["allocatable"]);
    let ended = |pod: &Value| matches!(text(pod, "/status/phase"), "Succeeded" | "Failed");
    for pod in view.all(POD).filter(|it| text(it, "/spec/nodeName") == name(node) && !ended(it)) {
        free.take(&requested(pod));
    }
    for (_, resources) in assumed.filter(|(at, _)| at == name(node)) {
        free.take(resources);
    }
    free
}

/// Whether a pod may run on a node, room left aside.
pub(super) fn fits(pod: &Value, node: &Value) -> bool {
    let selector = pod.pointer("/spec/nodeSelector").and_then(Value::as_object);
    let selected =
        selector.into_iter().flatten().all(|(key, value)| label(node, key) == value.as_str());
    let taints = items(node, "/spec/taints").iter();
    let tolerated = taints
        .filter(|it| matches!(text(it, "/effect"), "NoSchedule" | "NoExecute"))
        .all(|taint| items(pod, "/spec/tolerations").iter().any(|it| tolerates(it, taint)));
    selected && tolerated && !is(node, "/spec/unschedulable")
}

fn tolerates(toleration: &Value, taint: &Value) -> bool {
    let (effect, key) = (text(toleration, "/effect"), text(toleration, "/key"));
    let exists = text(toleration, "/operator") == "Exists";
    (effect.is_empty() || effect == text(taint, "/effect"))
        && (key == text(taint, "/key") || (key.is_empty() && exists))
        && (exists || text(toleration, "/value") == text(taint, "/value"))
}
