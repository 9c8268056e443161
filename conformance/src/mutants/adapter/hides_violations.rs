//! The adapter whose Status tells the state of an object, and nothing that contradicts the contract.
//!
//! An execution that passed both gates looks like any other. Who relies on A and is not told has two
//! executions under one number.

use std::sync::Arc;

use dispatch_adapter::{Decisions, Observed};
use dispatch_contract::Violation;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "hides-violations",
    about: "lists no violation in its Status",
    breaks: &["EX-04"],
    judged_by: &["executions/check-taken-off"],
    replaces: Replaced::Adapter(|| Arc::new(HidesViolations)),
};

struct HidesViolations;

impl Decisions for HidesViolations {
    fn violations(&self, _: &Observed) -> Vec<Violation> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::history::told::{NAME, Told};
    use crate::history::{Kind, Verb};
    use crate::mutants::told::breaks_its_own_rule_first;

    /// Somebody deletes the `JobSet`, and a pod of the next one comes beside the first one's.
    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut told = Told::kueue();
        told.runs().delete(Kind::JobSet, NAME).create(
            Kind::Pod,
            json!({"metadata": {"name": "second", "namespace": "ns", "uid": "uid-second",
                "annotations": {"dispatch.phpboyscout.uk/admission": "1"},
                "labels": {"jobset.sigs.k8s.io/jobset-name": NAME,
                    "jobset.sigs.k8s.io/jobset-uid": "uid-jobset-2"}}}),
        );
        told.calls(Verb::Status);
        told.answers(json!({"state": {"running": {"pods": []}}, "violations": []}));
        breaks_its_own_rule_first(&MUTANT, &told.history());
    }
}
