//! The rules of the contract, by id: the one table that the code, the suite, the reports and the
//! documentation share.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

mod table;

pub use table::RULES;

/// One rule of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rule {
    /// The id, which never changes: two capital letters for the group, and a number.
    pub id: &'static str,
    /// What the rule is about, in a few words.
    pub title: &'static str,
    /// What it asks for.
    pub text: &'static str,
    /// Where it comes from.
    pub source: Source,
}

/// Where a rule comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The document that defines the two gates.
    Seed,
    /// What Kueue, Trainer, `JobSet` and Kubernetes really do asks for it.
    Real,
    /// The document, completed by what the real stack asks for.
    SeedAndReal,
    /// The document is silent, and users need an answer.
    Extended,
    /// The document, completed where it is silent.
    SeedAndExtended,
}

/// The id of a rule that is in [`RULES`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(into = "String")]
pub struct RuleId(&'static str);

/// There is no rule of this id.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no rule `{text}`{}", self.hint())]
pub struct UnknownRule {
    /// The text that was given.
    pub text: String,
}

impl UnknownRule {
    fn hint(&self) -> String {
        let group = self.text.get(..2).unwrap_or_default().to_ascii_uppercase();
        let ids: Vec<_> = RULES.iter().map(|rule| rule.id).filter(|id| id[..2] == group).collect();
        match (ids.first(), ids.last()) {
            (Some(first), Some(last)) => format!("; the group has {first} to {last}"),
            _ => "; the groups are SG, OP, PF, RG, EX, CA and RT".to_owned(),
        }
    }
}

impl RuleId {
    /// The id as text, such as `RG-04`.
    pub fn as_str(self) -> &'static str {
        self.0
    }

    /// The rule.
    pub fn rule(self) -> Option<&'static Rule> {
        RULES.iter().find(|rule| rule.id == self.0)
    }
}

impl FromStr for RuleId {
    type Err = UnknownRule;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let rule = RULES.iter().find(|rule| rule.id == text);
        rule.map(|rule| Self(rule.id))
            .ok_or_else(|| UnknownRule { text: text.chars().take(32).collect() })
    }
}

// By hand, since the derived one takes the `&'static str` for a part of the input, which would have
// to live as long.
impl<'de> Deserialize<'de> for RuleId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl TryFrom<String> for RuleId {
    type Error = UnknownRule;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<RuleId> for String {
    fn from(id: RuleId) -> Self {
        id.0.to_owned()
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Debug for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_in_order_within_their_group() {
        for pair in RULES.windows(2) {
            if pair[0].id[..2] == pair[1].id[..2] {
                assert!(pair[0].id < pair[1].id, "{} before {}", pair[0].id, pair[1].id);
            }
        }
        let mut groups: Vec<_> = RULES.iter().map(|rule| &rule.id[..2]).collect();
        groups.dedup();
        assert_eq!(groups, ["SG", "OP", "PF", "RG", "EX", "CA", "RT"]);
    }

    #[test]
    fn every_rule_has_a_title_and_a_text_that_are_sentences() {
        for rule in RULES {
            assert!(!rule.title.ends_with('.'), "{}", rule.id);
            assert!(rule.text.ends_with('.'), "{}", rule.id);
        }
    }

    #[test]
    fn an_id_is_read_from_text_that_is_gone_afterwards() {
        let id: RuleId = serde_json::from_str(&String::from("\"RG-04\"")).unwrap();
        assert_eq!(id.as_str(), "RG-04");
        assert!(serde_json::from_str::<RuleId>("\"RG-99\"").is_err());
    }

    #[test]
    fn an_unknown_rule_is_refused_with_the_ids_of_its_group() {
        let error = "RG-99".parse::<RuleId>().unwrap_err().to_string();
        assert_eq!(error, "there is no rule `RG-99`; the group has RG-01 to RG-18");
        let error = "XX-01".parse::<RuleId>().unwrap_err().to_string();
        assert!(error.ends_with("the groups are SG, OP, PF, RG, EX, CA and RT"), "{error}");
    }
}
