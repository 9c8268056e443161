//! The controller that goes by a label for whether the start gate is open.
//!
//! A label can be selected by, and an annotation cannot. It is also nobody's promise: whoever forgets
//! to set it, or takes it away, opens the gate.

use std::sync::Arc;

use dispatch_admission::{Contract, Decide, Decision, Environment, Owner, Parts, Snapshot};
use dispatch_contract::names;
use kube::ResourceExt;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "gated-by-a-label",
    about: "takes an object for opened that has no label that says gated",
    breaks: &["RG-12"],
    judged_by: &["start-gate/gate-annotation-deleted"],
    replaces: Replaced::Controller(parts),
};

/// What it goes by.
const LABEL: &str = "dispatch.phpboyscout.uk/gated";

fn parts(environment: &Environment) -> Parts {
    Parts { decide: Arc::new(GatedByALabel), ..Parts::reference(environment) }
}

struct GatedByALabel;

impl Decide for GatedByALabel {
    fn decide(&self, snapshot: &Snapshot) -> Decision {
        let mut seen = snapshot.clone();
        if let Owner::Dispatch(object) = &mut seen.owner {
            let trainjob = &mut object.trainjob.object;
            if !trainjob.labels().contains_key(LABEL) {
                let annotations = trainjob.annotations_mut();
                annotations.remove(names::ADMISSION_GATED_BY);
                annotations.insert(names::OPENED.to_owned(), names::TRUE.to_owned());
            }
        }
        Contract.decide(&seen)
    }
}

#[cfg(test)]
mod tests {
    use dispatch_admission::WaitReason;

    use super::*;
    use crate::history::told::Told;
    use crate::mutants::told::{annotated, breaks_its_own_rule_first, quiet, snapshot};

    #[test]
    fn it_raises_while_the_contract_waits_for_open() {
        let gated = annotated(quiet(), names::ADMISSION_GATED_BY, Some(names::GATE));
        let not_opened = annotated(quiet(), names::OPENED, None);
        for (seen, reason) in [(gated, WaitReason::Gated), (not_opened, WaitReason::NotOpened)] {
            assert_eq!(Contract.decide(&seen), Decision::Wait(reason));
            assert!(matches!(GatedByALabel.decide(&seen), Decision::Raise(_)));
        }
    }

    #[test]
    fn everything_else_it_does_as_the_contract_says() {
        assert_eq!(GatedByALabel.decide(&snapshot(&[])), Contract.decide(&snapshot(&[])));
    }

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let history = Told::kueue()
            .starts()
            .trainjob(|it| {
                let annotations = it["metadata"]["annotations"].as_object_mut().unwrap();
                annotations.remove(names::ADMISSION_GATED_BY);
            })
            .ungates()
            .reserves()
            .goes(1)
            .history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
