//! The controller that leaves holding to Kueue.
//!
//! A held Workload is deactivated, and Kueue gives it nothing. One that is deleted and made again is
//! active, and knows nothing of the hold.

use std::sync::Arc;

use dispatch_admission::{Contract, Decide, Decision, Environment, Owner, Parts, Snapshot};
use dispatch_contract::names;
use kube::ResourceExt;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "ignores-the-hold",
    about: "sets the check Ready while the TrainJob carries the hold mark",
    breaks: &["RG-16"],
    judged_by: &["calls/workload-deleted-while-held"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    Parts { decide: Arc::new(IgnoresTheHold), ..Parts::reference(environment) }
}

struct IgnoresTheHold;

impl Decide for IgnoresTheHold {
    fn decide(&self, snapshot: &Snapshot) -> Decision {
        let mut seen = snapshot.clone();
        if let Owner::Dispatch(object) = &mut seen.owner {
            object.trainjob.object.annotations_mut().remove(names::HELD);
        }
        Contract.decide(&seen)
    }
}

#[cfg(test)]
mod tests {
    use dispatch_admission::WaitReason;
    use serde_json::json;

    use super::*;
    use crate::mutants::told::{annotated, breaks_its_own_rule_first, evicted, quiet, snapshot};

    #[test]
    fn it_raises_while_the_contract_holds() {
        let held = annotated(quiet(), names::HELD, Some("token"));
        assert_eq!(Contract.decide(&held), Decision::Wait(WaitReason::Held));
        assert!(matches!(IgnoresTheHold.decide(&held), Decision::Raise(_)));
    }

    #[test]
    fn everything_else_it_does_as_the_contract_says() {
        assert_eq!(IgnoresTheHold.decide(&snapshot(&[])), Contract.decide(&snapshot(&[])));
        assert_eq!(IgnoresTheHold.decide(&quiet()), Contract.decide(&quiet()));
    }

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let history = evicted()
            .trainjob(|it| it["metadata"]["annotations"][names::HELD] = json!("token"))
            .pod_goes("pod-1")
            .unreserves()
            .reserves()
            .goes(2)
            .history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
