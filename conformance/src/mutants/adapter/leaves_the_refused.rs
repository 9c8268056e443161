//! The adapter whose Start refuses an object, and only tries to delete it.
//!
//! The delete is sent with `dryRun`, left over from the create before it; it succeeds, and nothing is
//! gone. The caller was told that there is no object, and there is one that nobody knows.

use std::sync::Arc;

use dispatch_adapter::{Decisions, deletion};
use dispatch_contract::ObjectRef;
use kube::api::DeleteParams;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "leaves-the-refused",
    about: "refuses an object that was altered, and deletes it by a dry run only",
    breaks: &["SG-06"],
    judged_by: &["start-gate/altered-by-a-webhook"],
    replaces: Replaced::Adapter(|| Arc::new(LeavesTheRefused)),
};

struct LeavesTheRefused;

impl Decisions for LeavesTheRefused {
    fn deletion(&self, object: &ObjectRef, version: Option<String>) -> DeleteParams {
        let dry_run = version.is_some();
        DeleteParams { dry_run, ..deletion(object, version) }
    }
}

#[cfg(test)]
mod tests {
    use dispatch_contract::ErrorKind;
    use dispatch_contract::driver::Verb;

    use super::*;
    use crate::history::told::{Told, start_input};
    use crate::mutants::told::breaks_its_own_rule_first;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut told = Told::kueue();
        told.calls_with(Verb::Start, start_input()).create_trainjob().create_jobset();
        told.create_workload().fails(ErrorKind::Refused);
        breaks_its_own_rule_first(&MUTANT, &told.history());
    }
}
