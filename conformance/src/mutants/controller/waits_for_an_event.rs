//! The controller that has said what it waits for, and looks again when an event comes.
//!
//! An event comes with every change, so that asking again is work for nothing. A watch that is behind
//! tells of none, and the job waits until somebody else touches it.

use std::sync::Arc;

use dispatch_admission::{
    Contract, Decide, Decision, Environment, Parts, Snapshot, Standstill, WaitReason,
};

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "waits-for-an-event",
    about: "does not look again for what is left of an execution once the check says that it waits for it",
    breaks: &["RG-15"],
    judged_by: &["readmission/stale-caches"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    Parts { decide: Arc::new(WaitsForAnEvent), ..Parts::reference(environment) }
}

struct WaitsForAnEvent;

impl Decide for WaitsForAnEvent {
    fn decide(&self, snapshot: &Snapshot) -> Decision {
        match Contract.decide(snapshot) {
            Decision::Wait(WaitReason::Remainder(_)) if says_so(snapshot) => {
                Decision::Nothing(Standstill::Decided)
            }
            decision => decision,
        }
    }
}

/// Whether the check says already that something of an execution is left, whatever it is.
fn says_so(snapshot: &Snapshot) -> bool {
    let mut own = snapshot.checks.iter().filter_map(|name| snapshot.workload.object.check(name));
    own.any(|check| check.message.starts_with("waiting for the previous execution"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::told::Told;
    use crate::mutants::told::{breaks_its_own_rule_first, quiet, snapshot};

    #[test]
    fn it_says_what_it_waits_for_once() {
        let mut waits = snapshot(&[]);
        let Decision::Wait(reason) = WaitsForAnEvent.decide(&waits) else { panic!("it waits") };
        for check in &mut waits.workload.object.status.as_mut().unwrap().admission_checks {
            check.message = reason.to_string();
        }
        assert!(matches!(Contract.decide(&waits), Decision::Wait(_)));
        assert_eq!(WaitsForAnEvent.decide(&waits), Decision::Nothing(Standstill::Decided));
    }

    #[test]
    fn everything_else_it_does_as_the_contract_says() {
        for seen in [quiet(), snapshot(&[])] {
            assert_eq!(WaitsForAnEvent.decide(&seen), Contract.decide(&seen));
        }
    }

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let history = Told::kueue().waits().seconds(11).history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
