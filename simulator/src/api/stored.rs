//! A version of an object, as it is stored.

use std::sync::OnceLock;

use bytes::{Bytes, BytesMut};

use super::fields::Managers;
use crate::object::Object;

/// What stands before the object in a line of a watch.
const PREFIXES: [(Kind, &str); 3] = [
    (Kind::Added, r#"{"type":"ADDED","object":"#),
    (Kind::Modified, r#"{"type":"MODIFIED","object":"#),
    (Kind::Deleted, r#"{"type":"DELETED","object":"#),
];

/// What stands after it.
const SUFFIX: &str = "}\n";

/// What a watch tells of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Added,
    Modified,
    Deleted,
}

/// A version of an object. It is written as JSON once: gets, lists and watches share the bytes.
#[derive(Debug)]
pub(super) struct Stored {
    object: Object,
    /// What became of the object with this version.
    kind: Kind,
    /// The line of a watch that tells so.
    line: Bytes,
    /// The managers of its fields, once somebody wanted to know.
    managers: OnceLock<Managers>,
}

impl Stored {
    pub(super) fn new(object: Object, kind: Kind, managers: Option<Managers>) -> Self {
        let line = line(kind, &object);
        let managers = managers.map(OnceLock::from).unwrap_or_default();
        Self { object, kind, line, managers }
    }

    /// The managers of its fields.
    pub(super) fn managers(&self) -> &Managers {
        self.managers.get_or_init(|| Managers::of(&self.object))
    }

    pub(super) fn object(&self) -> &Object {
        &self.object
    }

    /// The object as JSON.
    pub(super) fn json(&self) -> Bytes {
        let start = prefix(self.kind).len();
        self.line.slice(start..self.line.len() - SUFFIX.len())
    }

    /// The line that tells this of it.
    pub(super) fn line(&self, kind: Kind) -> Bytes {
        if kind == self.kind {
            return self.line.clone();
        }
        let json = self.json();
        let mut out = BytesMut::with_capacity(json.len() + 40);
        out.extend_from_slice(prefix(kind).as_bytes());
        out.extend_from_slice(&json);
        out.extend_from_slice(SUFFIX.as_bytes());
        out.freeze()
    }
}

/// The line of a watch that tells this of an object.
pub(super) fn line(kind: Kind, object: &Object) -> Bytes {
    let mut out = Vec::with_capacity(8192);
    out.extend_from_slice(prefix(kind).as_bytes());
    // JSON values can always be written to memory.
    serde_json::to_writer(&mut out, object).unwrap_or_default();
    out.extend_from_slice(SUFFIX.as_bytes());
    out.shrink_to_fit();
    Bytes::from(out)
}

fn prefix(kind: Kind) -> &'static str {
    PREFIXES.iter().find(|(of, _)| *of == kind).map_or("", |(_, text)| text)
}
