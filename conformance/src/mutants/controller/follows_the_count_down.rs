//! The controller that takes the count for the truth, whoever wrote it.
//!
//! A count that somebody removed or lowered makes the next execution look like an earlier one.

use std::sync::Arc;

use dispatch_admission::{Contract, Decide, Decision, Environment, Object, Parts, Raise, Snapshot};

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "follows-the-count-down",
    about: "raises A by one from the count alone, and from 0 where there is none",
    breaks: &["RG-13"],
    judged_by: &["readmission/count-lowered", "readmission/count-removed"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    Parts { decide: Arc::new(FollowsTheCountDown), ..Parts::reference(environment) }
}

struct FollowsTheCountDown;

impl Decide for FollowsTheCountDown {
    fn decide(&self, snapshot: &Snapshot) -> Decision {
        match Contract.decide(snapshot) {
            Decision::Raise(raise) => {
                let count = snapshot.object().and_then(Object::count).unwrap_or_default();
                Decision::Raise(Raise { to: count.next().unwrap_or(raise.to), ..raise })
            }
            decision => decision,
        }
    }
}

#[cfg(test)]
mod tests {
    use dispatch_contract::names;

    use super::*;
    use crate::history::told::{Told, raise};
    use crate::mutants::told::{annotated, breaks_its_own_rule_first, quiet, snapshot};

    fn raised_to(decision: &Decision) -> Option<u64> {
        match decision {
            Decision::Raise(raise) => Some(raise.to.get()),
            _ => None,
        }
    }

    #[test]
    fn it_gives_a_number_again_where_the_contract_restores_the_count() {
        let removed = annotated(quiet(), names::ADMISSION_COUNT, None);
        assert_eq!(raised_to(&Contract.decide(&removed)), Some(2));
        assert_eq!(raised_to(&FollowsTheCountDown.decide(&removed)), Some(1));
    }

    #[test]
    fn everything_else_it_does_as_the_contract_says() {
        for seen in [quiet(), snapshot(&[])] {
            assert_eq!(FollowsTheCountDown.decide(&seen), Contract.decide(&seen));
        }
    }

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut told = Told::kueue();
        told.runs().is_preempted(1).trainjob(|it| {
            let annotations = it["metadata"]["annotations"].as_object_mut().unwrap();
            annotations.remove(names::ADMISSION_COUNT);
        });
        told.reserves().trainjob(|it| raise(it, 1));
        let history =
            told.takes_over(1).sets("Ready").admits().resumes().pod("again", "1").history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
