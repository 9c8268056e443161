//! The adapter whose Open does not look whether the object has ended.
//!
//! The answer is a success, and whoever opened the job waits for a pod that never comes.

use std::sync::Arc;

use dispatch_adapter::{Decisions, Step, decide_open};
use dispatch_contract::names;
use dispatch_contract::resources::TrainJob;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "opens-what-has-ended",
    about: "opens an object that ended without being opened",
    breaks: &["OP-08"],
    judged_by: &["start-gate/ended-unopened"],
    replaces: Replaced::Adapter(|| Arc::new(OpensWhatHasEnded)),
};

struct OpensWhatHasEnded;

impl Decisions for OpensWhatHasEnded {
    fn open(&self, trainjob: &TrainJob) -> Step<()> {
        let mut blind = trainjob.clone();
        blind.status = None;
        if let Some(annotations) = &mut blind.metadata.annotations {
            annotations.remove(names::ENDED);
        }
        decide_open(&blind)
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
            .marks_ended()
            .calls(Verb::Open)
            .opens_gate()
            .answers(json!({}))
            .ungates()
            .history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
