//! The controller that keeps everything of dispatch's waiting.
//!
//! Nothing runs, so that no identity is ever wrong. A gate that never opens keeps every promise but
//! the one to run the job.

use std::sync::Arc;

use dispatch_admission::{Contract, Decide, Decision, Environment, Parts, Snapshot, Standstill};

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "never-ready",
    about: "leaves the check Pending when nothing is left to wait for",
    breaks: &["RG-15"],
    judged_by: &["start-gate/first-execution"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    Parts { decide: Arc::new(NeverReady), ..Parts::reference(environment) }
}

struct NeverReady;

impl Decide for NeverReady {
    fn decide(&self, snapshot: &Snapshot) -> Decision {
        match Contract.decide(snapshot) {
            Decision::Raise(_) => Decision::Nothing(Standstill::Decided),
            decision => decision,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::told::Told;
    use crate::mutants::told::{breaks_its_own_rule_first, quiet, snapshot};

    #[test]
    fn it_does_nothing_where_the_contract_raises() {
        assert!(matches!(Contract.decide(&quiet()), Decision::Raise(_)));
        assert!(matches!(NeverReady.decide(&quiet()), Decision::Nothing(_)));
    }

    #[test]
    fn everything_else_it_does_as_the_contract_says() {
        assert_eq!(NeverReady.decide(&snapshot(&[])), Contract.decide(&snapshot(&[])));
    }

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let history = Told::kueue().waits().seconds(11).history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
