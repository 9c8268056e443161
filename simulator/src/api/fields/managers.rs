//! Who manages which fields.

use std::sync::Arc;

use serde_json::{Value, json};

use super::compare::{compare, named};
use super::merge::{merge, without};
use super::schema::Schema;
use super::set::Fields;

/// How a manager came by its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) enum Operation {
    Apply,
    Update,
}

impl Operation {
    fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// Who writes.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct By<'a> {
    pub(in super::super) manager: &'a str,
    pub(in super::super) api_version: &'a str,
    pub(in super::super) subresource: &'a str,
    /// In seconds, as objects have it.
    pub(in super::super) time: &'a str,
}

/// A manager, and its fields.
#[derive(Clone, Debug)]
struct Manager {
    name: String,
    operation: Operation,
    api_version: String,
    subresource: String,
    time: String,
    fields: Arc<Fields>,
    /// Where it stands in what is written, if it has not changed since.
    written: Option<usize>,
}

/// The managers of an object.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Managers(Vec<Manager>);

/// A conflict of an applied configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Conflict {
    /// The other manager, as messages name it.
    pub(in super::super) manager: String,
    pub(in super::super) path: String,
}

/// What belongs to nobody: apimachinery `managedfields/internal/stripmeta.go`.
const NOBODYS: [&str; 8] = [
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "generation",
    "managedFields",
    "resourceVersion",
];

impl Managers {
    /// As an object has them.
    pub(in super::super) fn of(object: &Value) -> Self {
        let entries = crate::object::items(object, "/metadata/managedFields");
        Self(entries.iter().enumerate().map(|(at, it)| Manager::from_json(at, it)).collect())
    }

    /// Writes them to an object, which has those that they were read from or none. The entries of
    /// who has not changed are taken over.
    pub(in super::super) fn write(&mut self, object: &mut Value) {
        let Some(metadata) = object["metadata"].as_object_mut() else { return };
        let mut before = metadata.remove("managedFields").unwrap_or_default();
        let mut entry = |(at, manager): (usize, &mut Manager)| {
            let known = manager.written.and_then(|it| before.get_mut(it)).map(Value::take);
            manager.written = Some(at);
            known.unwrap_or_else(|| manager.to_json())
        };
        let entries: Vec<Value> = self.0.iter_mut().enumerate().map(&mut entry).collect();
        if !entries.is_empty() {
            metadata.insert("managedFields".to_owned(), entries.into());
        }
    }

    /// After an object was written whole, or patched.
    pub(in super::super) fn updated(
        &mut self,
        schema: &'static Schema,
        live: &Value,
        new: &Value,
        by: By<'_>,
    ) {
        let difference = compare(schema, Some(live), Some(new));
        let changed = difference.changed();
        for manager in &mut self.0 {
            manager.lose(&changed);
            manager.lose(&difference.removed);
        }
        let mut taken = changed;
        strip(&mut taken);
        if !taken.is_empty() {
            let mine = self.entry(Operation::Update, by);
            Arc::make_mut(&mut mine.fields).union(&taken);
            by.time.clone_into(&mut mine.time);
            mine.written = None;
        }
        self.settle();
    }

    /// Applies a configuration; gives the object, or the conflicts.
    pub(in super::super) fn applied(
        &mut self,
        schema: &'static Schema,
        live: &Value,
        applied: &Value,
        by: By<'_>,
        force: bool,
    ) -> Result<Value, Vec<Conflict>> {
        let mut merged = live.clone();
        merge(schema, &mut merged, applied);
        let mut set = named(schema, applied);
        strip(&mut set);
        let mine = self.entry(Operation::Apply, by);
        if *mine.fields != set {
            mine.written = None;
        }
        let last = std::mem::replace(&mut mine.fields, Arc::new(set));
        let mut dropped = last.with_named(schema);
        dropped.subtract(&self.entry(Operation::Apply, by).fields.with_named(schema));
        let new = if dropped.is_empty() { merged } else { self.pruned(schema, &merged, &last) };
        let difference = compare(schema, Some(live), Some(&new));
        let changed = difference.changed();
        let is_mine = |it: &Manager| it.is(Operation::Apply, by);
        let others = || self.0.iter().filter(|it| !is_mine(it));
        let conflicts: Vec<Conflict> = others().flat_map(|it| it.conflicts(&changed)).collect();
        if !force && !conflicts.is_empty() {
            return Err(conflicts);
        }
        for manager in self.0.iter_mut().filter(|it| !is_mine(it)) {
            manager.lose(&changed);
            manager.lose(&difference.removed);
        }
        if new != *live {
            let mine = self.entry(Operation::Apply, by);
            by.time.clone_into(&mut mine.time);
            mine.written = None;
        }
        self.settle();
        Ok(new)
    }

