//! The adapter whose Hold writes the same token each time.
//!
//! The mark is there or it is not, so that any value will do. But a Release that is repeated after a
//! lost answer then finds the token that it knows, and ends a hold that somebody has made since.

use std::sync::Arc;

use dispatch_adapter::{Decisions, Step, decide_hold};
use dispatch_contract::names;
use dispatch_contract::resources::TrainJob;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "holds-under-one-token",
    about: "holds an object under a token that every hold has",
    breaks: &["CA-01"],
    judged_by: &["start-gate/held-before-open"],
    replaces: Replaced::Adapter(|| Arc::new(HoldsUnderOneToken)),
};

struct HoldsUnderOneToken;

impl Decisions for HoldsUnderOneToken {
    fn hold(&self, trainjob: &TrainJob, _: &str) -> Step<()> {
        decide_hold(trainjob, names::TRUE)
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
        told.calls(Verb::Hold).answers(json!({}));
        breaks_its_own_rule_first(&MUTANT, &told.history());
    }
}
