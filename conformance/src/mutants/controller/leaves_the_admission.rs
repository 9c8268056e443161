//! The controller that suspends and marks a failed job, and leaves it admitted.
//!
//! Kueue starts what is suspended and admitted, and forgets a failure when Trainer does.

use std::sync::Arc;

use dispatch_admission::{Contract, Decide, Decision, Environment, Parts, Snapshot, Standstill};

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "leaves-the-admission",
    about: "suspends and marks a failed TrainJob, and leaves it admitted for Kueue to start again",
    breaks: &["CA-07"],
    judged_by: &["executions/ended-before-kueue-saw-it"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    Parts { decide: Arc::new(LeavesTheAdmission), ..Parts::reference(environment) }
}

struct LeavesTheAdmission;

impl Decide for LeavesTheAdmission {
    fn decide(&self, snapshot: &Snapshot) -> Decision {
        match Contract.decide(snapshot) {
            Decision::Reject { .. } => Decision::Nothing(Standstill::Admitted),
            decision => decision,
        }
    }
}

#[cfg(test)]
mod tests {
    use dispatch_admission::{At, Owner};
    use serde_json::json;

    use super::*;
    use crate::history::told::Told;
    use crate::mutants::told::{breaks_its_own_rule_first, snapshot};

    #[test]
    fn it_leaves_a_failed_object_admitted() {
        let mut failed = snapshot(&["Admitted"]);
        let Owner::Dispatch(object) = &mut failed.owner else { panic!("not dispatch's") };
        let mut trainjob = object.trainjob.object.clone();
        let annotations = trainjob.metadata.annotations.get_or_insert_default();
        annotations.insert(dispatch_contract::names::ENDED.to_owned(), "Failed".to_owned());
        object.trainjob = At::read(trainjob).unwrap();
        assert!(matches!(Contract.decide(&failed), Decision::Reject { .. }));
        let mutant = LeavesTheAdmission.decide(&failed);
        assert_eq!(mutant, Decision::Nothing(Standstill::Admitted));
    }

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let history = Told::kueue()
            .runs()
            .pod_ends("pod-1", "Failed")
            .ends("Failed")
            .marks_ended()
            .trainjob(|it| it["spec"]["suspend"] = json!(false))
            .history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
