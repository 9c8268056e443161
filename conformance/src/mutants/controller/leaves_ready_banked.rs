//! The controller that leaves its Ready where it is when quota goes.
//!
//! It was true when it was written. The next admission finds it, and passes the check without a look at
//! what runs, and without a raise.

use std::sync::Arc;

use dispatch_admission::{Contract, Decide, Decision, Environment, Parts, Snapshot, Standstill};

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "leaves-ready-banked",
    about: "leaves the check Ready on a Workload that has lost its quota",
    breaks: &["RG-18"],
    judged_by: &["readmission/ready-banked"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    Parts { decide: Arc::new(LeavesReadyBanked), ..Parts::reference(environment) }
}

struct LeavesReadyBanked;

impl Decide for LeavesReadyBanked {
    fn decide(&self, snapshot: &Snapshot) -> Decision {
        match Contract.decide(snapshot) {
            Decision::Unbank => Decision::Nothing(Standstill::NoQuota),
            decision => decision,
        }
    }
}

#[cfg(test)]
mod tests {
    use dispatch_contract::resources::CheckState;

    use super::*;
    use crate::history::told::Told;
    use crate::mutants::told::{breaks_its_own_rule_first, quiet, snapshot};

    #[test]
    fn it_does_nothing_where_the_contract_sets_back() {
        let mut banked = quiet();
        let status = banked.workload.object.status.get_or_insert_default();
        status.conditions.clear();
        status.admission_checks[0].state = CheckState::Ready;
        assert_eq!(Contract.decide(&banked), Decision::Unbank);
        assert_eq!(LeavesReadyBanked.decide(&banked), Decision::Nothing(Standstill::NoQuota));
    }

    #[test]
    fn everything_else_it_does_as_the_contract_says() {
        for seen in [quiet(), snapshot(&[])] {
            assert_eq!(LeavesReadyBanked.decide(&seen), Contract.decide(&seen));
        }
    }

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut told = Told::kueue();
        told.waits().raises(1).takes_over(1).sets("Ready").unreserves();
        breaks_its_own_rule_first(&MUTANT, &told.seconds(11).history());
    }
}
