//! The adapter whose Open takes the gate away, and leaves no mark.
//!
//! To Kueue the object is open. But an object whose gate annotation somebody deleted looks the same, and
//! the readmission gate, which lets neither through, waits for an Open that was made long ago.

use std::sync::Arc;

use dispatch_adapter::{Decisions, Step, decide_open};
use dispatch_contract::names;
use dispatch_contract::resources::TrainJob;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "opens-without-the-mark",
    about: "opens by taking the gate away, and does not set the opened mark",
    breaks: &["OP-01"],
    judged_by: &["start-gate/first-execution"],
    replaces: Replaced::Adapter(|| Arc::new(OpensWithoutTheMark)),
};

struct OpensWithoutTheMark;

impl Decisions for OpensWithoutTheMark {
    fn open(&self, trainjob: &TrainJob) -> Step<()> {
        let mut step = decide_open(trainjob);
        if let Step::Write(patch) = &mut step
            && let Some(annotations) = patch["metadata"]["annotations"].as_object_mut()
        {
            annotations.remove(names::OPENED);
            if annotations.is_empty() {
                return Step::Done(());
            }
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
    use crate::mutants::told::breaks_its_own_rule_first;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let history = Told::kueue()
            .starts()
            .calls(Verb::Open)
            .trainjob(|it| {
                let annotations = it["metadata"]["annotations"].as_object_mut().unwrap();
                annotations.remove(names::ADMISSION_GATED_BY);
            })
            .answers(json!({}))
            .ungates()
            .reserves()
            .history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
