//! Who owns what.

use serde_json::Value;

use crate::api::Request;
use crate::component::{Key, View};
use crate::object::{has_finalizer, is_terminating, items, name, namespace, text, uid};
use crate::resource::{Resource, by_kind, by_plural};

/// An object of some kind.
#[derive(Clone, Copy)]
pub(super) struct Item<'a> {
    pub(super) resource: &'static Resource,
    pub(super) object: &'a Value,
}

impl Item<'_> {
    pub(super) fn key(&self) -> Key {
        key(self.resource, self.object)
    }
}

/// Work is numbered by kind and name: `plural.group/name`.
pub(super) fn key(resource: &Resource, object: &Value) -> Key {
    let named = format!("{}.{}/{}", resource.plural, resource.group, name(object));
    Key::new(namespace(object), &named)
}

/// The object of a key.
pub(super) fn at<'a>(view: &'a View, key: &Key) -> Option<Item<'a>> {
    let (kind, named) = key.name.split_once('/')?;
    let (plural, group) = kind.split_once('.')?;
    let resource = by_plural(group, plural)?;
    let object = view.get(resource, &key.namespace, named)?;
    Some(Item { resource, object })
}

pub(super) fn owners(object: &Value) -> &[Value] {
    items(object, "/metadata/ownerReferences")
}

fn kind_of(reference: &Value) -> Option<&'static Resource> {
    let version = text(reference, "/apiVersion");
    let group = version.split_once('/').map_or("", |(group, _)| group);
    by_kind(group, text(reference, "/kind"))
}

fn home<'a>(resource: &Resource, within: &'a str) -> &'a str {
    if resource.namespaced { within } else { "" }
}

/// The owner of a reference, by its UID, if it was seen.
pub(super) fn find<'a>(view: &'a View, reference: &Value, within: &str) -> Option<Item<'a>> {
    let resource = kind_of(reference)?;
    let object = view.get(resource, home(resource, within), text(reference, "/name"))?;
    (uid(object) == text(reference, "/uid")).then_some(Item { resource, object })
}

/// Asks for the owner of a reference.
pub(super) fn look_up(reference: &Value, within: &str) -> Option<Request> {
    let resource = kind_of(reference)?;
    Some(Request::get(resource, home(resource, within), text(reference, "/name")))
}

/// Everything that an owner of this UID owns.
pub(super) fn dependents<'a>(
    view: &'a View,
    kinds: &'static [&'static Resource],
    owner: &str,
) -> Vec<Item<'a>> {
    let is_owned = |it: &&Value| owners(it).iter().any(|reference| reference["uid"] == owner);
    kinds
        .iter()
        .flat_map(|resource| {
            let all = view.all(resource).filter(is_owned);
            all.map(|object| Item { resource, object })
        })
        .collect()
}

/// Whether an object keeps its owner of this UID from going first.
pub(super) fn blocks(object: &Value, owner: &str) -> bool {
    owners(object).iter().any(|it| it["uid"] == owner && it["blockOwnerDeletion"] == true)
}

/// Whether an object waits for what it owns.
pub(super) fn is_deleting_dependents(object: &Value) -> bool {
    is_terminating(object) && has_finalizer(object, super::FOREGROUND)
}
