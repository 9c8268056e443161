//! Sets of fields.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::schema::Schema;

/// A set of fields: a field is in it by itself, or only fields below it are. Elements of paths are
/// written as managed fields write them: `f:spec`, `k:{"name":"c"}`, `v:"x"`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Fields {
    pub(super) member: bool,
    pub(super) below: BTreeMap<String, Self>,
}

impl Fields {
    pub(super) fn leaf() -> Self {
        Self { member: true, below: BTreeMap::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.member && self.below.is_empty()
    }

    pub(super) fn insert(&mut self, element: String, below: Self) {
        if !below.is_empty() {
            self.below.insert(element, below);
        }
    }

    pub(super) fn union(&mut self, other: &Self) {
        self.member |= other.member;
        for (element, below) in &other.below {
            match self.below.get_mut(element) {
                Some(mine) => mine.union(below),
                None => drop(self.below.insert(element.clone(), below.clone())),
            }
        }
    }

    /// Takes out the fields of another set; what lies below a field stays.
    pub(super) fn subtract(&mut self, other: &Self) {
        self.member &= !other.member;
        for (element, theirs) in &other.below {
            if let Some(mine) = self.below.get_mut(element) {
                mine.subtract(theirs);
                if mine.is_empty() {
                    self.below.remove(element);
                }
            }
        }
    }

    /// Whether both have a field.
    pub(super) fn meets(&self, other: &Self) -> bool {
        (self.member && other.member)
            || other
                .below
                .iter()
                .any(|(element, theirs)| self.below.get(element).is_some_and(|it| it.meets(theirs)))
    }

    pub(super) fn intersection(&self, other: &Self) -> Self {
        let mut both = Self { member: self.member && other.member, below: BTreeMap::new() };
        for (element, mine) in &self.below {
            if let Some(theirs) = other.below.get(element) {
                both.insert(element.clone(), mine.intersection(theirs));
            }
        }
        both
    }

    /// With the named fields above the fields of this set, which are not members where they are
    /// fields of a structure: `a` for `a.b`.
    pub(super) fn with_named(&self, schema: &'static Schema) -> Self {
        let mut all = Self { member: self.member, below: BTreeMap::new() };
        for (element, below) in &self.below {
            let inner = schema.below(element);
            let mut with = below.with_named(inner);
            with.member |= element.starts_with("f:") && !below.below.is_empty() && !schema.is_map();
            all.below.insert(element.clone(), with);
        }
        all
    }

    /// The paths of all its fields, as conflicts name them: `.status.checks[name="c"].state`.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut all = Vec::new();
        self.collect(String::new(), &mut all);
        all
    }

    fn collect(&self, path: String, all: &mut Vec<String>) {
        for (element, below) in &self.below {
            let path = format!("{path}{}", shown(element));
            if below.member {
                all.push(path.clone());
            }
            below.collect(path, all);
        }
        if path.is_empty() && self.member {
            all.push(path);
        }
    }

    /// As it is written in `fieldsV1`.
    pub(super) fn to_json(&self) -> Value {
        let mut map = Map::new();
        if self.member && !self.below.is_empty() {
            map.insert(".".to_owned(), Value::Object(Map::new()));
        }
        for (element, below) in &self.below {
            map.insert(element.clone(), below.to_json());
        }
        Value::Object(map)
    }

    /// As it is read from `fieldsV1`.
    pub(super) fn from_json(value: &Value) -> Self {
        let mut fields = Self::children(value);
        fields.member = false;
        fields
    }

    fn children(value: &Value) -> Self {
        let Some(map) = value.as_object() else { return Self::leaf() };
        let mut fields = Self { member: map.is_empty(), below: BTreeMap::new() };
        for (element, below) in map {
            if element == "." {
                fields.member = true;
            } else {
                fields.below.insert(element.clone(), Self::children(below));
            }
        }
        fields
    }
}

/// An element of a path, as conflicts show it.
fn shown(element: &str) -> String {
    let rest = element.get(2..).unwrap_or_default();
    match element.as_bytes().first() {
        Some(b'k') => {
            let keys: Map<String, Value> = serde_json::from_str(rest).unwrap_or_default();
            let keys: Vec<String> = keys.iter().map(|(key, it)| format!("{key}={it}")).collect();
            format!("[{}]", keys.join(","))
        }
        Some(b'v') => format!("[={rest}]"),
        _ => format!(".{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_set_is_read_and_written_as_managed_fields_have_it() {
        let written =
            json!({"f:a": {".": {}, "k:{\"name\":\"c\"}": {"f:b": {}}}, "f:d": {"v:\"x\"": {}}});
        let fields = Fields::from_json(&written);
        assert_eq!(fields.to_json(), written);
        assert_eq!(fields.paths(), [".a", ".a[name=\"c\"].b", ".d[=\"x\"]"]);
    }

    #[test]
    fn what_lies_below_a_field_that_is_taken_out_stays() {
        let mut fields = Fields::from_json(&json!({"f:a": {".": {}, "f:b": {}}}));
        fields.subtract(&Fields::from_json(&json!({"f:a": {}})));
        assert_eq!(fields.to_json(), json!({"f:a": {"f:b": {}}}));
    }
}
