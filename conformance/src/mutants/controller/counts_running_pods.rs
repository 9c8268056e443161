//! The controller that waits for the pods that are Running, and for nothing else.
//!
//! A pod that was asked to go is not Running to whoever reads its status as people do, and goes on
//! for as long as its grace period. Nor is one that is not scheduled yet.

use std::sync::Arc;

use dispatch_admission::{Contract, Decide, Decision, Environment, Owner, Parts, Snapshot};
use k8s_openapi::api::core::v1::Pod;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "counts-running-pods",
    about: "waits for pods that are Running, and for no Terminating or unscheduled one",
    breaks: &["RG-04", "EX-02"],
    judged_by: &["readmission/preemption-mid-execution"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    Parts { decide: Arc::new(CountsRunningPods), ..Parts::reference(environment) }
}

struct CountsRunningPods;

impl Decide for CountsRunningPods {
    fn decide(&self, snapshot: &Snapshot) -> Decision {
        let mut seen = snapshot.clone();
        if let Owner::Dispatch(object) = &mut seen.owner {
            object.owned.pods.retain(is_running);
            // What a Job says of its pods would tell of the others.
            object.owned.jobs.clear();
        }
        Contract.decide(&seen)
    }
}

/// Whether a list of pods says `Running` of it.
fn is_running(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    phase == Some("Running") && pod.metadata.deletion_timestamp.is_none()
}

#[cfg(test)]
mod tests {
    use dispatch_admission::WaitReason;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::mutants::told::{breaks_its_own_rule_first, evicted, snapshot};

    fn with(pod: &Value) -> Snapshot {
        let mut seen = snapshot(&[]);
        if let Owner::Dispatch(object) = &mut seen.owner {
            object.owned.pods = vec![serde_json::from_value(pod.clone()).unwrap()];
        }
        seen
    }

    #[rstest]
    #[case::terminating(json!({"status": {"phase": "Running"},
        "metadata": {"name": "p", "deletionTimestamp": "2026-01-01T00:00:00Z"}}))]
    #[case::not_scheduled(json!({"metadata": {"name": "p"}, "status": {"phase": "Pending"}}))]
    fn it_raises_while_the_contract_waits_for_a_pod(#[case] pod: Value) {
        let contract = Contract.decide(&with(&pod));
        assert!(matches!(contract, Decision::Wait(WaitReason::Remainder(_))), "{contract:?}");
        assert!(matches!(CountsRunningPods.decide(&with(&pod)), Decision::Raise(_)));
    }

    #[test]
    fn it_waits_for_a_running_pod_as_the_contract_does() {
        let running = with(&json!({"metadata": {"name": "p"}, "status": {"phase": "Running"}}));
        assert_eq!(CountsRunningPods.decide(&running), Contract.decide(&running));
    }

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let history = evicted().unreserves().reserves().goes(2).pod_goes("pod-1").history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
