//! The controller that raises A for the first execution alone.
//!
//! The count says 1 after a preemption, which looks like a job that has its number already. Who lets
//! it go on with that gives two executions one identity.

use std::sync::Arc;

use dispatch_admission::{Contract, Decide, Decision, Environment, Parts, Snapshot};

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "raises-once",
    about: "takes a count above 0 for a raise that was made, and sets the check Ready",
    breaks: &["RG-05", "EX-01"],
    judged_by: &["readmission/preemption-mid-execution"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    Parts { decide: Arc::new(RaisesOnce), ..Parts::reference(environment) }
}

struct RaisesOnce;

impl Decide for RaisesOnce {
    fn decide(&self, snapshot: &Snapshot) -> Decision {
        match Contract.decide(snapshot) {
            Decision::Raise(raise) if raise.to.get() > 1 => {
                let count = snapshot.object().and_then(dispatch_admission::Object::count);
                Decision::Approve { a: count.unwrap_or_default(), unreadable: Vec::new() }
            }
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
    fn it_approves_with_the_last_number_where_the_contract_raises() {
        assert!(matches!(Contract.decide(&quiet()), Decision::Raise(_)));
        let mutant = RaisesOnce.decide(&quiet());
        assert!(matches!(mutant, Decision::Approve { a, .. } if a.get() == 1), "{mutant:?}");
    }

    #[test]
    fn everything_else_it_does_as_the_contract_says() {
        assert_eq!(RaisesOnce.decide(&snapshot(&[])), Contract.decide(&snapshot(&[])));
    }

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let history = Told::kueue()
            .runs()
            .is_preempted(1)
            .reserves()
            .sets("Ready")
            .admits()
            .resumes()
            .pod("again", "1")
            .history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
