//! A deletion: `delete: jobset-of train`, or with more,
//! `delete: { what: trainjob-of train, propagation: foreground }`, `delete: { what: pods-of train, force: true }`.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::{Location, Spanned};

use super::Text;
use crate::scenario::Propagation;

/// What is deleted: its word alone, or keys.
///
/// To be read within [`Spanned`], whose place is that of the word where that stands alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::scenario) struct DeleteFile {
    what: Text,
    pub(in crate::scenario) propagation: Propagation,
    pub(in crate::scenario) force: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Keys {
    what: Text,
    #[serde(default)]
    propagation: Propagation,
    #[serde(default)]
    force: bool,
}

impl DeleteFile {
    /// What is deleted, with its place.
    pub(in crate::scenario) fn what(delete: &Spanned<Self>) -> Text {
        let what = &delete.value.what;
        if what.referenced == Location::UNKNOWN {
            return Text::new(what.value.clone(), delete.referenced, delete.defined);
        }
        what.clone()
    }
}

impl<'de> Deserialize<'de> for DeleteFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Written)
    }
}

struct Written;

impl<'de> Visitor<'de> for Written {
    type Value = DeleteFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("something of a job such as `jobset-of train`, or keys")
    }

    fn visit_str<E: Error>(self, what: &str) -> Result<DeleteFile, E> {
        let what = Text::new(what.to_owned(), Location::UNKNOWN, Location::UNKNOWN);
        Ok(DeleteFile { what, propagation: Propagation::default(), force: false })
    }

    fn visit_map<A: MapAccess<'de>>(self, keys: A) -> Result<DeleteFile, A::Error> {
        let keys = Keys::deserialize(MapAccessDeserializer::new(keys))?;
        let Keys { what, propagation, force } = keys;
        Ok(DeleteFile { what, propagation, force })
    }
}
