//! The adapter whose Status looks at the gate before it looks at the hold.
//!
//! Both are true of an object that is held before it is opened. Who reads "gated" opens it, and
//! wonders why it does not run.

use std::sync::Arc;

use dispatch_adapter::{Decisions, Observed, state};
use dispatch_contract::State;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "calls-the-held-gated",
    about: "says of a held object that it is gated, where it is both",
    breaks: &["CA-04"],
    judged_by: &["start-gate/held-before-open"],
    replaces: Replaced::Adapter(|| Arc::new(CallsTheHeldGated)),
};

struct CallsTheHeldGated;

impl Decisions for CallsTheHeldGated {
    fn state(&self, observed: &Observed) -> State {
        match state(observed) {
            State::Held { .. } if observed.trainjob.gates().has_dispatch() => State::Gated,
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
    use crate::mutants::told::{breaks_its_own_rule_first, held_closed};

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut told: Told = held_closed();
        told.calls(Verb::Status).answers(json!({"state": "gated"}));
        breaks_its_own_rule_first(&MUTANT, &told.history());
    }
}
