//! The adapter that tells of a lost answer as of a refusal.
//!
//! To its caller both look alike: the call failed. But of what was refused nothing is there, and what was
//! lost on the way back runs.

use std::sync::Arc;

use dispatch_adapter::Decisions;
use dispatch_contract::{CallError, ErrorKind};

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "denies-not-knowing",
    about: "answers `unavailable`, nothing was done, when it cannot know what was done",
    breaks: &["CA-05"],
    judged_by: &["calls/lost-and-unread"],
    replaces: Replaced::Adapter(|| Arc::new(DeniesNotKnowing)),
};

struct DeniesNotKnowing;

impl Decisions for DeniesNotKnowing {
    fn told(&self, failed: CallError) -> CallError {
        match failed.kind {
            ErrorKind::Unknown => CallError { kind: ErrorKind::Unavailable, ..failed },
            _ => failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::history::told::{ADAPTER, NAME, Told, ask};
    use crate::history::{Ending, Kind, Verb};
    use crate::mutants::told::breaks_its_own_rule_first;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut told = Told::kueue();
        told.starts_by(ADAPTER).calls(Verb::Open).reads(ADAPTER, Kind::TrainJob, NAME);
        told.request(ask(ADAPTER, "patch", Kind::TrainJob, NAME).with(json!({}))).sent();
        told.unanswered(Ending::GivenUp).fails(ErrorKind::Unavailable);
        breaks_its_own_rule_first(&MUTANT, &told.history());
    }
}
