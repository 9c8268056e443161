//! The controller that keeps the count in memory.
//!
//! What it wrote itself it need not read again, and while one replica leads throughout it is right. When
//! the lead comes back to a replica, what it remembers is older than what the other one has written.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use dispatch_admission::{Contract, Decide, Decision, Environment, Parts, Snapshot};
use dispatch_contract::AdmissionCount;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "remembers-the-count",
    about: "raises A from what it last wrote itself, whoever has led meanwhile",
    breaks: &["RG-07", "RG-05", "EX-01"],
    judged_by: &["readmission/leaders-in-turn"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    Parts { decide: Arc::new(RemembersTheCount::default()), ..Parts::reference(environment) }
}

/// The last count of each Workload, by its UID.
#[derive(Default)]
struct RemembersTheCount(Mutex<BTreeMap<String, AdmissionCount>>);

impl Decide for RemembersTheCount {
    fn decide(&self, snapshot: &Snapshot) -> Decision {
        let mut decision = Contract.decide(snapshot);
        if let Decision::Raise(raise) = &mut decision {
            let uid = snapshot.workload.object.metadata.uid.clone().unwrap_or_default();
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let last = known.get(&uid).copied();
            raise.to = last.and_then(AdmissionCount::next).unwrap_or(raise.to);
            known.insert(uid, raise.to);
        }
        decision
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::SubjectChange::{Ready, Started};
    use crate::history::told::{CONTROLLER, SECOND, Told};
    use crate::mutants::told::{breaks_its_own_rule_first, quiet, snapshot};

    fn raised_to(decision: &Decision) -> u64 {
        let Decision::Raise(raise) = decision else { panic!("{decision:?}") };
        raise.to.get()
    }

    #[test]
    fn it_raises_from_what_it_wrote_and_not_from_what_is_there() {
        let mutant = RemembersTheCount::default();
        let raises = [(); 2].map(|()| raised_to(&mutant.decide(&quiet())));
        assert_eq!(raises, [2, 3], "the object's count stays at 1");
        assert_eq!(raised_to(&Contract.decide(&quiet())), 2);
    }

    #[test]
    fn everything_else_it_does_as_the_contract_says() {
        let mutant = RemembersTheCount::default();
        assert_eq!(mutant.decide(&snapshot(&[])), Contract.decide(&snapshot(&[])));
    }

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut told = Told::kueue();
        told.replica(1, Started).replica(1, Ready).waits().goes_by(SECOND, 1);
        told.is_preempted(1).reserves().looks(CONTROLLER).sets_by(CONTROLLER, "Ready");
        let history = told.admits().resumes().pod("pod-2", "1").history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
