//! What a kubelet does next with a pod, from the pod and from what the scenario wants.

use k8s_openapi::api::core::v1::Pod;

use super::policy::{Ending, PodPolicy};

/// What the kubelet does next with a pod. Each action is followed by a new version of the pod, from
/// which the next one is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing: it is where the scenario wants it, or it is not this kubelet's business.
    Leave,
    /// Its containers start.
    Run,
    /// Its containers end, each with this ending.
    End(Ending),
    /// It is taken out of the store; its containers have ended before.
    Remove,
}

/// Decides on one version of a pod.
///
/// A pod that was deleted ends before it is removed, as with a real kubelet: the Job controller
/// replaces a pod of `podReplacementPolicy: Failed` only when it has seen a terminal phase.
pub fn decide(pod: &Pod, policy: PodPolicy) -> Action {
    if is_of_daemon_set(pod) || is_mirror(pod) {
        return Action::Leave;
    }
    let ended = matches!(phase(pod), "Succeeded" | "Failed");
    let running = phase(pod) == "Running";
    if pod.metadata.deletion_timestamp.is_some() {
        return match (ended, policy.lingers) {
            (true, _) if removal_is_under_way(pod) => Action::Leave,
            (true, _) => Action::Remove,
            (false, true) => Action::Leave,
            (false, false) => Action::End(Ending::Failed),
        };
    }
    match policy.ending {
        _ if ended => Action::Leave,
        Some(ending) if running => Action::End(ending),
        _ if running => Action::Leave,
        _ => Action::Run,
    }
}

fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Pending")
}

fn is_of_daemon_set(pod: &Pod) -> bool {
    let owners = pod.metadata.owner_references.as_deref().unwrap_or_default();
    owners.iter().any(|owner| owner.controller == Some(true) && owner.kind == "DaemonSet")
}

/// A static pod's image in the store belongs to the kubelet that runs it.
fn is_mirror(pod: &Pod) -> bool {
    let annotations = pod.metadata.annotations.as_ref();
    annotations.is_some_and(|all| all.contains_key("kubernetes.io/config.mirror"))
}

/// With a grace period of zero the store has done its part; what keeps the pod is a finalizer.
fn removal_is_under_way(pod: &Pod) -> bool {
    pod.metadata.deletion_grace_period_seconds == Some(0)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::PodStatus;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
    use rstest::rstest;

    use super::*;

    fn pod(phase: &str, grace: Option<i64>) -> Pod {
        Pod {
            metadata: ObjectMeta {
                deletion_timestamp: grace.map(|_| Time(jiff::Timestamp::UNIX_EPOCH)),
                deletion_grace_period_seconds: grace,
                ..ObjectMeta::default()
            },
            status: Some(PodStatus { phase: Some(phase.to_owned()), ..PodStatus::default() }),
            ..Pod::default()
        }
    }

    const DEFAULT: PodPolicy = PodPolicy { ending: None, lingers: false };
    const LINGERS: PodPolicy = PodPolicy { ending: None, lingers: true };
    const SUCCEEDS: PodPolicy = PodPolicy { ending: Some(Ending::Succeeded), lingers: false };
    const FAILS: PodPolicy = PodPolicy { ending: Some(Ending::Failed), lingers: false };
    const FAILS_AND_LINGERS: PodPolicy = PodPolicy { ending: Some(Ending::Failed), lingers: true };

    #[rstest]
    #[case::a_bound_pod_runs_at_once("Pending", None, DEFAULT, Action::Run)]
    #[case::a_pod_that_is_to_end_runs_first("Pending", None, SUCCEEDS, Action::Run)]
    #[case::a_running_pod_runs_on("Running", None, DEFAULT, Action::Leave)]
    #[case::a_running_pod_succeeds_when_told(
        "Running",
        None,
        SUCCEEDS,
        Action::End(Ending::Succeeded)
    )]
    #[case::a_running_pod_fails_when_told("Running", None, FAILS, Action::End(Ending::Failed))]
    #[case::a_succeeded_pod_stays("Succeeded", None, FAILS, Action::Leave)]
    #[case::a_failed_pod_stays("Failed", None, SUCCEEDS, Action::Leave)]
    #[case::a_deleted_pod_ends_first("Running", Some(30), DEFAULT, Action::End(Ending::Failed))]
    #[case::a_deleted_pod_that_never_ran_ends_too(
        "Pending",
        Some(30),
        DEFAULT,
        Action::End(Ending::Failed)
    )]
    #[case::a_deleted_pod_that_has_ended_is_removed("Failed", Some(30), DEFAULT, Action::Remove)]
    #[case::a_removed_pod_waits_for_its_finalizers("Failed", Some(0), DEFAULT, Action::Leave)]
    #[case::a_force_deleted_pod_that_is_kept_still_ends(
        "Running",
        Some(0),
        DEFAULT,
        Action::End(Ending::Failed)
    )]
    #[case::a_lingering_pod_stays_terminating("Running", Some(30), LINGERS, Action::Leave)]
    #[case::lingering_is_for_deleted_pods_only("Pending", None, LINGERS, Action::Run)]
    #[case::a_lingering_pod_is_not_ended_by_a_step(
        "Running",
        Some(30),
        FAILS_AND_LINGERS,
        Action::Leave
    )]
    #[case::an_ended_pod_does_not_linger("Failed", Some(30), LINGERS, Action::Remove)]
    fn a_pod_is_moved_as_the_scenario_says(
        #[case] phase: &str,
        #[case] grace: Option<i64>,
        #[case] policy: PodPolicy,
        #[case] expected: Action,
    ) {
        assert_eq!(decide(&pod(phase, grace), policy), expected);
    }

    #[rstest]
    #[case::bound("Pending", None)]
    #[case::running("Running", None)]
    #[case::deleted("Running", Some(30))]
    fn pods_of_daemon_sets_are_let_be(#[case] phase: &str, #[case] grace: Option<i64>) {
        let mut pod = pod(phase, grace);
        pod.metadata.owner_references = Some(vec![OwnerReference {
            kind: "DaemonSet".to_owned(),
            controller: Some(true),
            ..OwnerReference::default()
        }]);
        assert_eq!(decide(&pod, FAILS), Action::Leave);
    }

    #[test]
    fn a_pod_without_a_status_is_started() {
        assert_eq!(decide(&Pod::default(), DEFAULT), Action::Run);
    }
}
