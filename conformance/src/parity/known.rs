//! Differences that are known, each with the reason why it stays.

use serde::Deserialize;

use super::alignment::Move;
use super::role::Role;
use crate::history::Kind;

/// The list, as the suite has it.
const KNOWN: &str = include_str!("../../parity/known.yaml");

/// A difference that is known.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownDifference {
    /// The scenario; one case of it, where the case follows.
    pub scenario: String,
    /// The kind of the object that differs.
    pub kind: Kind,
    /// How: the words that a comparison has for it. Without them, in any way.
    #[serde(default)]
    pub how: Option<String>,
    /// Why it stays.
    pub why: String,
}

/// The known differences, and which of them were met.
#[derive(Clone, Debug, Default)]
pub struct Known {
    differences: Vec<(KnownDifference, bool)>,
}

impl Known {
    /// The suite's own.
    ///
    /// # Errors
    /// The list is not well formed.
    pub fn embedded() -> Result<Self, String> {
        Self::read(KNOWN)
    }

    /// Reads a list.
    ///
    /// # Errors
    /// It is not well formed.
    pub fn read(text: &str) -> Result<Self, String> {
        let differences: Vec<KnownDifference> =
            serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        Ok(Self { differences: differences.into_iter().map(|it| (it, false)).collect() })
    }

    /// Whether a difference is known. It then counts as met.
    pub fn has(&mut self, play: &str, role: &Role, it: &Move) -> bool {
        let words = it.to_string();
        let mut found = false;
        for (known, met) in &mut self.differences {
            let of_play = play.strip_prefix(known.scenario.as_str());
            let is_it = of_play.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                && known.kind == role.kind
                && known.how.as_ref().is_none_or(|how| *how == words);
            *met |= is_it;
            found |= is_it;
        }
        found
    }

    /// Those that were not met: they are no more, or never were.
    pub fn not_met(&self) -> impl Iterator<Item = &KnownDifference> {
        self.differences.iter().filter(|(_, met)| !met).map(|(known, _)| known)
    }
}
