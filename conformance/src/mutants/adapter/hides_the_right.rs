//! The adapter that does not say which right it lacks.
//!
//! "Forbidden" it tells as one more thing that did not work, to be tried again. Whoever reads that looks
//! for a fault of the network, and the line that is missing in a role stays missing.

use std::sync::Arc;

use dispatch_adapter::Decisions;
use dispatch_contract::{CallError, ErrorKind};

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "hides-the-right",
    about: "answers `unavailable` when it lacks a right, and does not name it",
    breaks: &["RT-02"],
    judged_by: &["calls/right-missing"],
    replaces: Replaced::Adapter(|| Arc::new(HidesTheRight)),
};

struct HidesTheRight;

impl Decisions for HidesTheRight {
    fn told(&self, failed: CallError) -> CallError {
        match failed.kind {
            ErrorKind::Forbidden => CallError {
                kind: ErrorKind::Unavailable,
                message: "the API server did not do it; try again".to_owned(),
                rules: Vec::new(),
            },
            _ => failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::history::told::{ADAPTER, NAME, Told, ask};
    use crate::history::{Kind, Verb};
    use crate::mutants::told::breaks_its_own_rule_first;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut told = Told::kueue();
        told.starts_by(ADAPTER).calls(Verb::Open).reads(ADAPTER, Kind::TrainJob, NAME);
        told.request(ask(ADAPTER, "patch", Kind::TrainJob, NAME).with(json!({})));
        told.refused_instead(403).fails(ErrorKind::Unavailable);
        breaks_its_own_rule_first(&MUTANT, &told.history());
    }
}
