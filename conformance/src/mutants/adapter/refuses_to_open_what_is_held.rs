//! The adapter whose Open refuses a held object.
//!
//! Nothing would run, so there seems to be nothing to open. But whoever opened the job has done with it, and
//! when the hold is released the gate is still shut.

use std::sync::Arc;

use dispatch_adapter::{Decisions, Step, decide_open};
use dispatch_contract::resources::TrainJob;
use dispatch_contract::{CallError, ErrorKind};

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "refuses-to-open-what-is-held",
    about: "rejects an Open of a held object",
    breaks: &["OP-10"],
    judged_by: &["start-gate/held-before-open"],
    replaces: Replaced::Adapter(|| Arc::new(RefusesToOpenWhatIsHeld)),
};

struct RefusesToOpenWhatIsHeld;

impl Decisions for RefusesToOpenWhatIsHeld {
    fn open(&self, trainjob: &TrainJob) -> Step<()> {
        if trainjob.hold_token().is_none() {
            return decide_open(trainjob);
        }
        let message = "the object is held; release it first".to_owned();
        Step::Fail(CallError { kind: ErrorKind::Rejected, message, rules: Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use dispatch_contract::driver::Verb;

    use super::*;
    use crate::history::told::Told;
    use crate::mutants::told::{breaks_its_own_rule_first, held_closed};

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut told: Told = held_closed();
        told.calls(Verb::Open).fails(ErrorKind::Rejected);
        breaks_its_own_rule_first(&MUTANT, &told.history());
    }
}
