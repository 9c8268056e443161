//! What tests of controllers and webhooks have in common.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::api::{Lookup, Operation, Request, Review, Verb};
use crate::component::{Plan, View};
use crate::object::{Object, name, namespace};
use crate::resource::Resource;

/// A time on a whole second.
pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

/// A view of these objects.
pub(crate) fn view(objects: &[(&'static Resource, Value)]) -> View {
    let mut view = View::default();
    for (resource, object) in objects {
        view.put(resource, Arc::new(object.clone()));
    }
    view
}

/// Stored objects.
#[derive(Default)]
pub(crate) struct Stored(pub(crate) Vec<(&'static Resource, Value)>);

impl Lookup for Stored {
    fn get(&self, resource: &'static Resource, within: &str, named: &str) -> Option<&Object> {
        let is = |it: &&(&'static Resource, Value)| {
            *it.0 == *resource && namespace(&it.1) == within && name(&it.1) == named
        };
        self.0.iter().find(is).map(|(_, object)| object)
    }

    fn list(&self, resource: &'static Resource, within: Option<&str>) -> Vec<&Object> {
        let of = self.0.iter().filter(|(kind, _)| **kind == *resource).map(|(_, object)| object);
        of.filter(|it| within.is_none_or(|within| namespace(it) == within)).collect()
    }
}

/// A review of a write.
pub(crate) fn review<'a>(
    resource: &'static Resource,
    operation: Operation,
    old: Option<&'a Object>,
) -> Review<'a> {
    Review {
        operation,
        resource,
        subresource: None,
        old,
        user: "somebody",
        dry_run: false,
        now: at(0),
    }
}

/// The requests of a plan in short: verb, resource and subresource.
pub(crate) fn verbs(plan: &Plan) -> Vec<String> {
    plan.requests.iter().map(|planned| verb(&planned.request)).collect()
}

fn verb(request: &Request) -> String {
    let verb = match request.verb {
        Verb::Get => "get",
        Verb::List(_) => "list",
        Verb::Watch { .. } => "watch",
        Verb::Create(..) => "create",
        Verb::Update(..) => "update",
        Verb::MergePatch(..) | Verb::JsonPatch(..) | Verb::StrategicPatch(..) => "patch",
        Verb::Apply(..) => "apply",
        Verb::Delete(_) => "delete",
        Verb::DeleteCollection(..) => "delete all",
    };
    match &request.subresource {
        Some(subresource) => format!("{verb} {}/{subresource}", request.resource.plural),
        None => format!("{verb} {}", request.resource.plural),
    }
}

/// What a plan sends with its request of this index.
pub(crate) fn body(plan: &Plan, at: usize) -> &Value {
    match &plan.requests[at].request.verb {
        Verb::Create(body, _)
        | Verb::Update(body, _)
        | Verb::MergePatch(body, _)
        | Verb::JsonPatch(body, _)
        | Verb::StrategicPatch(body, _)
        | Verb::Apply(body, ..) => body,
        other => panic!("{other:?} sends nothing"),
    }
}
