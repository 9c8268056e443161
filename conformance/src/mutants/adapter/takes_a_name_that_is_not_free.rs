//! The adapter whose Start takes a name whose object is gone.
//!
//! There is no `TrainJob` of the name, so the name is free. But pods of the last one are still there, and
//! `JobSet`, Workload and pods are matched by name.

use std::sync::Arc;

use dispatch_adapter::Decisions;
use dispatch_contract::resources::Workload;
use dispatch_kubernetes::owned::Owned;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "takes-a-name-that-is-not-free",
    about: "creates an object while pods of an earlier one of the name are there",
    breaks: &["SG-07"],
    judged_by: &["start-gate/name-used-again"],
    replaces: Replaced::Adapter(|| Arc::new(TakesANameThatIsNotFree)),
};

struct TakesANameThatIsNotFree;

impl Decisions for TakesANameThatIsNotFree {
    fn leftovers(&self, _: &str, _: &[Workload], _: &Owned) -> Vec<String> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use dispatch_contract::ErrorKind;
    use dispatch_contract::driver::Verb;
    use serde_json::json;

    use super::*;
    use crate::history::Kind;
    use crate::history::told::{NAME, Told, start_input};
    use crate::mutants::told::breaks_its_own_rule_first;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut told = Told::kueue();
        told.starts().opens().reserves().goes(1).delete(Kind::TrainJob, NAME);
        told.delete(Kind::Workload, "workload").delete(Kind::JobSet, NAME);
        told.delete(Kind::Job, "node").pod_terminates("pod-1");
        let mut object = Told::created_body();
        object["metadata"]["uid"] = json!("uid-new");
        told.calls_with(Verb::Start, start_input()).create(Kind::TrainJob, object);
        told.delete(Kind::TrainJob, NAME).fails(ErrorKind::Deadline).pod_goes("pod-1");
        breaks_its_own_rule_first(&MUTANT, &told.history());
    }
}
