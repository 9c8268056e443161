//! The adapter whose Release takes away whichever hold it finds.
//!
//! Its first write was applied, and the answer was lost. It reads again, finds the object held, and
//! takes that for the write that was lost. It is a hold that somebody made in between.

use std::sync::Arc;

use dispatch_adapter::{Decisions, Lifted, Step, decide_release};
use dispatch_contract::resources::{TrainJob, Workload};

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "takes-any-hold",
    about: "releases by taking away the hold that is there, whichever it read first",
    breaks: &["CA-02"],
    judged_by: &["calls/held-anew-while-released"],
    replaces: Replaced::Adapter(|| Arc::new(TakesAnyHold)),
};

struct TakesAnyHold;

impl Decisions for TakesAnyHold {
    fn release(
        &self,
        trainjob: &TrainJob,
        workload: Option<&Workload>,
        first: Option<&str>,
    ) -> Step<Lifted> {
        decide_release(trainjob, workload, trainjob.hold_token().or(first))
    }
}

#[cfg(test)]
mod tests {
    use dispatch_contract::driver::Verb;
    use dispatch_contract::names;
    use serde_json::{Value, json};

    use super::*;
    use crate::history::told::Told;
    use crate::mutants::told::{breaks_its_own_rule_first, held_closed};

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let hold =
            |it: &mut Value, token: Value| it["metadata"]["annotations"][names::HELD] = token;
        let lift = |it: &mut Value| {
            it["metadata"]["annotations"].as_object_mut().unwrap().remove(names::HELD);
        };
        let mut told: Told = held_closed();
        told.calls(Verb::Release).trainjob(lift).trainjob(|it| hold(it, json!("another")));
        told.trainjob(lift).workload(|it| it["spec"]["active"] = json!(true));
        told.answers(json!({"released": true}));
        breaks_its_own_rule_first(&MUTANT, &told.history());
    }
}
