//! Empties namespaces that are deleted, and lets them go then (Kubernetes
//! `pkg/controller/namespace`).

use std::sync::LazyLock;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;

use crate::api::{Delete, Failure, List, Propagation, Request, Verb};
use crate::component::{Change, Controller, Key, Next, Plan, View};
use crate::object::{Object, is_terminating, items, name, namespace};
use crate::resource::{self, NAMESPACE, Resource};

/// How long until it looks again at what is still there.
const LATER: Duration = Duration::from_secs(1);

const SOURCE: &str = "Kubernetes pkg/controller/namespace/deletion";

/// Empties namespaces.
pub(super) struct Namespaces;

fn namespaced() -> impl Iterator<Item = &'static Resource> {
    resource::ALL.iter().copied().filter(|it| it.namespaced)
}

impl Controller for Namespaces {
    fn name(&self) -> &'static str {
        "namespace"
    }

    fn workers(&self) -> usize {
        10
    }

    fn watches(&self) -> &'static [&'static Resource] {
        static KINDS: LazyLock<Vec<&'static Resource>> =
            LazyLock::new(|| namespaced().chain([NAMESPACE]).collect());
        &KINDS
    }

    fn wakes(&self, view: &View, change: &Change<'_>) -> Vec<Key> {
        let named = if *change.resource == *NAMESPACE {
            name(change.object)
        } else {
            namespace(change.object)
        };
        let leaving = view.get(NAMESPACE, "", named).filter(|it| is_terminating(it));
        leaving.map(Key::of).into_iter().collect()
    }

    fn reconcile(&mut self, view: &View, key: &Key, _now: Timestamp) -> Plan {
        let leaving = view.get(NAMESPACE, "", &key.name).filter(|it| is_terminating(it));
        let Some(leaving) = leaving.filter(|it| !items(it, "/spec/finalizers").is_empty()) else {
            return Plan::nothing();
        };
        let mut plan = Plan::nothing();
        let mut empty = true;
        for kind in namespaced() {
            let mut there = view.within(kind, &key.name).peekable();
            empty &= there.peek().is_none();
            // What waits for its finalizers is not deleted once more.
            if there.any(|it| !is_terminating(it)) {
                plan = plan.and(delete_all(kind, &key.name), SOURCE);
            }
        }
        if !empty {
            return plan.again(LATER);
        }
        // What was seen may lag behind: it is empty only if the API says so.
        for kind in namespaced() {
            plan = plan.and(list(kind, &key.name), SOURCE);
        }
        let mut finalized = leaving.clone();
        finalized["spec"]["finalizers"] = json!([]);
        plan.and(Request::update(NAMESPACE, finalized, "").on("finalize"), SOURCE)
    }

    fn answered(
        &mut self,
        _key: &Key,
        request: &Request,
        answer: &Result<&Object, Failure>,
    ) -> Next {
        match (&request.verb, answer) {
            (Verb::List(_), Ok(all)) if !items(all, "/items").is_empty() => Next::TryAgain,
            (_, Ok(_)) => Next::GoOn,
            (_, Err(failure)) if failure.code == 404 => Next::Stop,
            (_, Err(_)) => Next::TryAgain,
        }
    }
}

fn of_namespace(kind: &'static Resource, within: &str, verb: Verb) -> Request {
    let mut request = Request::get(kind, within, "");
    request.name = None;
    request.verb = verb;
    request
}

fn delete_all(kind: &'static Resource, within: &str) -> Request {
    let background = Delete { propagation: Some(Propagation::Background), ..Delete::default() };
    of_namespace(kind, within, Verb::DeleteCollection(List::default(), background))
}

fn list(kind: &'static Resource, within: &str) -> Request {
    of_namespace(kind, within, Verb::List(List::default()))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::resource::{JOB, POD};
    use crate::testing::{at, verbs, view};

    fn leaving() -> Value {
        json!({
            "metadata": {"name": "n", "deletionTimestamp": "t"},
            "spec": {"finalizers": ["kubernetes"]},
        })
    }

    fn plan(objects: &[(&'static Resource, Value)]) -> Plan {
        Namespaces.reconcile(&view(objects), &Key::new("", "n"), at(0))
    }

    #[test]
    fn what_is_in_it_is_deleted_and_waited_for() {
        let job = json!({"metadata": {"name": "a", "namespace": "n"}});
        let pod = json!({"metadata": {"name": "a", "namespace": "n", "deletionTimestamp": "t"}});
        let plan = plan(&[(NAMESPACE, leaving()), (JOB, job), (POD, pod)]);
        assert_eq!(verbs(&plan), ["delete all jobs"]);
        assert_eq!(plan.again, Some(LATER));
    }

    #[test]
    fn an_empty_one_goes_if_the_api_has_nothing_in_it_either() {
        let plan = plan(&[(NAMESPACE, leaving())]);
        assert_eq!(verbs(&plan).last().unwrap(), "update namespaces/finalize");
        let found = json!({"items": [{}]});
        let answer =
            Namespaces.answered(&Key::new("", "n"), &plan.requests[0].request, &Ok(&found));
        assert_eq!(answer, Next::TryAgain);
    }
}
