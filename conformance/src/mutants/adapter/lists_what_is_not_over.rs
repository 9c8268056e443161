//! The adapter whose List leaves out what has ended.
//!
//! What has ended needs nobody's care. But after a crash List is how objects are found again, and one
//! that is not in it was never started.

use std::sync::Arc;

use dispatch_adapter::{Decisions, is_listed};
use dispatch_contract::resources::TrainJob;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "lists-what-is-not-over",
    about: "leaves the objects that have ended out of List",
    breaks: &["CA-08"],
    judged_by: &["start-gate/ended-unopened"],
    replaces: Replaced::Adapter(|| Arc::new(ListsWhatIsNotOver)),
};

struct ListsWhatIsNotOver;

impl Decisions for ListsWhatIsNotOver {
    fn is_listed(&self, trainjob: &TrainJob) -> bool {
        let is_over = trainjob.end().is_some() || trainjob.ended_mark().is_some();
        is_listed(trainjob) && !is_over
    }
}

#[cfg(test)]
mod tests {
    use dispatch_contract::driver::Verb;
    use serde_json::json;

    use super::*;
    use crate::history::told::Told;
    use crate::mutants::told::breaks_its_own_rule_first;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut told = Told::kueue();
        told.starts().marks_ended().calls_with(Verb::List, json!({})).answers(json!([]));
        breaks_its_own_rule_first(&MUTANT, &told.history());
    }
}
