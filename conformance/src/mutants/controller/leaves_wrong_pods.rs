//! The controller that is done with a Workload once it is admitted.
//!
//! Everything was right when it said Ready. A pod that the Job controller makes late, from the template
//! of the last execution, goes on under a number that was used up.

use std::sync::Arc;

use dispatch_admission::{Contract, Decide, Decision, Environment, Parts, Snapshot, Standstill};

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "leaves-wrong-pods",
    about: "does not set the check to Retry when a pod of an admitted object carries another A",
    breaks: &["EX-05"],
    judged_by: &["executions/late-pod"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    Parts { decide: Arc::new(LeavesWrongPods), ..Parts::reference(environment) }
}

struct LeavesWrongPods;

impl Decide for LeavesWrongPods {
    fn decide(&self, snapshot: &Snapshot) -> Decision {
        match Contract.decide(snapshot) {
            Decision::Heal { .. } => Decision::Nothing(Standstill::Admitted),
            decision => decision,
        }
    }
}

#[cfg(test)]
mod tests {
    use dispatch_contract::names;

    use super::*;
    use crate::history::told::Told;
    use crate::mutants::told::{annotated, breaks_its_own_rule_first, quiet, snapshot};

    #[test]
    fn it_does_nothing_where_the_contract_heals() {
        let violated = annotated(snapshot(&["Admitted"]), names::OPENED, None);
        assert!(matches!(Contract.decide(&violated), Decision::Heal { .. }));
        assert!(matches!(LeavesWrongPods.decide(&violated), Decision::Nothing(_)));
    }

    #[test]
    fn everything_else_it_does_as_the_contract_says() {
        assert_eq!(LeavesWrongPods.decide(&quiet()), Contract.decide(&quiet()));
    }

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        // A late pod is the cluster's break of EX-01 as well. So the mark goes here.
        let mut told = Told::kueue();
        told.runs().trainjob(|it| {
            it["metadata"]["annotations"].as_object_mut().unwrap().remove(names::OPENED);
        });
        let history = told.seconds(11).history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
