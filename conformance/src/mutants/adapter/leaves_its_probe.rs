//! The adapter whose preflight leaves its probe to the next one: it deletes it by a dry run.
//!
//! Each preflight removes the probes that others left, so that there is never more than one. But nobody
//! knows when the next one comes, and until then the probe waits in somebody's queue.

use std::sync::Arc;

use dispatch_adapter::{Decisions, Left, deletion, left};
use dispatch_contract::resources::TrainJob;
use dispatch_contract::{ObjectName, ObjectRef};
use dispatch_kubernetes::owned::Owned;
use kube::api::DeleteParams;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "leaves-its-probe",
    about: "does not remove the probe of its preflight",
    breaks: &["PF-05"],
    judged_by: &["preflight/no-controller"],
    replaces: Replaced::Adapter(|| Arc::new(LeavesItsProbe)),
};

struct LeavesItsProbe;

impl Decisions for LeavesItsProbe {
    fn deletion(&self, object: &ObjectRef, version: Option<String>) -> DeleteParams {
        let dry_run = !ObjectName::matches(&object.name);
        DeleteParams { dry_run, ..deletion(object, version) }
    }

    fn left(&self, object: &ObjectRef, named: Option<&TrainJob>, owned: &Owned) -> Left {
        if ObjectName::matches(&object.name) { left(object, named, owned) } else { Left::default() }
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
        told.preflight().probe().probe_workload("False", "AdmissionGated").seconds(10);
        breaks_its_own_rule_first(&MUTANT, &told.proves().seconds(60).history());
    }
}
