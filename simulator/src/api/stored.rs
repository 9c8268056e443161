//! A version of an object, as it is stored.

use std::sync::{Arc, OnceLock};

use bytes::{Bytes, BytesMut};

use serde_json::Value;

use super::fields::Managers;
use crate::object::Object;

/// What stands before the object in a line of a watch.
const PREFIXES: [(EventType, &str); 3] = [
    (EventType::Added, r#"{"type":"ADDED","object":"#),
    (EventType::Modified, r#"{"type":"MODIFIED","object":"#),
    (EventType::Deleted, r#"{"type":"DELETED","object":"#),
];

/// What stands after it.
const SUFFIX: &str = "}\n";

/// The type of a watch's event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventType {
    /// It is new, or comes into what is watched.
    Added,
    /// It changed.
    Modified,
    /// It is gone, or left what is watched.
    Deleted,
}

/// A version of an object. It is written as JSON once, when somebody wants it so: gets, lists and
/// watches share the bytes.
#[derive(Debug)]
pub(super) struct Stored {
    object: Arc<Object>,
    /// What became of the object with this version.
    kind: EventType,
    /// The line of a watch that tells so.
    line: OnceLock<Bytes>,
    /// The managers of its fields, once somebody wanted to know.
    managers: OnceLock<Managers>,
}

impl Stored {
    pub(super) fn new(object: Object, kind: EventType, managers: Option<Managers>) -> Self {
        let managers = managers.map(OnceLock::from).unwrap_or_default();
        Self { object: Arc::new(object), kind, line: OnceLock::new(), managers }
    }

    /// The managers of its fields.
    pub(super) fn managers(&self) -> &Managers {
        self.managers.get_or_init(|| Managers::of(&self.object))
    }

    pub(super) fn object(&self) -> &Object {
        &self.object
    }

    /// The object, to be kept.
    pub(super) fn shared(&self) -> Arc<Object> {
        Arc::clone(&self.object)
    }

    /// The object as JSON.
    pub(super) fn json(&self) -> Bytes {
        let line = self.own_line();
        line.slice(prefix(self.kind).len()..line.len() - SUFFIX.len())
    }

    /// The line that tells this of it.
    pub(super) fn line(&self, kind: EventType) -> Bytes {
        if kind == self.kind {
            return self.own_line().clone();
        }
        let json = self.json();
        let mut out = BytesMut::with_capacity(json.len() + 40);
        out.extend_from_slice(prefix(kind).as_bytes());
        out.extend_from_slice(&json);
        out.extend_from_slice(SUFFIX.as_bytes());
        out.freeze()
    }

    fn own_line(&self) -> &Bytes {
        self.line.get_or_init(|| line(self.kind, &self.object))
    }
}

/// What is answered: an object as it is stored, or whatever else.
#[derive(Clone, Debug)]
pub(super) enum Document {
    Stored(Arc<Stored>),
    Other(Value),
}

impl Document {
    /// As JSON.
    pub(super) fn json(&self) -> Bytes {
        match self {
            Self::Stored(stored) => stored.json(),
            Self::Other(value) => Bytes::from(value.to_string()),
        }
    }

    pub(super) fn value(&self) -> &Value {
        match self {
            Self::Stored(stored) => stored.object(),
            Self::Other(value) => value,
        }
    }

    /// To be kept.
    pub(super) fn shared(self) -> Arc<Value> {
        match self {
            Self::Stored(stored) => stored.shared(),
            Self::Other(value) => Arc::new(value),
        }
    }
}

/// The line of a watch that tells this of an object.
fn line(kind: EventType, object: &Object) -> Bytes {
    let mut out = Vec::with_capacity(8192);
    out.extend_from_slice(prefix(kind).as_bytes());
    // JSON values can always be written to memory.
    serde_json::to_writer(&mut out, object).unwrap_or_default();
    out.extend_from_slice(SUFFIX.as_bytes());
    out.shrink_to_fit();
    Bytes::from(out)
}

fn prefix(kind: EventType) -> &'static str {
    PREFIXES.iter().find(|(of, _)| *of == kind).map_or("", |(_, text)| text)
}
