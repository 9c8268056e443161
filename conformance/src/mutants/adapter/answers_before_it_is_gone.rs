//! The adapter whose Stop answers once the delete was taken.
//!
//! The object goes in its own time. Whoever hears that it is stopped starts the next one on its
//! checkpoint, which the pods of the last one still write.

use std::sync::Arc;

use dispatch_adapter::{Decisions, Left};
use dispatch_contract::ObjectRef;
use dispatch_contract::resources::TrainJob;
use dispatch_kubernetes::owned::Owned;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "answers-before-it-is-gone",
    about: "answers Stop as soon as the delete was taken, while pods are left",
    breaks: &["CA-03"],
    judged_by: &["calls/stop-waits-for-the-last-pod"],
    replaces: Replaced::Adapter(|| Arc::new(AnswersBeforeItIsGone)),
};

struct AnswersBeforeItIsGone;

impl Decisions for AnswersBeforeItIsGone {
    fn left(&self, _: &ObjectRef, _: Option<&TrainJob>, _: &Owned) -> Left {
        Left::default()
    }
}

#[cfg(test)]
mod tests {
    use dispatch_contract::driver::Verb;
    use serde_json::json;

    use super::*;
    use crate::history::Kind;
    use crate::history::told::{NAME, Told};
    use crate::mutants::told::breaks_its_own_rule_first;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut told = Told::kueue();
        told.runs().calls(Verb::Stop).delete(Kind::TrainJob, NAME).pod_terminates("pod-1");
        told.answers(json!({"deleted": true})).pod_goes("pod-1");
        breaks_its_own_rule_first(&MUTANT, &told.history());
    }
}
