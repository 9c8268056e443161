//! The adapter whose Status reads the gate from the Workload.
//!
//! That is where Kueue reads it. But it is a copy, made a reconcile later, and a job that was opened is
//! then said to be closed.

use std::sync::Arc;

use dispatch_adapter::{Decisions, Observed, state};
use dispatch_contract::State;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "reads-the-copy",
    about: "says whether the gate is open by the Workload's copy of it",
    breaks: &["OP-05"],
    judged_by: &["start-gate/late-copy-of-the-gate"],
    replaces: Replaced::Adapter(|| Arc::new(ReadsTheCopy)),
};

struct ReadsTheCopy;

impl Decisions for ReadsTheCopy {
    fn state(&self, observed: &Observed) -> State {
        let copy = observed.workload.as_ref().map(|workload| workload.gates().has_dispatch());
        match state(observed) {
            State::Queued { .. } if copy == Some(true) => State::Gated,
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
        let mut told = Told::kueue();
        told.starts().calls(Verb::Open).opens_gate().answers(json!({}));
        told.calls(Verb::Status).answers(json!({"state": "gated"}));
        breaks_its_own_rule_first(&MUTANT, &told.history());
    }
}
