//! A call of the adapter for a job: `open: train`, or with more, `open: { job: train, repeat: true }`.

use std::fmt;

use dispatch_contract::ErrorKind;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::{Location, Spanned};

use super::Text;

/// A call for a job: the job's name alone, or keys.
///
/// To be read within [`Spanned`], whose place is that of the name where that stands alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::scenario) struct JobCallFile {
    job: Text,
    pub(in crate::scenario) refused: Option<ErrorKind>,
    pub(in crate::scenario) cut_off: bool,
    pub(in crate::scenario) repeat: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Keys {
    job: Text,
    refused: Option<ErrorKind>,
    #[serde(default)]
    cut_off: bool,
    #[serde(default)]
    repeat: bool,
}

impl JobCallFile {
    /// The name of the job, with its place.
    pub(in crate::scenario) fn job(call: &Spanned<Self>) -> Text {
        let job = &call.value.job;
        if job.referenced == Location::UNKNOWN {
            return Text::new(job.value.clone(), call.referenced, call.defined);
        }
        job.clone()
    }
}

impl<'de> Deserialize<'de> for JobCallFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Written)
    }
}

struct Written;

impl<'de> Visitor<'de> for Written {
    type Value = JobCallFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a job, or keys such as `{ job: train, repeat: true }`")
    }

    fn visit_str<E: Error>(self, job: &str) -> Result<JobCallFile, E> {
        let job = Text::new(job.to_owned(), Location::UNKNOWN, Location::UNKNOWN);
        Ok(JobCallFile { job, refused: None, cut_off: false, repeat: false })
    }

    fn visit_map<A: MapAccess<'de>>(self, keys: A) -> Result<JobCallFile, A::Error> {
        let Keys { job, refused, cut_off, repeat } =
            Keys::deserialize(MapAccessDeserializer::new(keys))?;
        Ok(JobCallFile { job, refused, cut_off, repeat })
    }
}
