//! The adapter whose Open sorts the gates that it leaves.
//!
//! It keeps them in a set, which is natural for names of which each is there once. The order is the
//! administrators', who may read it as that in which the gates are to go.

use std::collections::BTreeSet;
use std::sync::Arc;

use dispatch_adapter::{Decisions, Step, decide_open};
use dispatch_contract::names;
use dispatch_contract::resources::TrainJob;
use serde_json::json;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "reorders-others-gates",
    about: "keeps the gates that it leaves in a set, and writes them back sorted",
    breaks: &["OP-01"],
    judged_by: &["start-gate/administrators-gates"],
    replaces: Replaced::Adapter(|| Arc::new(ReordersOthersGates)),
};

struct ReordersOthersGates;

impl Decisions for ReordersOthersGates {
    fn open(&self, trainjob: &TrainJob) -> Step<()> {
        let mut step = decide_open(trainjob);
        if let Step::Write(patch) = &mut step {
            let gates = &mut patch["metadata"]["annotations"][names::ADMISSION_GATED_BY];
            if let Some(left) = gates.as_str() {
                let sorted: BTreeSet<_> = left.split(',').collect();
                *gates = json!(sorted.into_iter().collect::<Vec<_>>().join(","));
            }
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
        breaks_its_own_rule_first(&MUTANT, &opens_to(Some("a.io/x,b.io/y")));
    }
}
