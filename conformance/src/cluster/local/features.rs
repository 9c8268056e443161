//! Kueue's feature gates.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Gates that are set otherwise than Kueue's own defaults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FeatureGates(BTreeMap<String, bool>);

impl Default for FeatureGates {
    /// `AdmissionGatedBy` on, which dispatch's start gate needs and Kueue 0.17 has off;
    /// `VisibilityOnDemand` off, which would need an API service of its own.
    fn default() -> Self {
        let gates = [("AdmissionGatedBy", true), ("VisibilityOnDemand", false)];
        Self(gates.map(|(name, on)| (name.to_owned(), on)).into())
    }
}

impl FeatureGates {
    /// The same gates with one set otherwise.
    #[must_use]
    pub fn with(mut self, gate: FeatureGate) -> Self {
        self.0.insert(gate.name, gate.on);
        self
    }

    /// The defaults with these set on top.
    pub fn default_with(gates: impl IntoIterator<Item = FeatureGate>) -> Self {
        gates.into_iter().fold(Self::default(), Self::with)
    }

    /// Name and value of each.
    pub fn iter(&self) -> impl Iterator<Item = (&str, bool)> {
        self.0.iter().map(|(name, on)| (name.as_str(), *on))
    }
}

impl fmt::Display for FeatureGates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, on)) in self.iter().enumerate() {
            write!(f, "{}{name}={on}", if index == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

/// One gate and its value, written `NAME=BOOL`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureGate {
    /// As Kueue spells it.
    pub name: String,
    /// Its value.
    pub on: bool,
}

/// Why a text is no feature gate.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("expected NAME=true or NAME=false, such as AdmissionGatedBy=true")]
pub struct NotAGate;

impl FromStr for FeatureGate {
    type Err = NotAGate;

    fn from_str(text: &str) -> Result<Self, NotAGate> {
        let (name, on) = text.split_once('=').ok_or(NotAGate)?;
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric()) {
            return Err(NotAGate);
        }
        Ok(Self { name: name.to_owned(), on: on.parse().map_err(|_| NotAGate)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::on("AdmissionGatedBy=true", Some(true))]
    #[case::off("AdmissionGatedBy=false", Some(false))]
    #[case::no_value("AdmissionGatedBy", None)]
    #[case::no_name("=true", None)]
    #[case::odd_value("AdmissionGatedBy=yes", None)]
    #[case::odd_name("Admission Gated=true", None)]
    fn a_gate_is_a_name_and_a_boolean(#[case] text: &str, #[case] on: Option<bool>) {
        assert_eq!(text.parse::<FeatureGate>().ok().map(|gate| gate.on), on);
    }

    #[test]
    fn what_is_given_wins_over_the_defaults() {
        let gates = FeatureGates::default_with(["AdmissionGatedBy=false".parse().unwrap()]);
        assert_eq!(gates.to_string(), "AdmissionGatedBy=false,VisibilityOnDemand=false");
    }
}
