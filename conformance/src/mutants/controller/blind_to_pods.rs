//! The controller that trusts the suspension: it looks at the `TrainJob` and at the `JobSet`, and
//! not at Jobs and pods.
//!
//! Kueue itself goes by the counts of active pods, which leave out those that are Terminating. Who
//! does the same lets the next execution start beside the last one.

use std::sync::Arc;

use dispatch_admission::{Contract, Decide, Decision, Environment, Owner, Parts, Snapshot};

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "blind-to-pods",
    about: "does not look at Jobs and pods before it raises A and sets the check Ready",
    breaks: &["RG-04", "EX-02"],
    judged_by: &["readmission/preemption-mid-execution"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    Parts { decide: Arc::new(BlindToPods), ..Parts::reference(environment) }
}

struct BlindToPods;

impl Decide for BlindToPods {
    fn decide(&self, snapshot: &Snapshot) -> Decision {
        let mut seen = snapshot.clone();
        if let Owner::Dispatch(object) = &mut seen.owner {
            object.owned.jobs.clear();
            object.owned.pods.clear();
        }
        Contract.decide(&seen)
    }
}

#[cfg(test)]
mod tests {
    use dispatch_admission::WaitReason;

    use super::*;
    use crate::mutants::told::{breaks_its_own_rule_first, evicted, snapshot};

    #[test]
    fn it_raises_while_the_contract_waits_for_a_pod() {
        let contract = Contract.decide(&snapshot(&[]));
        assert!(matches!(contract, Decision::Wait(WaitReason::Remainder(_))), "{contract:?}");
        let mutant = BlindToPods.decide(&snapshot(&[]));
        assert!(matches!(&mutant, Decision::Raise(raise) if raise.to.get() == 2), "{mutant:?}");
    }

    #[test]
    fn everything_else_it_does_as_the_contract_says() {
        let (seen, contract) = (snapshot(&["Evicted"]), Contract.decide(&snapshot(&["Evicted"])));
        assert_eq!(BlindToPods.decide(&seen), contract);
    }

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let history = evicted().unreserves().reserves().goes(2).pod_goes("pod-1").history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
