//! The adapter that reports what preflight found, and goes on.
//!
//! The operator was told; it is for him to decide. Meanwhile jobs are started on a cluster whose gate holds
//! nothing back.

use std::sync::Arc;

use dispatch_adapter::{Decisions, Preflight};
use dispatch_contract::PreflightAnswer;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "goes-on-after-a-leak",
    about: "reports that the gate leaks, and starts and opens all the same",
    breaks: &["PF-02"],
    judged_by: &["preflight/leak-while-watched"],
    replaces: Replaced::Adapter(|| Arc::new(GoesOnAfterALeak)),
};

struct GoesOnAfterALeak;

impl Decisions for GoesOnAfterALeak {
    fn observe_only(&self, _: &str, _: Option<&PreflightAnswer>, _: Preflight) -> Option<String> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::told::Told;
    use crate::mutants::told::breaks_its_own_rule_first;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut told = Told::kueue();
        told.preflight().probe().probe_workload("True", "QuotaReserved").probe_goes();
        breaks_its_own_rule_first(&MUTANT, &told.refuses_because("PF-01").starts().history());
    }
}
