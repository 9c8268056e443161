//! The controller that does not ask whether the runtime is still the one of Start.
//!
//! Trainer makes the `JobSet` from the runtime as it is. What was recorded and opened is then not what
//! runs, or, where JobSet's webhook refuses the edit, nothing runs and holds its quota.

use std::sync::Arc;

use dispatch_admission::{Contract, Decide, Decision, Environment, Owner, Parts, Snapshot};

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "ignores-the-runtime",
    about: "sets the check Ready though the runtime was edited since Start",
    breaks: &["SG-09"],
    judged_by: &["readmission/runtime-relabelled"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    Parts { decide: Arc::new(IgnoresTheRuntime), ..Parts::reference(environment) }
}

struct IgnoresTheRuntime;

impl Decide for IgnoresTheRuntime {
    fn decide(&self, snapshot: &Snapshot) -> Decision {
        let mut seen = snapshot.clone();
        if let Owner::Dispatch(object) = &mut seen.owner {
            object.runtime = None;
        }
        Contract.decide(&seen)
    }
}

#[cfg(test)]
mod tests {
    use dispatch_admission::WaitReason;
    use dispatch_kubernetes::runtime::RuntimeState;
    use serde_json::json;

    use super::*;
    use crate::history::Kind;
    use crate::history::told::Told;
    use crate::mutants::told::{breaks_its_own_rule_first, quiet, snapshot};

    #[test]
    fn it_raises_while_the_contract_waits_for_the_runtime() {
        let mut edited = quiet();
        if let Owner::Dispatch(object) = &mut edited.owner {
            object.runtime = Some(RuntimeState::Differs);
        }
        let contract = Contract.decide(&edited);
        assert!(
            matches!(contract, Decision::Wait(WaitReason::RuntimeDiffers { .. })),
            "{contract:?}"
        );
        assert!(matches!(IgnoresTheRuntime.decide(&edited), Decision::Raise(_)));
    }

    #[test]
    fn everything_else_it_does_as_the_contract_says() {
        assert_eq!(IgnoresTheRuntime.decide(&snapshot(&[])), Contract.decide(&snapshot(&[])));
    }

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut told = Told::kueue();
        told.runtime("runtime").starts().opens();
        told.change(Kind::TrainingRuntime, "runtime", |it| it["spec"]["x"] = json!(1));
        let history = told.seconds(2).reserves().goes(1).history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
