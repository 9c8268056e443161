//! The adapter that may only observe, and releases.
//!
//! A Release starts nothing, one could say: the job was started before. But it runs from then on, on a
//! cluster whose gates hold nothing back.

use std::sync::Arc;

use dispatch_adapter::{Decisions, Preflight, observe_only};
use dispatch_contract::PreflightAnswer;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "releases-all-the-same",
    about: "refuses Start and Open while it may only observe, and not Release",
    breaks: &["PF-02"],
    judged_by: &["preflight/queue-without-the-check"],
    replaces: Replaced::Adapter(|| Arc::new(ReleasesAllTheSame)),
};

struct ReleasesAllTheSame;

impl Decisions for ReleasesAllTheSame {
    fn observe_only(
        &self,
        call: &str,
        last: Option<&PreflightAnswer>,
        policy: Preflight,
    ) -> Option<String> {
        observe_only(last, policy).filter(|_| call != "Release")
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
        told.starts().preflight().probe().probe_workload("True", "QuotaReserved").probe_goes();
        told.refuses_because("PF-01").calls(Verb::Release);
        breaks_its_own_rule_first(&MUTANT, &told.answers(json!({"released": false})).history());
    }
}
