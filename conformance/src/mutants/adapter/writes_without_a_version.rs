//! The adapter whose Open writes whatever happened since it read.
//!
//! A merge patch needs no resourceVersion, and conflicts go away when it is left out. What an
//! administrator wrote in between is then undone by a list of gates that is out of date.

use std::sync::Arc;

use dispatch_adapter::{Decisions, Step, decide_open};
use dispatch_contract::resources::TrainJob;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "writes-without-a-version",
    about: "opens by a patch without a resourceVersion, over what others wrote since it read",
    breaks: &["OP-03"],
    judged_by: &["start-gate/written-by-others-meanwhile"],
    replaces: Replaced::Adapter(|| Arc::new(WritesWithoutAVersion)),
};

struct WritesWithoutAVersion;

impl Decisions for WritesWithoutAVersion {
    fn open(&self, trainjob: &TrainJob) -> Step<()> {
        let mut step = decide_open(trainjob);
        if let Step::Write(patch) = &mut step
            && let Some(metadata) = patch["metadata"].as_object_mut()
        {
            metadata.remove("resourceVersion");
        }
        step
    }
}

#[cfg(test)]
mod tests {
    use dispatch_contract::driver::Verb;
    use dispatch_contract::names;
    use serde_json::{Value, json};

    use super::*;
    use crate::history::Kind;
    use crate::history::told::{ADAPTER, NAME, Told, ask};
    use crate::mutants::told::{breaks_its_own_rule_first, created_with_gates};

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let gates = format!("b.io/y,{},a.io/x", names::GATE);
        let body = json!({"metadata": {"annotations": {
            names::OPENED: "true", names::ADMISSION_GATED_BY: "b.io/y,a.io/x"}}});
        let mut told: Told = created_with_gates(&gates);
        told.calls(Verb::Open)
            .reads(ADAPTER, Kind::TrainJob, NAME)
            .trainjob(|it| set(it, &format!("{},a.io/x", names::GATE)))
            .writes(ask(ADAPTER, "patch", Kind::TrainJob, NAME).with(body), |it| {
                set(it, "b.io/y,a.io/x");
                it["metadata"]["annotations"][names::OPENED] = json!("true");
            })
            .answers(json!({}));
        breaks_its_own_rule_first(&MUTANT, &told.history());
    }

    fn set(trainjob: &mut Value, gates: &str) {
        trainjob["metadata"]["annotations"][names::ADMISSION_GATED_BY] = json!(gates);
    }
}
