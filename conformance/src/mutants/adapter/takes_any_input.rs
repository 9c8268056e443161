//! The adapter whose Start leaves the check of its input to the cluster.
//!
//! The webhooks refuse what cannot be. They do not know whose a label is: with one of Kueue's or
//! `JobSet`'s own a caller reaches past the gate.

use std::sync::Arc;

use dispatch_adapter::{Config, Decisions};
use dispatch_contract::{CallError, StartRequest};

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "takes-any-input",
    about: "starts a job with labels that are not the caller's to set",
    breaks: &["CA-06"],
    judged_by: &["calls/bad-input"],
    replaces: Replaced::Adapter(|| Arc::new(TakesAnyInput)),
};

struct TakesAnyInput;

impl Decisions for TakesAnyInput {
    fn input(&self, _: &StartRequest, _: &Config) -> Result<(), CallError> {
        Ok(())
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
        let mut input = start_input();
        input["labels"] = json!({"jobset.sigs.k8s.io/restart-attempt": "7"});
        let mut told = Told::kueue();
        told.runtime("runtime").calls_with(Verb::Start, input).create_trainjob().create_jobset();
        told.create_workload().lists_check().answers(json!({"name": NAME, "uid": UID}));
        breaks_its_own_rule_first(&MUTANT, &told.history());
    }
}
