//! The adapter whose Status calls everything queued that is open and does not run.
//!
//! Dispatch opened the job, and it does not start: without the name of the gate nobody knows whom to ask.

use std::sync::Arc;

use dispatch_adapter::{Decisions, Observed, state};
use dispatch_contract::State;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "hides-administrators",
    about: "says that a job is queued, where an administrator's gate holds it",
    breaks: &["OP-04", "CA-04"],
    judged_by: &["start-gate/administrators-gates"],
    replaces: Replaced::Adapter(|| Arc::new(HidesAdministrators)),
};

struct HidesAdministrators;

impl Decisions for HidesAdministrators {
    fn state(&self, observed: &Observed) -> State {
        match state(observed) {
            State::HeldByAdministrator { .. } => {
                State::Queued { reason: "it waits for quota".to_owned() }
            }
            state => state,
        }
    }
}

#[cfg(test)]
mod tests {
    use dispatch_contract::driver::Verb;
    use serde_json::json;

    use super::*;
    use crate::history::told::Told;
    use crate::mutants::told::breaks_its_own_rule_first;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut told: Told = crate::mutants::told::opened_with_gates(Some("b.io/y,a.io/x"));
        told.calls(Verb::Status);
        told.answers(json!({"state": {"queued": {"reason": "it waits for quota"}}}));
        breaks_its_own_rule_first(&MUTANT, &told.history());
    }
}
