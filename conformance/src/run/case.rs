//! The ways in which a scenario is played that goes over something in turn.

use super::Played;
use crate::scenario::Scenario;

/// The id of the case that is played first.
const REFERENCE: &str = "reference";

/// One way in which a scenario is played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Its id, unique in the scenario: lower-case letters, digits and hyphens. Its history is in a
    /// folder of this name.
    pub id: String,
}

impl Case {
    /// The scenario as its steps say, with nothing added: what the other cases are made from.
    pub fn reference() -> Self {
        Self { id: REFERENCE.to_owned() }
    }
}

/// The cases of a scenario, from the reference run of it.
pub fn cases(_scenario: &Scenario, _reference: &Played) -> Vec<Case> {
    Vec::new()
}
