//! The adapter whose preflight stops looking once Kueue says that the gate holds the probe back.
//!
//! That is what it wanted to hear. It waits out the ten seconds, as the contract says, and judges by
//! what it had seen before.

use std::sync::Arc;

use dispatch_adapter::{Decisions, ProbeVerdict, Sighting, judge_probe};

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "stops-looking",
    about: "finds the gate proved as soon as Kueue says so, whatever the probe does afterwards",
    breaks: &["PF-01"],
    judged_by: &["preflight/leak-while-watched"],
    replaces: Replaced::Adapter(|| Arc::new(StopsLooking)),
};

struct StopsLooking;

impl Decisions for StopsLooking {
    fn probe(&self, sightings: &[Sighting]) -> ProbeVerdict {
        let until = |count: usize| sightings.get(..count).unwrap_or(sightings);
        let gated = |count: &usize| judge_probe(until(*count)) == ProbeVerdict::Gated;
        let first = (0..sightings.len()).find(gated).unwrap_or(sightings.len());
        judge_probe(until(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Kind;
    use crate::history::told::{Told, set_condition};
    use crate::mutants::told::breaks_its_own_rule_first;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut told = Told::kueue();
        told.preflight().probe().probe_workload("False", "AdmissionGated").seconds(5);
        told.change(Kind::Workload, "probe", |it| {
            set_condition(it, "QuotaReserved", "True", "QuotaReserved");
        });
        told.seconds(5).probe_goes().proves();
        breaks_its_own_rule_first(&MUTANT, &told.history());
    }
}
