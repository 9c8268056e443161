//! The adapter whose Start waits for a Workload, and takes it as it is.
//!
//! On most days the queue lists the check, and nobody notices. On others the job passes no readmission
//! gate, and comes back after a preemption under the number that it had.

use std::sync::Arc;

use dispatch_adapter::{Decisions, WorkloadVerdict};
use dispatch_contract::resources::Workload;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "takes-any-workload",
    about: "waits for the object's Workload, and does not look whether it lists the check",
    breaks: &["SG-05"],
    judged_by: &["start-gate/queue-without-the-check"],
    replaces: Replaced::Adapter(|| Arc::new(TakesAnyWorkload)),
};

struct TakesAnyWorkload;

impl Decisions for TakesAnyWorkload {
    fn workload(&self, _: &Workload, _: &str) -> WorkloadVerdict {
        WorkloadVerdict::AsNeeded
    }
}

#[cfg(test)]
mod tests {
    use dispatch_contract::driver::Verb;
    use serde_json::json;

    use super::*;
    use crate::history::told::{NAME, Told, UID, start_input};
    use crate::mutants::told::breaks_its_own_rule_first;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut told = Told::kueue();
        told.calls_with(Verb::Start, start_input()).create_trainjob().create_jobset();
        told.create_workload().answers(json!({"name": NAME, "uid": UID}));
        breaks_its_own_rule_first(&MUTANT, &told.history());
    }
}
