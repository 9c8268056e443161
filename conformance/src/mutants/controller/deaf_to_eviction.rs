//! The controller that goes by "Pending, with quota reserved" alone.
//!
//! An eviction passes through that very state: Kueue resets the check first and takes the quota
//! back later. Who sees only that the check of an approved Workload is Pending again, and sets it
//! right, leaves a Ready behind that the next admission will find.

use std::sync::Arc;

use dispatch_admission::{Contract, Decide, Decision, Environment, Object, Parts, Snapshot};
use dispatch_contract::resources::CheckState;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "deaf-to-eviction",
    about: "acts while Evicted is True: it sets the check that Kueue has just reset Ready again",
    breaks: &["RG-01"],
    judged_by: &["readmission/eviction-window"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    Parts { decide: Arc::new(DeafToEviction), ..Parts::reference(environment) }
}

struct DeafToEviction;

impl Decide for DeafToEviction {
    fn decide(&self, snapshot: &Snapshot) -> Decision {
        let workload = &snapshot.workload.object;
        let evicting = workload.is("Evicted") && workload.is("QuotaReserved");
        if evicting && workload.is_active() && snapshot.has_own(&CheckState::Pending) {
            // The execution that is being evicted has its number already.
            let a = snapshot.object().and_then(Object::count).unwrap_or_default();
            return Decision::Approve { a, unreadable: Vec::new() };
        }
        Contract.decide(snapshot)
    }
}

#[cfg(test)]
mod tests {
    use dispatch_admission::Standstill;
    use rstest::rstest;

    use super::*;
    use crate::mutants::told::{breaks_its_own_rule_first, evicted, snapshot};

    #[rstest]
    #[case::running(&["Evicted", "Admitted"])]
    #[case::not_admitted(&["Evicted"])]
    fn it_approves_while_the_contract_lets_kueue_evict(#[case] conditions: &[&str]) {
        let seen = snapshot(conditions);
        assert_eq!(Contract.decide(&seen), Decision::Nothing(Standstill::Evicting));
        let mutant = DeafToEviction.decide(&seen);
        assert!(matches!(mutant, Decision::Approve { a, .. } if a.get() == 1), "{mutant:?}");
    }

    #[rstest]
    #[case::waiting(&[])]
    #[case::finished(&["Finished"])]
    fn everything_else_it_does_as_the_contract_says(#[case] conditions: &[&str]) {
        let seen = snapshot(conditions);
        assert_eq!(DeafToEviction.decide(&seen), Contract.decide(&seen));
    }

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let history = evicted()
            .sets("Ready")
            .unreserves()
            .sets("Pending")
            .pod_goes("pod-1")
            .reserves()
            .goes(2)
            .history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
