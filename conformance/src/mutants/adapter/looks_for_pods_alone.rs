//! The adapter whose preflight waits ten seconds, and then looks whether there is a pod.
//!
//! No pod came, so the gate holds. But a pod does not come for many reasons, and the one that counts
//! is told by Kueue alone: a Workload that got quota is past its gate.

use std::sync::Arc;

use dispatch_adapter::{Decisions, ProbeVerdict, Sighting};

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "looks-for-pods-alone",
    about: "finds the gate proved when no pod of the probe came within ten seconds",
    breaks: &["PF-07", "PF-01"],
    judged_by: &["preflight/gate-leak"],
    replaces: Replaced::Adapter(|| Arc::new(LooksForPodsAlone)),
};

struct LooksForPodsAlone;

impl Decisions for LooksForPodsAlone {
    fn probe(&self, sightings: &[Sighting]) -> ProbeVerdict {
        let pod = sightings.iter().find_map(|sighting| match sighting {
            Sighting::Pod(name) => Some(format!("the pod {name} of the closed probe appeared")),
            _ => None,
        });
        pod.map_or(ProbeVerdict::Gated, ProbeVerdict::Leak)
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
        told.preflight().probe().probe_workload("True", "QuotaReserved").seconds(10);
        breaks_its_own_rule_first(&MUTANT, &told.probe_goes().proves().history());
    }
}
