//! What differs between two versions of an object.

use serde_json::{Map, Value};

use super::schema::Schema;
use super::set::Fields;

/// What differs.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Difference {
    pub(super) added: Fields,
    pub(super) modified: Fields,
    pub(super) removed: Fields,
}

impl Difference {
    /// What is new or other.
    pub(super) fn changed(&self) -> Fields {
        let mut changed = self.added.clone();
        changed.union(&self.modified);
        changed
    }

    fn insert(&mut self, element: &dyn Fn() -> String, below: Self) {
        for (mine, theirs) in [
            (&mut self.added, below.added),
            (&mut self.modified, below.modified),
            (&mut self.removed, below.removed),
        ] {
            if !theirs.is_empty() {
                mine.insert(element(), theirs);
            }
        }
    }
}

/// What differs between an old and a new version.
pub(in super::super) fn compare(
    schema: &'static Schema,
    old: Option<&Value>,
    new: Option<&Value>,
) -> Difference {
    if old.is_some() && old == new {
        return Difference::default();
    }
    // What is null is an empty one of what the other is.
    let merged =
        |value: Option<&Value>| value.is_none_or(|it| it.is_null() || schema.is_merged(it));
    let is_leaf = !merged(old) || !merged(new) || (is_empty(old) && is_empty(new));
    let mut difference = match (old, new) {
        _ if is_leaf => Difference::default(),
        _ if is_list(old) || is_list(new) => of_lists(schema, items(old), items(new)),
        _ => of_maps(schema, fields(old), fields(new)),
    };
    match (old, new) {
        (None, Some(_)) => difference.added.member = true,
        (Some(_), None) => difference.removed.member = true,
        (Some(old), Some(new)) => {
            difference.modified.member = is_leaf && old != new;
        }
        (None, None) => {}
    }
    difference
}

fn is_empty(value: Option<&Value>) -> bool {
    match value {
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(fields)) => fields.is_empty(),
        Some(Value::Null) | None => true,
        Some(_) => false,
    }
}

fn is_list(value: Option<&Value>) -> bool {
    value.is_some_and(Value::is_array)
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn fields(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

fn of_maps(
    schema: &'static Schema,
    old: Option<&Map<String, Value>>,
    new: Option<&Map<String, Value>>,
) -> Difference {
    let mut difference = Difference::default();
    for (name, before) in old.into_iter().flatten() {
        let now = new.and_then(|it| it.get(name));
        let below = compare(schema.field(name), Some(before), now);
        difference.insert(&|| format!("f:{name}"), below);
    }
    for (name, now) in new.into_iter().flatten() {
        if old.is_none_or(|it| !it.contains_key(name)) {
            let below = compare(schema.field(name), None, Some(now));
            difference.insert(&|| format!("f:{name}"), below);
        }
    }
    difference
}

fn of_lists(schema: &'static Schema, old: &[Value], new: &[Value]) -> Difference {
    let mut difference = Difference::default();
    if old == new {
        return difference;
    }
    let named = |items: &[Value]| -> Vec<String> {
        items.iter().filter_map(|it| schema.element(it)).collect()
    };
    let (old_names, new_names) = (named(old), named(new));
    for (before, name) in old.iter().zip(&old_names) {
        let now = new_names.iter().position(|it| it == name).map(|at| &new[at]);
        let below = compare(schema.item(), Some(before), now);
        difference.insert(&|| name.clone(), below);
    }
    for (now, name) in new.iter().zip(&new_names) {
        if !old_names.contains(name) {
            difference.insert(&|| name.clone(), compare(schema.item(), None, Some(now)));
        }
    }
    difference
}

/// Checks that the items of lists with keys have them, and are there once; else says where not.
pub(super) fn check(schema: &'static Schema, value: &Value, path: &str) -> Result<(), String> {
    match value {
        Value::Object(map) => map.iter().try_for_each(|(name, below)| {
            check(schema.field(name), below, &format!("{path}.{name}"))
        }),
        Value::Array(items) if schema.has_elements() => {
            let mut seen = Vec::with_capacity(items.len());
            for (at, item) in items.iter().enumerate() {
                let Some(element) = schema.element(item) else {
                    return Err(format!(
                        "{path}: element {at}: associative list with keys has an element that \
                         omits a key field"
                    ));
                };
                if seen.contains(&element) {
                    return Err(format!("{path}: duplicate entries for key {element}"));
                }
                seen.push(element);
                check(schema.item(), item, &format!("{path}[{at}]"))?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The fields that an applied configuration names.
pub(super) fn named(schema: &'static Schema, value: &Value) -> Fields {
    let mut fields = Fields::default();
    match value {
        Value::Object(map) if schema.is_merged(value) => {
            for (name, below) in map {
                let mut inner = named(schema.field(name), below);
                let is_empty = below.as_object().is_some_and(Map::is_empty);
                inner.member |= is_empty || below.is_null() || schema.is_map();
                fields.insert(format!("f:{name}"), inner);
            }
        }
        Value::Array(items) if schema.is_merged(value) => {
            for item in items {
                let mut inner = named(schema.item(), item);
                inner.member = true;
                fields.insert(schema.element(item).unwrap_or_default(), inner);
            }
        }
        _ => fields.member = true,
    }
    fields
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::schema;
    use super::*;
    use crate::resource::WORKLOAD;

    #[test]
    fn a_new_part_is_added_with_all_that_is_in_it() {
        let new = json!({"spec": {"active": true}, "status": {"conditions": [{"type": "A"}]}});
        let found = compare(schema::of(WORKLOAD), Some(&json!({})), Some(&new));
        let added = json!({
            "f:spec": {".": {}, "f:active": {}},
            "f:status": {".": {}, "f:conditions": {".": {}, "k:{\"type\":\"A\"}": {".": {}, "f:type": {}}}},
        });
        assert_eq!(found.added.to_json(), added);
        assert!(found.modified.is_empty() && found.removed.is_empty());
    }

    #[test]
    fn an_item_of_a_list_is_known_by_its_key_wherever_it_stands() {
        let old = json!({"status": {"admissionChecks": [{"name": "a", "state": "Pending"}, {"name": "b"}]}});
        let new = json!({"status": {"admissionChecks": [{"name": "b"}, {"name": "a", "state": "Ready"}]}});
        let found = compare(schema::of(WORKLOAD), Some(&old), Some(&new));
        assert_eq!(found.modified.paths(), [".status.admissionChecks[name=\"a\"].state"]);
        assert!(found.added.is_empty() && found.removed.is_empty());
    }

    #[test]
    fn a_list_without_keys_is_one_whole() {
        let (old, new) = (json!({"spec": {"list": [1]}}), json!({"spec": {"list": [1, 2]}}));
        let found = compare(schema::of(WORKLOAD), Some(&old), Some(&new));
        assert_eq!(found.modified.paths(), [".spec.list"]);
    }
}
