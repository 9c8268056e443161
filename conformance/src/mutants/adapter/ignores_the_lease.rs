//! The adapter whose preflight does not ask whether a controller lives.
//!
//! The check is there and Active, and Kueue stands by it: the condition stays as the last controller
//! left it. Jobs get quota, wait at the check for ever, and keep it from others.

use std::sync::Arc;

use dispatch_adapter::{Decisions, Heartbeat, Proofs, conclude};
use dispatch_contract::PreflightAnswer;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "ignores-the-lease",
    about: "finds the gates proved without a controller that renews its Lease",
    breaks: &["PF-04"],
    judged_by: &["preflight/no-controller"],
    replaces: Replaced::Adapter(|| Arc::new(IgnoresTheLease)),
};

struct IgnoresTheLease;

impl Decisions for IgnoresTheLease {
    fn conclude(&self, proofs: &Proofs) -> PreflightAnswer {
        conclude(&Proofs { heartbeat: Heartbeat::Renewed, ..proofs.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::What;
    use crate::history::told::Told;
    use crate::mutants::told::breaks_its_own_rule_first;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut told = Told::kueue();
        if let Some(What::Begin(begin)) = told.events.first_mut().map(|event| &mut event.what) {
            begin.objects.insert("Lease".to_owned(), "lease".to_owned());
        }
        breaks_its_own_rule_first(&MUTANT, &told.is_proved().history());
    }
}