    /// Without what was applied the last time and is not any more, as far as nobody else has it.
    fn pruned(&self, schema: &'static Schema, merged: &Value, last: &Fields) -> Value {
        let last = last.with_named(schema);
        let there = named(schema, merged).with_named(schema);
        let pruned = without(schema, merged, &last);
        // What others have, and what is applied now, comes back.
        let mut kept = named(schema, &pruned).with_named(schema);
        for manager in &self.0 {
            kept.union(&manager.fields.with_named(schema));
        }
        let mut gone = there.clone();
        gone.subtract(&kept);
        let pruned = without(schema, merged, &gone);
        // What was not applied the last time comes back, too.
        let mut gone = there;
        gone.subtract(&named(schema, &pruned).with_named(schema));
        without(schema, merged, &gone.intersection(&last))
    }

    fn entry(&mut self, operation: Operation, by: By<'_>) -> &mut Manager {
        let at = self.0.iter().position(|it| it.is(operation, by)).unwrap_or_else(|| {
            self.0.push(Manager {
                name: by.manager.to_owned(),
                operation,
                api_version: by.api_version.to_owned(),
                subresource: by.subresource.to_owned(),
                time: String::new(),
                fields: Arc::default(),
                written: None,
            });
            self.0.len() - 1
        });
        &mut self.0[at]
    }

    /// In the order in which objects have them, and without those that have nothing.
    fn settle(&mut self) {
        self.0.retain(|it| !it.fields.is_empty());
        self.0.sort_by(|a, b| a.order().cmp(&b.order()));
    }
}

impl Manager {
    fn is(&self, operation: Operation, by: By<'_>) -> bool {
        // Of who applies, the version does not tell one from another.
        let same_version = operation == Operation::Apply || self.api_version == by.api_version;
        self.operation == operation
            && self.name == by.manager
            && self.subresource == by.subresource
            && same_version
    }

    fn order(&self) -> (Operation, &str, &str, &str, &str) {
        (self.operation, &self.time, &self.name, &self.api_version, &self.subresource)
    }

    fn conflicts(&self, changed: &Fields) -> Vec<Conflict> {
        let paths = self.fields.intersection(changed).paths();
        let shown = self.shown();
        paths.into_iter().map(|path| Conflict { manager: shown.clone(), path }).collect()
    }

    /// As messages name it: apimachinery `managedfields/internal/conflict.go`, printManager.
    fn shown(&self) -> String {
        let mut shown = format!("{:?}", self.name);
        if !self.subresource.is_empty() {
            shown = format!("{shown} with subresource {:?}", self.subresource);
        }
        if self.operation == Operation::Update {
            shown = format!("{shown} using {}", self.api_version);
        }
        shown
    }

    /// It does not manage these fields any more.
    fn lose(&mut self, fields: &Fields) {
        if self.fields.meets(fields) {
            Arc::make_mut(&mut self.fields).subtract(fields);
            self.written = None;
        }
    }

    fn from_json(at: usize, entry: &Value) -> Self {
        let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        let is_apply = entry["operation"] == "Apply";
        Self {
            name: text("manager"),
            operation: if is_apply { Operation::Apply } else { Operation::Update },
            api_version: text("apiVersion"),
            subresource: text("subresource"),
            time: text("time"),
            fields: Arc::new(Fields::from_json(&entry["fieldsV1"])),
            written: Some(at),
        }
    }

    fn to_json(&self) -> Value {
        let mut entry = json!({
            "manager": self.name,
            "operation": self.operation.as_str(),
            "apiVersion": self.api_version,
            "fieldsType": "FieldsV1",
            "fieldsV1": self.fields.to_json(),
        });
        for (key, text) in [("time", &self.time), ("subresource", &self.subresource)] {
            if !text.is_empty() {
                entry[key] = text.as_str().into();
            }
        }
        entry
    }
}

/// Takes out what belongs to nobody.
fn strip(fields: &mut Fields) {
    fields.member = false;
    fields.below.remove("f:apiVersion");
    fields.below.remove("f:kind");
    let Some(metadata) = fields.below.get_mut("f:metadata") else { return };
    metadata.member = false;
    for name in NOBODYS {
        metadata.below.remove(&format!("f:{name}"));
    }
    if metadata.is_empty() {
        fields.below.remove("f:metadata");
    }
}
