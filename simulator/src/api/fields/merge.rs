//! Applying a configuration to an object, and taking fields out of it.

use serde_json::{Map, Value};

use super::schema::Schema;
use super::set::Fields;

/// Merges an applied configuration into an object.
pub(super) fn merge(schema: &'static Schema, live: &mut Value, applied: &Value) {
    if schema.is_merged(applied) {
        match (&mut *live, applied) {
            (Value::Object(mine), Value::Object(theirs)) => {
                for (name, theirs) in theirs {
                    match mine.get_mut(name) {
                        Some(mine) => merge(schema.field(name), mine, theirs),
                        None => drop(mine.insert(name.clone(), theirs.clone())),
                    }
                }
                return;
            }
            (Value::Array(mine), Value::Array(theirs))
                if mine.iter().all(|it| schema.element(it).is_some()) =>
            {
                *mine = merge_lists(schema, std::mem::take(mine), theirs);
                return;
            }
            _ => {}
        }
    }
    live.clone_from(applied);
}

/// Items that both have are merged. They keep the order of the applied list, and the others stand
/// where they stood: structured-merge-diff `typed/merge.go`, `visitListItems`.
fn merge_lists(schema: &'static Schema, mut mine: Vec<Value>, theirs: &[Value]) -> Vec<Value> {
    let names = |items: &[Value]| -> Vec<String> {
        items.iter().map(|it| schema.element(it).unwrap_or_default()).collect()
    };
    let (my_names, their_names) = (names(&mine), names(theirs));
    let at = |names: &[String], name: &String| names.iter().position(|it| it == name);
    let mut shared = their_names.iter().filter(|it| my_names.contains(it)).peekable();
    let mut taken = vec![false; theirs.len()];
    let mut out = Vec::with_capacity(mine.len().max(theirs.len()));
    let (mut my, mut their) = (0, 0);
    while my < mine.len() || their < theirs.len() {
        if let Some(name) = my_names.get(my) {
            match at(&their_names, name) {
                None => {
                    out.push(mine[my].take());
                    my += 1;
                    continue;
                }
                Some(found) if found == their => my += 1,
                // It has its place in the other list, and another one comes first.
                Some(_) if their < theirs.len() && shared.peek().is_some_and(|it| *it != name) => {
                    my += 1;
                    continue;
                }
                Some(found) if taken[found] => my += 1,
                Some(_) => {}
            }
        }
        if let Some(name) = their_names.get(their) {
            taken[their] = true;
            out.push(match at(&my_names, name) {
                Some(found) => {
                    let mut item = mine[found].take();
                    merge(schema.item(), &mut item, &theirs[their]);
                    item
                }
                None => theirs[their].clone(),
            });
            their += 1;
            shared.next_if(|it| *it == name);
        }
    }
    out
}

/// A value without these fields; none where nothing of it stays.
pub(super) fn without(schema: &'static Schema, value: &Value, fields: &Fields) -> Value {
    match value {
        Value::Object(map) if schema.is_merged(value) => {
            let mut left = Map::new();
            for (name, inner) in map {
                let below = fields.below.get(&format!("f:{name}"));
                match below {
                    Some(it) if it.member => {}
                    Some(it) => {
                        drop(left.insert(name.clone(), without(schema.field(name), inner, it)));
                    }
                    None => drop(left.insert(name.clone(), inner.clone())),
                }
            }
            Value::Object(left)
        }
        Value::Array(items) if schema.is_merged(value) => {
            let left = items.iter().filter_map(|item| {
                match schema.element(item).and_then(|it| fields.below.get(&it)) {
                    Some(it) if it.member => None,
                    Some(it) => Some(without(schema.item(), item, it)),
                    None => Some(item.clone()),
                }
            });
            Value::Array(left.collect())
        }
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::super::schema;
    use super::*;
    use crate::resource::WORKLOAD;

    #[rstest]
    #[case::appended(&["a"], &["b"], &["a", "b"])]
    #[case::in_place(&["a", "b", "c"], &["b"], &["a", "b", "c"])]
    #[case::the_applied_order_counts(&["a", "b"], &["b", "a"], &["b", "a"])]
    #[case::others_stay_where_they_are(&["x", "a", "b"], &["b", "a"], &["x", "b", "a"])]
    #[case::between(&["a", "c"], &["a", "b", "c"], &["a", "b", "c"])]
    fn lists_are_merged_in_order(
        #[case] live: &[&str],
        #[case] applied: &[&str],
        #[case] merged: &[&str],
    ) {
        let object = |names: &[&str]| {
            let checks: Vec<_> = names.iter().map(|it| json!({"name": it})).collect();
            json!({"status": {"admissionChecks": checks}})
        };
        let mut found = object(live);
        merge(schema::of(WORKLOAD), &mut found, &object(applied));
        assert_eq!(found, object(merged));
    }
}
