//! The controller that knows dispatch's jobs alone.
//!
//! The check stands on the whole `ClusterQueue`. Who answers for dispatch's jobs and leaves the
//! others alone stops everybody else's.

use std::sync::Arc;

use dispatch_admission::{Contract, Decide, Decision, Environment, Parts, Snapshot, Standstill};

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "deaf-to-foreign",
    about: "leaves the check of a Workload alone that is not dispatch's",
    breaks: &["RG-02"],
    judged_by: &["readmission/foreign-workload"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    Parts { decide: Arc::new(DeafToForeign), ..Parts::reference(environment) }
}

struct DeafToForeign;

impl Decide for DeafToForeign {
    fn decide(&self, snapshot: &Snapshot) -> Decision {
        match Contract.decide(snapshot) {
            Decision::PassThrough => Decision::Nothing(Standstill::Decided),
            decision => decision,
        }
    }
}

#[cfg(test)]
mod tests {
    use dispatch_admission::Owner;

    use super::*;
    use crate::mutants::told::{breaks_its_own_rule_first, foreign, quiet, snapshot};

    #[test]
    fn it_does_nothing_where_the_contract_lets_pass() {
        let mut foreign = quiet();
        foreign.owner = Owner::Foreign;
        assert_eq!(Contract.decide(&foreign), Decision::PassThrough);
        assert!(matches!(DeafToForeign.decide(&foreign), Decision::Nothing(_)));
    }

    #[test]
    fn everything_else_it_does_as_the_contract_says() {
        assert_eq!(DeafToForeign.decide(&snapshot(&[])), Contract.decide(&snapshot(&[])));
        assert_eq!(DeafToForeign.decide(&quiet()), Contract.decide(&quiet()));
    }

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let history = foreign().seconds(11).history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
