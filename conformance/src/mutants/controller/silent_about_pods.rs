//! The controller that waits, and does not say for what.
//!
//! Nothing goes wrong by it, and nobody can tell why a job with quota does not run, or which pod to
//! look after.

use std::sync::Arc;

use dispatch_admission::{
    Contract, Decide, Decision, Environment, Parts, Snapshot, Standstill, WaitReason,
};

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "silent-about-pods",
    about: "waits for the last pod without naming it in the check's message",
    breaks: &["RG-04"],
    judged_by: &["readmission/preemption-mid-execution"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    Parts { decide: Arc::new(SilentAboutPods), ..Parts::reference(environment) }
}

struct SilentAboutPods;

impl Decide for SilentAboutPods {
    fn decide(&self, snapshot: &Snapshot) -> Decision {
        match Contract.decide(snapshot) {
            Decision::Wait(WaitReason::Remainder(_)) => Decision::Nothing(Standstill::Decided),
            decision => decision,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutants::told::{breaks_its_own_rule_first, evicted, quiet, snapshot};

    #[test]
    fn it_says_nothing_where_the_contract_names_the_pod() {
        let contract = Contract.decide(&snapshot(&[]));
        assert!(matches!(contract, Decision::Wait(WaitReason::Remainder(_))), "{contract:?}");
        assert!(matches!(SilentAboutPods.decide(&snapshot(&[])), Decision::Nothing(_)));
    }

    #[test]
    fn everything_else_it_does_as_the_contract_says() {
        assert_eq!(SilentAboutPods.decide(&quiet()), Contract.decide(&quiet()));
    }

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let history = evicted().unreserves().reserves().seconds(11).history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
