//! The adapter whose Start sends the dry run, and only looks whether it succeeds.
//!
//! It finds what the API server refuses. What a webhook makes of the object shows when there is one: it
//! has to be stopped then, and may have started.

use std::sync::Arc;

use dispatch_adapter::{Decisions, Difference};
use serde_json::Value;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "ignores-the-rehearsal",
    about: "tries the create by a dry run, and does not compare its answer",
    breaks: &["SG-08"],
    judged_by: &["start-gate/altered-in-the-rehearsal"],
    replaces: Replaced::Adapter(|| Arc::new(IgnoresTheRehearsal)),
};

struct IgnoresTheRehearsal;

impl Decisions for IgnoresTheRehearsal {
    fn rehearsed(&self, _: &Value, _: &Value) -> Vec<Difference> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use dispatch_contract::ErrorKind;
    use dispatch_contract::driver::Verb;
    use serde_json::json;

    use super::*;
    use crate::history::Kind;
    use crate::history::told::{ADAPTER, NAME, Told, ask, start_input};
    use crate::mutants::told::breaks_its_own_rule_first;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let body = Told::created_body();
        let mut changed = body.clone();
        changed["metadata"]["annotations"] = json!({});
        let create = || ask(ADAPTER, "create", Kind::TrainJob, NAME).with(body.clone());
        let mut told = Told::kueue();
        told.calls_with(Verb::Start, start_input());
        told.request(create().dry()).sent_as(Some(changed)).answered();
        told.request(create()).sent().create_trainjob().answered();
        told.delete(Kind::TrainJob, NAME).fails(ErrorKind::Refused);
        breaks_its_own_rule_first(&MUTANT, &told.history());
    }
}
