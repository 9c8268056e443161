//! The adapter whose Start takes an object that has the name, whatever it was made from.
//!
//! A name of dispatch's is drawn at random, so that the object can only be an earlier try of the same
//! call: until a supervisor tries again with another input, and changes, or stops, what it has recorded.

use std::sync::Arc;

use dispatch_adapter::Decisions;
use dispatch_contract::resources::TrainJob;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "takes-any-object-of-the-name",
    about: "takes an object that has the name for its own, without comparing the input",
    breaks: &["SG-07"],
    judged_by: &["calls/adapter-restarted"],
    replaces: Replaced::Adapter(|| Arc::new(TakesAnyObjectOfTheName)),
};

struct TakesAnyObjectOfTheName;

impl Decisions for TakesAnyObjectOfTheName {
    fn same_input(&self, _: &TrainJob, _: &str) -> Result<(), String> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use dispatch_contract::ErrorKind;
    use dispatch_contract::driver::Verb;
    use serde_json::json;

    use super::*;
    use crate::history::Kind;
    use crate::history::told::{ADAPTER, NAME, Told, UID, ask, start_input};
    use crate::mutants::told::breaks_its_own_rule_first;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut input = start_input();
        input["trainer"] = json!({"numNodes": 2});
        let mut told = Told::kueue();
        told.starts_by(ADAPTER).calls_with(Verb::Start, input);
        told.reads(ADAPTER, Kind::TrainJob, NAME);
        let delete = json!({"preconditions": {"uid": UID}, "propagationPolicy": "Background"});
        told.request(ask(ADAPTER, "delete", Kind::TrainJob, NAME).with(delete)).sent();
        told.delete(Kind::TrainJob, NAME).answered();
        breaks_its_own_rule_first(&MUTANT, &told.fails(ErrorKind::Refused).history());
    }
}
