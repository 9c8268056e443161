//! The adapter whose Open takes the whole gate annotation away.
//!
//! Dispatch's entry is the only one on most clusters, so that this looks right until an administrator
//! puts a gate beside it.

use std::sync::Arc;

use dispatch_adapter::{Decisions, Step, decide_open};
use dispatch_contract::names;
use dispatch_contract::resources::TrainJob;
use serde_json::Value;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "drops-others-gates",
    about: "opens by deleting the gate annotation, with an administrator's gates in it",
    breaks: &["OP-01"],
    judged_by: &["start-gate/administrators-gates"],
    replaces: Replaced::Adapter(|| Arc::new(DropsOthersGates)),
};

struct DropsOthersGates;

impl Decisions for DropsOthersGates {
    fn open(&self, trainjob: &TrainJob) -> Step<()> {
        let mut step = decide_open(trainjob);
        if let Step::Write(patch) = &mut step {
            patch["metadata"]["annotations"][names::ADMISSION_GATED_BY] = Value::Null;
        }
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutants::told::{breaks_its_own_rule_first, opens_to};

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        breaks_its_own_rule_first(&MUTANT, &opens_to(None));
    }
}
