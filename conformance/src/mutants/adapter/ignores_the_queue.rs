//! The adapter whose preflight does not ask whether the queue names the check.
//!
//! The probe is held back by its gate, which has nothing to do with the check: the start gate is
//! proved, and there is no readmission gate behind it.

use std::sync::Arc;

use dispatch_adapter::{Decisions, Findings, Proofs, conclude};
use dispatch_contract::PreflightAnswer;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "ignores-the-queue",
    about: "finds the gates proved, though the ClusterQueue does not list the check",
    breaks: &["PF-06"],
    judged_by: &["preflight/queue-without-the-check"],
    replaces: Replaced::Adapter(|| Arc::new(IgnoresTheQueue)),
};

struct IgnoresTheQueue;

impl Decisions for IgnoresTheQueue {
    fn conclude(&self, proofs: &Proofs) -> PreflightAnswer {
        conclude(&Proofs { administration: Findings::default(), ..proofs.clone() })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::history::Kind;
    use crate::history::told::Told;
    use crate::mutants::told::breaks_its_own_rule_first;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut told = Told::kueue();
        told.change(Kind::ClusterQueue, "cq", |it| it["spec"] = json!({}));
        breaks_its_own_rule_first(&MUTANT, &told.is_proved().history());
    }
}
