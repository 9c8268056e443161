//! The controller that finds a raise of its own, and goes on from there.
//!
//! The annotation says what the raise was for, and the `JobSet` carries it: only Ready seems to be
//! missing. Whether an execution used the number before the crash is written nowhere.

use std::sync::Arc;

use dispatch_admission::{Contract, Decide, Decision, Environment, Object, Parts, Raise, Snapshot};
use dispatch_contract::{AdmissionCount, names};
use dispatch_kubernetes::raise;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "resumes-the-raise",
    about: "sets the check Ready after a raise that it finds, and does not raise again",
    breaks: &["RG-09"],
    judged_by: &["readmission/crash-between-raise-and-ready"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    Parts { decide: Arc::new(ResumesTheRaise), ..Parts::reference(environment) }
}

struct ResumesTheRaise;

impl Decide for ResumesTheRaise {
    fn decide(&self, snapshot: &Snapshot) -> Decision {
        match (Contract.decide(snapshot), snapshot.object()) {
            (Decision::Raise(raise), Some(object)) => match found(object, &raise) {
                Some(a) => Decision::Approve { a, unreadable: raise.unreadable },
                None => Decision::Raise(raise),
            },
            (decision, _) => decision,
        }
    }
}

/// The number of a raise that was made for the same, and that Trainer has taken over.
fn found(object: &Object, raise: &Raise) -> Option<AdmissionCount> {
    let (trainjob, jobset) = (&object.trainjob.object, object.owned.jobset.as_ref());
    let a = object.count()?;
    let made_for = trainjob.annotation(names::RAISED_FOR)?;
    let is_whole = raise::check_taken_over(trainjob, jobset, a).is_ok();
    (made_for == raise.raised_for.to_annotation() && is_whole).then_some(a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::SubjectChange::{Killed, Ready, Started};
    use crate::history::told::{CONTROLLER, Told};
    use crate::mutants::told::{annotated, breaks_its_own_rule_first, quiet, snapshot};

    #[test]
    fn it_approves_with_the_number_that_it_finds() {
        let raised = annotated(quiet(), names::RAISED_FOR, Some("w/js"));
        assert!(matches!(Contract.decide(&raised), Decision::Raise(_)));
        let mutant = ResumesTheRaise.decide(&raised);
        assert!(matches!(mutant, Decision::Approve { a, .. } if a.get() == 1), "{mutant:?}");
    }

    #[test]
    fn everything_else_it_does_as_the_contract_says() {
        let another = annotated(quiet(), names::RAISED_FOR, Some("another/js"));
        for seen in [quiet(), another, snapshot(&[])] {
            assert_eq!(ResumesTheRaise.decide(&seen), Contract.decide(&seen));
        }
    }

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut told = Told::kueue();
        told.waits().looks(CONTROLLER).raises_by(CONTROLLER, 1).takes_over(1);
        told.controller(Killed).controller(Started).controller(Ready).looks(CONTROLLER);
        told.sets_by(CONTROLLER, "Ready").admits().resumes().pod("pod-1", "1");
        breaks_its_own_rule_first(&MUTANT, &told.history());
    }
}
