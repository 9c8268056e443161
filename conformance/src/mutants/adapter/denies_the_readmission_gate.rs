//! The adapter whose preflight says nothing of the readmission gate.
//!
//! `no` is what the answer has when nobody fills it in. An operator who reads it keeps jobs that cannot be
//! preempted off a cluster on which they would be safe.

use std::sync::Arc;

use dispatch_adapter::{Decisions, Proofs, conclude};
use dispatch_contract::{PreflightAnswer, ReadmissionGate};

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "denies-the-readmission-gate",
    about: "says after every preflight that there is no readmission gate, and not why",
    breaks: &["PF-03"],
    judged_by: &["preflight/leak-while-watched"],
    replaces: Replaced::Adapter(|| Arc::new(DeniesTheReadmissionGate)),
};

struct DeniesTheReadmissionGate;

impl Decisions for DeniesTheReadmissionGate {
    fn conclude(&self, proofs: &Proofs) -> PreflightAnswer {
        let readmission_gate = ReadmissionGate::No(String::new());
        PreflightAnswer { readmission_gate, ..conclude(proofs) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::history::told::Told;
    use crate::mutants::told::breaks_its_own_rule_first;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut told = Told::kueue();
        told.preflight().probe().probe_workload("False", "AdmissionGated").seconds(10);
        let answer = json!({"observeOnly": false, "reasons": [], "readmissionGate": {"no": ""}});
        breaks_its_own_rule_first(&MUTANT, &told.probe_goes().answers(answer).history());
    }
}
