//! The scheduler: binds pods to nodes (Kubernetes `pkg/scheduler`).

mod fit;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use self::fit::{Resources, fits, free, requested};
use crate::api::{Failure, Request, Verb};
use crate::component::{Change, Controller, Key, Next, Plan, View};
use crate::object::{
    Object, condition, is_terminating, items, name, namespace, seconds, text, uid,
};
use crate::resource::{NODE, POD, Resource};

/// The scheduler that pods name if they do not say.
const SELF: &str = "default-scheduler";

/// Binds pods that wait for a node.
#[derive(Default)]
pub(super) struct Scheduler {
    /// Pods that it has bound and not seen bound yet, by UID: the node and what they take.
    assumed: BTreeMap<String, (String, Resources)>,
}

impl Controller for Scheduler {
    fn name(&self) -> &'static str {
        "scheduler"
    }

    fn watches(&self) -> &'static [&'static Resource] {
        static KINDS: [&Resource; 2] = [POD, NODE];
        &KINDS
    }

    fn wakes(&self, view: &View, change: &Change<'_>) -> Vec<Key> {
        let gives_room = change.deleted || has_ended(change.object);
        if *change.resource == *POD && !gives_room {
            return waits(change.object).then(|| Key::of(change.object)).into_iter().collect();
        }
        view.all(POD).filter(|it| waits(it)).map(Key::of).collect()
    }

    fn reconcile(&mut self, view: &View, key: &Key, now: Timestamp) -> Plan {
        const SOURCE: &str = "Kubernetes pkg/scheduler/schedule_one.go";
        self.forget(view);
        let pod = view.get(POD, &key.namespace, &key.name).filter(|it| waits(it));
        let Some(pod) = pod.filter(|it| !self.assumed.contains_key(uid(it))) else {
            return Plan::nothing();
        };
        let wanted = requested(pod);
        let nodes: Vec<&Value> = view.all(NODE).collect();
        let best = nodes
            .iter()
            .filter(|node| fits(pod, node))
            .map(|node| (free(view, node, self.assumed.values()), name(node)))
            .filter(|(free, _)| free.has(&wanted))
            // The emptiest, and of several the first by name.
            .max_by(|(one, first), (other, second)| {
                one.cpu().cmp(&other.cpu()).then(second.cmp(first))
            });
        let Some((_, node)) = best else {
            return Plan::nothing().with(unschedulable(pod, nodes.len(), now));
        };
        self.assumed.insert(uid(pod).to_owned(), (node.to_owned(), wanted));
        Plan::one(bind(pod, node), SOURCE)
    }

    fn answered(
        &mut self,
        _key: &Key,
        request: &Request,
        answer: &Result<&Object, Failure>,
    ) -> Next {
        match (answer, &request.verb) {
            (Ok(_), _) => Next::GoOn,
            (Err(failure), Verb::Create(binding, _)) => {
                self.assumed.remove(uid(binding));
                if failure.code == 404 { Next::Stop } else { Next::TryAgain }
            }
            (Err(failure), _) if failure.code == 404 => Next::Stop,
            (Err(_), _) => Next::TryAgain,
        }
    }
}

impl Scheduler {
    /// Forgets what is seen to be as it was assumed, or gone.
    fn forget(&mut self, view: &View) {
        let unbound: Vec<&str> = view.all(POD).filter(|it| waits(it)).map(uid).collect();
        self.assumed.retain(|pod, _| unbound.contains(&pod.as_str()));
    }
}

fn has_ended(pod: &Value) -> bool {
    matches!(text(pod, "/status/phase"), "Succeeded" | "Failed")
}

/// Whether a pod waits for this scheduler.
fn waits(pod: &Value) -> bool {
    text(pod, "/spec/nodeName").is_empty()
        && !is_terminating(pod)
        && !has_ended(pod)
        && items(pod, "/spec/schedulingGates").is_empty()
        && matches!(text(pod, "/spec/schedulerName"), "" | SELF)
}

/// The API sets the node, and the condition `PodScheduled`.
fn bind(pod: &Value, node: &str) -> Request {
    let binding = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"namespace": namespace(pod), "name": name(pod), "uid": uid(pod)},
        "target": {"kind": "Node", "name": node},
    });
    let mut request = Request::create(POD, binding, "").on("binding");
    request.name = Some(name(pod).to_owned());
    request
}

/// Says that no node fits, unless it is said already (`handleSchedulingFailure`).
fn unschedulable(pod: &Value, nodes: usize, now: Timestamp) -> Plan {
    const SCHEDULED: &str = "PodScheduled";
    let message = if nodes == 0 {
        "no nodes available to schedule pods".to_owned()
    } else {
        format!("0/{nodes} nodes are available")
    };
    let known = condition(pod, SCHEDULED);
    if known.is_some_and(|it| it["status"] == "False" && text(it, "/message") == message) {
        return Plan::nothing();
    }
    let others = items(pod, "/status/conditions").iter().filter(|it| it["type"] != SCHEDULED);
    let mut conditions: Vec<Value> = others.cloned().collect();
    let since =
        known.filter(|it| it["status"] == "False").map(|it| text(it, "/lastTransitionTime"));
    conditions.push(json!({
        "type": SCHEDULED, "status": "False", "reason": "Unschedulable", "message": message,
        "lastProbeTime": null,
        "lastTransitionTime": since.map_or_else(|| seconds(now), str::to_owned),
    }));
    let patch = json!({"metadata": {"uid": uid(pod)}, "status": {"conditions": conditions}});
    let request = Request::merge_patch(POD, namespace(pod), name(pod), patch, "").on("status");
    Plan::one(request, "Kubernetes pkg/scheduler/schedule_one.go, handleSchedulingFailure")
}

#[cfg(test)]
mod tests;
