//! The adapter whose read-back does not compare how many pods the job has.
//!
//! The comparison is a list of fields, and every list of fields lacks one.

use std::sync::Arc;

use dispatch_adapter::{Decisions, Difference, differences};
use serde_json::Value;

use crate::mutants::{Mutant, Replaced};

/// The field that it forgets.
const FORGOTTEN: &str = "spec.trainer.numNodes";

pub(super) const MUTANT: Mutant = Mutant {
    name: "forgets-a-field",
    about: "reads the object back, and does not compare how many nodes it asks for",
    breaks: &["SG-03"],
    judged_by: &["start-gate/altered-by-a-webhook"],
    replaces: Replaced::Adapter(|| Arc::new(ForgetsAField)),
};

struct ForgetsAField;

impl Decisions for ForgetsAField {
    fn differences(&self, written: &Value, found: &Value) -> Vec<Difference> {
        let mut all = differences(written, found);
        all.retain(|difference| difference.field != FORGOTTEN);
        all
    }
}

#[cfg(test)]
mod tests {
    use dispatch_contract::driver::Verb;
    use serde_json::json;

    use super::*;
    use crate::history::Kind;
    use crate::history::told::{ADAPTER, NAME, Told, UID, start_input};
    use crate::mutants::told::breaks_its_own_rule_first;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut body = Told::created_body();
        body["spec"]["trainer"] = json!({"numNodes": 1});
        let mut told = Told::kueue();
        told.calls_with(Verb::Start, start_input());
        told.creates_with(ADAPTER, &body, |it| it["spec"]["trainer"] = json!({"numNodes": 2}));
        told.reads(ADAPTER, Kind::TrainJob, NAME).create_jobset();
        told.watches(ADAPTER, Kind::Workload).create_workload().lists_check();
        told.answers(json!({"name": NAME, "uid": UID}));
        breaks_its_own_rule_first(&MUTANT, &told.history());
    }
}
