//! The adapter whose read-back compares the whole list of gates.
//!
//! It wrote one gate and finds three: something is not as it was written. But the others are an
//! administrator's, and with them no job can be started at all.

use std::sync::Arc;

use dispatch_adapter::{Decisions, Difference, differences};
use dispatch_contract::names;
use serde_json::Value;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "refuses-others-gates",
    about: "reads the object back, and refuses it for an administrator's gates beside its own",
    breaks: &["SG-04"],
    judged_by: &["start-gate/administrators-gates"],
    replaces: Replaced::Adapter(|| Arc::new(RefusesOthersGates)),
};

struct RefusesOthersGates;

impl Decisions for RefusesOthersGates {
    fn differences(&self, written: &Value, found: &Value) -> Vec<Difference> {
        let gates = |object: &Value| {
            object["metadata"]["annotations"].get(names::ADMISSION_GATED_BY).cloned()
        };
        let (wrote, finds) = (gates(written), gates(found));
        let mut all = differences(written, found);
        if wrote != finds {
            let field = format!("metadata.annotations[{}]", names::ADMISSION_GATED_BY);
            all.push(Difference { field, written: wrote, found: finds });
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use dispatch_contract::ErrorKind;
    use dispatch_contract::driver::Verb;
    use serde_json::json;

    use super::*;
    use crate::history::Kind;
    use crate::history::told::{ADAPTER, NAME, Told, start_input};
    use crate::mutants::told::breaks_its_own_rule_first;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let gates = format!("a.io/x,{}", names::GATE);
        let mut told = Told::kueue();
        told.calls_with(Verb::Start, start_input());
        told.creates_with(ADAPTER, &Told::created_body(), |it| {
            it["metadata"]["annotations"][names::ADMISSION_GATED_BY] = json!(gates);
        });
        told.reads(ADAPTER, Kind::TrainJob, NAME).delete(Kind::TrainJob, NAME);
        told.fails_by(ErrorKind::Refused, "it is not what was written", &["SG-03", "SG-06"]);
        breaks_its_own_rule_first(&MUTANT, &told.history());
    }
}
