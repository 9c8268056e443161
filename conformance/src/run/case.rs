//! One case of a scenario that goes through requests in turn.

use crate::scenario::Fault;

/// The id of the case that is played first, without the fault.
const REFERENCE: &str = "reference";

/// One case of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Its id, unique in the scenario: what is done, and to which request.
    pub id: String,
    /// The fault that takes the place of the step that goes through requests; `None` in the
    /// reference run.
    pub fault: Option<Fault>,
}

impl Case {
    /// The case that is played first, to see which requests there are.
    pub fn reference() -> Self {
        Self { id: REFERENCE.to_owned(), fault: None }
    }
}
