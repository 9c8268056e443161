//! The adapter whose Start relies on suspend alone.
//!
//! A suspended job does not run. But in Kueue mode suspend is Kueue's, which takes it away as soon as there
//! is quota; and a gate that is added to an object that exists is refused.

use std::sync::Arc;

use dispatch_adapter::{Decisions, Input, Runtime, object};
use dispatch_contract::names;
use serde_json::Value;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "creates-without-the-gate",
    about: "creates objects suspended, and without dispatch's gate",
    breaks: &["SG-01"],
    judged_by: &["start-gate/first-execution"],
    replaces: Replaced::Adapter(|| Arc::new(CreatesWithoutTheGate)),
};

struct CreatesWithoutTheGate;

impl Decisions for CreatesWithoutTheGate {
    fn object(&self, namespace: &str, input: &Input, runtime: &Runtime) -> Value {
        let mut written = object(namespace, input, runtime);
        if let Some(annotations) = written["metadata"]["annotations"].as_object_mut() {
            annotations.remove(names::ADMISSION_GATED_BY);
        }
        written
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
        told.calls_with(Verb::Start, start_input()).create_trainjob_with(|it| {
            let annotations = it["metadata"]["annotations"].as_object_mut().unwrap();
            annotations.remove(names::ADMISSION_GATED_BY);
        });
        told.create_jobset().create_workload().ungates().reserves().lists_check();
        told.fails(ErrorKind::Refused)
            .delete(crate::history::Kind::TrainJob, crate::history::told::NAME);
        breaks_its_own_rule_first(&MUTANT, &told.history());
    }
}
