//! The adapter whose Release does not look whether the object has ended.
//!
//! There is nothing to release, so that it does no harm, and says that all is well. Its caller waits for
//! a job that never runs again.

use std::sync::Arc;

use dispatch_adapter::{Decisions, Lifted, Step, decide_release};
use dispatch_contract::names;
use dispatch_contract::resources::{TrainJob, Workload};

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "releases-what-has-ended",
    about: "answers a Release of an object that has ended, and does not reject it",
    breaks: &["CA-07"],
    judged_by: &["executions/ended-stays-ended"],
    replaces: Replaced::Adapter(|| Arc::new(ReleasesWhatHasEnded)),
};

struct ReleasesWhatHasEnded;

impl Decisions for ReleasesWhatHasEnded {
    fn release(
        &self,
        trainjob: &TrainJob,
        _: Option<&Workload>,
        first: Option<&str>,
    ) -> Step<Lifted> {
        let mut blind = trainjob.clone();
        blind.status = None;
        if let Some(annotations) = &mut blind.metadata.annotations {
            annotations.remove(names::ENDED);
        }
        decide_release(&blind, None, first)
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
        told.runs().pod_ends("pod-1", "Failed").ends("Failed").marks_ended();
        told.calls(Verb::Release).answers(json!({"released": false}));
        breaks_its_own_rule_first(&MUTANT, &told.history());
    }
}
