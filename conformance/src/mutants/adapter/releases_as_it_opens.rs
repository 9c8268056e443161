//! The adapter whose Open makes the job run, whatever keeps it from running.
//!
//! That is what opening sounds like. Who held the job before it was opened wanted it not to run when it
//! is.

use std::sync::Arc;

use dispatch_adapter::{Decisions, Step, decide_open};
use dispatch_contract::names;
use dispatch_contract::resources::TrainJob;
use serde_json::Value;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "releases-as-it-opens",
    about: "takes the hold away from a held object that it opens",
    breaks: &["OP-10"],
    judged_by: &["start-gate/held-before-open"],
    replaces: Replaced::Adapter(|| Arc::new(ReleasesAsItOpens)),
};

struct ReleasesAsItOpens;

impl Decisions for ReleasesAsItOpens {
    fn open(&self, trainjob: &TrainJob) -> Step<()> {
        let mut step = decide_open(trainjob);
        if let Step::Write(patch) = &mut step {
            patch["metadata"]["annotations"][names::HELD] = Value::Null;
        }
        step
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
        told.calls(Verb::Open).opens_gate().trainjob(|it| {
            it["metadata"]["annotations"].as_object_mut().unwrap().remove(names::HELD);
        });
        breaks_its_own_rule_first(&MUTANT, &told.answers(json!({})).history());
    }
}
