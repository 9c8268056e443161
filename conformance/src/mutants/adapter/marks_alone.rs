//! The adapter whose Hold writes the mark, and leaves the Workload.
//!
//! The readmission gate honours the mark, so that no further execution comes. The one that runs goes on.

use std::sync::Arc;

use dispatch_adapter::Decisions;
use dispatch_contract::resources::Workload;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "marks-alone",
    about: "holds an object by the mark alone, and does not deactivate its Workload",
    breaks: &["CA-01"],
    judged_by: &["calls/hold-and-release"],
    replaces: Replaced::Adapter(|| Arc::new(MarksAlone)),
};

struct MarksAlone;

impl Decisions for MarksAlone {
    fn deactivates(&self, _: &Workload) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use dispatch_contract::driver::Verb;
    use dispatch_contract::names;
    use serde_json::json;

    use super::*;
    use crate::history::told::Told;
    use crate::mutants::told::breaks_its_own_rule_first;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut told = Told::kueue();
        told.runs().calls(Verb::Hold);
        told.trainjob(|it| it["metadata"]["annotations"][names::HELD] = json!("token"));
        breaks_its_own_rule_first(&MUTANT, &told.answers(json!({})).history());
    }
}
