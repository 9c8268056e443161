//! The adapter whose Open takes its entry out of the gate list, and leaves the list.
//!
//! An empty list is still a list to some readers: an administrator's tool that looks for the key
//! sees a job that is gated by nobody.

use std::sync::Arc;

use dispatch_adapter::{Decisions, Step, decide_open};
use dispatch_contract::names;
use dispatch_contract::resources::TrainJob;
use serde_json::{Value, json};

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "leaves-the-gate-empty",
    about: "opens the last gate by an empty value, and does not delete the key",
    breaks: &["OP-02"],
    judged_by: &["start-gate/first-execution"],
    replaces: Replaced::Adapter(|| Arc::new(LeavesTheGateEmpty)),
};

struct LeavesTheGateEmpty;

impl Decisions for LeavesTheGateEmpty {
    fn open(&self, trainjob: &TrainJob) -> Step<()> {
        let mut step = decide_open(trainjob);
        if let Step::Write(patch) = &mut step {
            let gate = &mut patch["metadata"]["annotations"][names::ADMISSION_GATED_BY];
            if *gate == Value::Null {
                *gate = json!("");
            }
        }
        step
    }
}

#[cfg(test)]
mod tests {
    use dispatch_contract::driver::Verb;

    use super::*;
    use crate::history::told::Told;
    use crate::mutants::told::breaks_its_own_rule_first;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let history = Told::kueue()
            .starts()
            .calls(Verb::Open)
            .trainjob(|it| {
                it["metadata"]["annotations"][names::OPENED] = json!("true");
                it["metadata"]["annotations"][names::ADMISSION_GATED_BY] = json!("");
            })
            .answers(json!({}))
            .ungates()
            .history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
