//! The controller that goes by the conditions of the `TrainJob`.
//!
//! Trainer drops the condition of a failed `TrainJob` with its `JobSet`. Without a mark of its own
//! nothing remembers the end, and the job runs again.

use std::sync::Arc;

use dispatch_admission::{Contract, Decide, Decision, Environment, Parts, Snapshot, Standstill};

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "forgets-the-end",
    about: "does not suspend and mark an object that ended",
    breaks: &["CA-07"],
    judged_by: &["executions/ended-stays-ended"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    Parts { decide: Arc::new(ForgetsTheEnd), ..Parts::reference(environment) }
}

struct ForgetsTheEnd;

impl Decide for ForgetsTheEnd {
    fn decide(&self, snapshot: &Snapshot) -> Decision {
        match Contract.decide(snapshot) {
            Decision::MarkEnded { .. } => Decision::Nothing(Standstill::Over),
            decision => decision,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::history::told::Told;
    use dispatch_admission::{At, Owner};
    use dispatch_contract::resources::TrainJob;
    use serde_json::json;

    use super::*;
    use crate::mutants::told::{breaks_its_own_rule_first, quiet, snapshot};

    #[test]
    fn it_does_nothing_where_the_contract_marks() {
        let mut ended = quiet();
        let Owner::Dispatch(object) = &mut ended.owner else { panic!("it is dispatch's") };
        let mut raw = serde_json::to_value(&object.trainjob.object).unwrap();
        raw["status"] = json!({"conditions": [{"type": "Failed", "status": "True"}]});
        object.trainjob = At::read(serde_json::from_value::<TrainJob>(raw).unwrap()).unwrap();
        assert!(matches!(Contract.decide(&ended), Decision::MarkEnded { .. }));
        assert!(matches!(ForgetsTheEnd.decide(&ended), Decision::Nothing(_)));
    }

    #[test]
    fn everything_else_it_does_as_the_contract_says() {
        assert_eq!(ForgetsTheEnd.decide(&snapshot(&[])), Contract.decide(&snapshot(&[])));
    }

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let history =
            Told::kueue().runs().pod_ends("pod-1", "Failed").ends("Failed").seconds(11).history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
