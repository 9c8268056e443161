//! The adapter whose Open marks what it does not remember.
//!
//! It keeps in mind what it opened, and spares itself the write. The next process remembers nothing: it
//! writes to an object that runs, meets conflicts, and others hear of it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use dispatch_adapter::{Decisions, Step, decide_open};
use dispatch_contract::names;
use dispatch_contract::resources::TrainJob;
use serde_json::json;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "writes-past-the-gate",
    about: "marks an object that is open once more, unless it remembers that it opened it",
    breaks: &["OP-09"],
    judged_by: &["start-gate/two-opens-at-once"],
    replaces: Replaced::Adapter(|| Arc::new(WritesPastTheGate::default())),
};

#[derive(Default)]
struct WritesPastTheGate {
    /// The UIDs of what it opened.
    opened: Mutex<BTreeSet<String>>,
}

impl Decisions for WritesPastTheGate {
    fn open(&self, trainjob: &TrainJob) -> Step<()> {
        let uid = trainjob.metadata.uid.clone().unwrap_or_default();
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = opened.insert(uid.clone());
        match decide_open(trainjob) {
            Step::Done(()) if is_new => Step::Write(json!({"metadata": {
                "uid": uid,
                "resourceVersion": trainjob.metadata.resource_version,
                "annotations": {names::OPENED: names::TRUE},
            }})),
            step => step,
        }
    }
}

#[cfg(test)]
mod tests {
    use dispatch_contract::driver::Verb;

    use super::*;
    use crate::history::Kind;
    use crate::history::told::{ADAPTER, NAME, Told, ask};
    use crate::mutants::told::breaks_its_own_rule_first;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut told = Told::kueue();
        told.waits_by(ADAPTER).goes(1).calls(Verb::Open).reads(ADAPTER, Kind::TrainJob, NAME);
        let mark = json!({"metadata": {"annotations": {names::OPENED: "true"}}});
        let body = told.body(Kind::TrainJob, NAME, mark);
        told.request(ask(ADAPTER, "patch", Kind::TrainJob, NAME).with(body)).sent().answered();
        breaks_its_own_rule_first(&MUTANT, &told.answers(json!({})).history());
    }
}
