//! The state of an object: the first that applies (CA-04).

use dispatch_contract::resources::{CheckState, Conditions, TrainJob, Workload};
use dispatch_contract::{AdmissionCount, ExecutionIdentity, PodOfObject, State, names};
use dispatch_kubernetes::{ended, owned};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

use super::Observed;
use crate::lease::Heartbeat;

/// The state of an object, from what was read of it (CA-04).
pub fn state(observed: &Observed) -> State {
    let trainjob = &observed.trainjob;
    let pods = owned::live_pods(&observed.owned.pods);
    if let Some(how) = ended::how(trainjob, observed.workload.as_ref()) {
        return State::Ended { how, opened: trainjob.is_opened(), pods_left: pods };
    }
    closed(observed, &pods)
        .or_else(|| executing(observed, pods))
        .or_else(|| waiting_at_check(observed))
        .or_else(|| starting(observed))
        .or_else(|| (!trainjob.is_opened()).then_some(State::GateGone))
        .unwrap_or_else(|| State::Queued { reason: queued_for(observed.workload.as_ref()) })
}

/// Somebody keeps the object from running: dispatch, or others by their own means.
fn closed(observed: &Observed, pods: &[PodOfObject]) -> Option<State> {
    let trainjob = &observed.trainjob;
    if trainjob.hold_token().is_some() {
        return Some(State::Held { pods_left: pods.to_vec() });
    }
    if observed.workload.as_ref().is_some_and(|workload| !workload.is_active()) {
        return Some(State::DeactivatedByAnother);
    }
    let gates = trainjob.gates();
    if gates.has_dispatch() {
        return Some(State::Gated);
    }
    (trainjob.is_opened() && gates.held_by_others())
        .then(|| State::HeldByAdministrator { gates: gates.others().map(str::to_owned).collect() })
}

/// There are pods, or there were until somebody suspended the object.
fn executing(observed: &Observed, pods: Vec<PodOfObject>) -> Option<State> {
    let suspended = observed.trainjob.is_suspended();
    if !pods.is_empty() {
        return Some(if suspended {
            State::Draining { pods_left: pods }
        } else {
            State::Running { identity: identity(&observed.owned.pods), pods }
        });
    }
    let workload = observed.workload.as_ref().filter(|workload| is_admitted(workload))?;
    (suspended && was_resumed_since(&observed.trainjob, workload))
        .then_some(State::SuspendedByAnother)
}

/// Admitted, and not on the way out.
pub(super) fn is_admitted(workload: &Workload) -> bool {
    workload.is("Admitted") && !workload.is("Evicted")
}

/// Whether Trainer saw the object change between suspended and resumed after Kueue admitted it.
/// Until Kueue resumes it, an admitted object is suspended too, by nobody else.
fn was_resumed_since(trainjob: &TrainJob, workload: &Workload) -> bool {
    let changed = transition(trainjob.conditions(), "Suspended");
    let admitted = transition(workload.conditions(), "Admitted");
    changed.zip(admitted).is_some_and(|(changed, admitted)| changed > admitted)
}

fn transition(
    conditions: &[dispatch_contract::resources::Condition],
    of: &str,
) -> Option<Timestamp> {
    conditions.find(of)?.last_transition_time.as_ref().map(|time| time.0)
}

/// The highest R among the live pods.
fn identity(pods: &[Pod]) -> Option<ExecutionIdentity> {
    let of = |pod: &Pod| {
        let admission: AdmissionCount = owned::admission(pod)?.parse().ok()?;
        let restarts = pod.labels().get(names::RESTART_ATTEMPT).map_or(Some(0), |r| r.parse().ok());
        Some(ExecutionIdentity { admission, restarts: restarts? })
    };
    pods.iter().filter(|pod| owned::is_live(pod)).filter_map(of).max()
}

/// It has quota, and dispatch's check is not Ready.
fn waiting_at_check(observed: &Observed) -> Option<State> {
    let workload = observed.workload.as_ref()?;
    let evicted = workload.is("Evicted");
    if !workload.is("QuotaReserved") || workload.is("Admitted") || evicted {
        return None;
    }
    let check = workload.check(&observed.check)?;
    if check.state == CheckState::Ready {
        return None;
    }
    let (silent_since, missing) = match &observed.heartbeat {
        Some(Heartbeat::Silent { since }) => (*since, ""),
        Some(Heartbeat::Missing) => (None, "the controller's Lease is missing"),
        Some(Heartbeat::Renewed) | None => (None, ""),
    };
    let message = [check.message.as_str(), missing];
    let message: Vec<_> = message.into_iter().filter(|part| !part.is_empty()).collect();
    Some(State::WaitingAtCheck {
        check: check.name.clone(),
        check_state: check.state.to_string(),
        message: message.join("; "),
        controller_silent_since: silent_since,
    })
}

/// Nothing stands against its start, and there is no pod yet.
fn starting(observed: &Observed) -> Option<State> {
    let admitted = observed.workload.as_ref().is_some_and(is_admitted);
    (admitted || !observed.trainjob.is_suspended())
        .then(|| State::Starting { refused_by: observed.refused_by.clone() })
}

/// Why it has no quota, as Kueue says it.
fn queued_for(workload: Option<&Workload>) -> String {
    let Some(workload) = workload else { return "Kueue has not made a Workload yet".to_owned() };
    let conditions = workload.conditions();
    if workload.is("QuotaReserved") {
        return match conditions.find("Evicted").filter(|evicted| evicted.status == "True") {
            Some(evicted) => format!("being evicted: {}", evicted.message),
            None => "quota is reserved, and other checks are not Ready".to_owned(),
        };
    }
    match conditions.find("QuotaReserved") {
        Some(condition) if !condition.message.is_empty() => condition.message.clone(),
        _ => "Kueue has not looked at its Workload yet".to_owned(),
    }
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "literals of JSON read best in place")]
mod tests {
    use dispatch_kubernetes::owned::Owned;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    const OPENED: &str = names::OPENED;
    const GATED_BY: &str = names::ADMISSION_GATED_BY;

    fn observed(annotations: Value, suspend: bool, workload: Value, pods: &[&str]) -> Observed {
        let trainjob = json!({
            "metadata": {"name": "t", "uid": "u", "annotations": annotations},
            "spec": {"suspend": suspend},
            "status": {"conditions": [{"type": "Suspended", "status": "True",
                "lastTransitionTime": "2026-01-01T00:00:10Z"}]},
        });
        let pods = pods.iter().map(|phase| {
            serde_json::from_value(json!({
                "metadata": {"name": "p", "uid": "pod",
                    "labels": {names::RESTART_ATTEMPT: "1"},
                    "annotations": {names::POD_ADMISSION: "2"}},
                "status": {"phase": phase},
            }))
            .unwrap()
        });
        Observed {
            trainjob: serde_json::from_value(trainjob).unwrap(),
            workload: serde_json::from_value(workload).unwrap(),
            owned: Owned { pods: pods.collect(), ..Owned::default() },
            check: "dispatch".to_owned(),
            heartbeat: None,
            refused_by: None,
        }
    }

    fn workload(true_: &[&str], check: &str) -> Value {
        let conditions: Vec<_> = true_
            .iter()
            .map(|type_| {
                json!({"type": type_, "status": "True", "message": format!("{type_} it is"),
                    "lastTransitionTime": "2026-01-01T00:00:20Z"})
            })
            .collect();
        json!({
            "metadata": {"name": "w"},
            "status": {"conditions": conditions, "admissionChecks": [
                {"name": "dispatch", "state": check, "message": "waits for the pod p"}]},
        })
    }

    fn deactivated() -> Value {
        let mut workload = workload(&[], "Pending");
        workload["spec"] = json!({"active": false});
        workload
    }

    fn no_quota() -> Value {
        json!({"metadata": {"name": "w"}, "status": {"conditions": [{"type": "QuotaReserved",
            "status": "False", "reason": "Pending", "message": "insufficient quota for cpu"}]}})
    }

    fn opened() -> Value {
        json!({OPENED: "true"})
    }

    fn opened_and(key: &str, value: &str) -> Value {
        json!({OPENED: "true", key: value})
    }

    #[rstest]
    #[case::ended_before_held(
        observed(json!({names::ENDED: "Failed", names::HELD: "x"}), true, json!(null), &[]),
        "ended")]
    #[case::held_before_deactivated(
        observed(opened_and(names::HELD, "x"), true, deactivated(), &[]), "held")]
    #[case::held_before_gated(
        observed(json!({names::HELD: "x", GATED_BY: names::GATE}), true, no_quota(), &[]), "held")]
    #[case::deactivated_before_gated(
        observed(json!({GATED_BY: names::GATE}), true, deactivated(), &[]),
        "deactivated-by-another")]
    #[case::gated(observed(json!({GATED_BY: names::GATE}), true, no_quota(), &[]), "gated")]
    #[case::gated_among_others(
        observed(json!({GATED_BY: format!("a.io/x,{}", names::GATE)}), true, no_quota(), &[]),
        "gated")]
    #[case::opened_and_gated_by_others(
        observed(opened_and(GATED_BY, "a.io/x"), true, no_quota(), &[]), "held-by-administrator")]
    #[case::opened_and_gated_by_a_blank(
        observed(opened_and(GATED_BY, " "), true, no_quota(), &[]), "held-by-administrator")]
    #[case::running(
        observed(opened(), false, workload(&["QuotaReserved", "Admitted"], "Ready"), &["Pending"]),
        "running")]
    #[case::running_before_gate_gone(
        observed(json!({}), false, workload(&["QuotaReserved", "Admitted"], "Ready"), &["Running"]),
        "running")]
    #[case::draining_before_waiting_at_the_check(
        observed(opened(), true, workload(&["QuotaReserved"], "Pending"), &["Running"]),
        "draining")]
    #[case::waiting_at_the_check(
        observed(opened(), true, workload(&["QuotaReserved"], "Pending"), &["Succeeded"]),
        "waiting-at-check")]
    #[case::waiting_at_the_check_before_gate_gone(
        observed(json!({}), true, workload(&["QuotaReserved"], "Pending"), &[]),
        "waiting-at-check")]
    #[case::evicted_with_its_quota(
        observed(opened(), true, workload(&["QuotaReserved", "Admitted", "Evicted"], "Pending"),
            &[]),
        "queued")]
    #[case::admitted_and_not_resumed_yet(
        observed(opened(), true, workload(&["QuotaReserved", "Admitted"], "Ready"), &[]),
        "starting")]
    #[case::resumed_without_pods(
        observed(opened(), false, workload(&["QuotaReserved", "Admitted"], "Ready"), &[]),
        "starting")]
    #[case::gate_gone(observed(json!({}), true, no_quota(), &[]), "gate-gone")]
    #[case::others_gates_left_without_the_mark(
        observed(json!({GATED_BY: "a.io/x"}), true, no_quota(), &[]), "gate-gone")]
    #[case::queued(observed(opened(), true, no_quota(), &[]), "queued")]
    #[case::queued_without_a_workload(observed(opened(), true, json!(null), &[]), "queued")]
    fn the_first_state_that_applies_is_given(#[case] observed: Observed, #[case] expected: &str) {
        assert_eq!(state(&observed).name(), expected);
    }

    #[test]
    fn an_admitted_object_that_was_suspended_after_its_start_was_suspended_by_another() {
        let mut found =
            observed(opened(), true, workload(&["QuotaReserved", "Admitted"], "Ready"), &[]);
        let conditions = &mut found.trainjob.status.as_mut().unwrap().conditions;
        conditions[0].last_transition_time =
            serde_json::from_value(json!("2026-01-01T00:00:30Z")).unwrap();
        assert_eq!(state(&found), State::SuspendedByAnother);
    }

    #[test]
    fn a_running_object_reports_the_identity_of_its_pods() {
        let found = observed(
            opened(),
            false,
            workload(&["QuotaReserved", "Admitted"], "Ready"),
            &["Running"],
        );
        let State::Running { identity, pods } = state(&found) else { panic!("not running") };
        assert_eq!(identity.unwrap().to_string(), "(2, 1)");
        assert_eq!(pods.len(), 1);
    }

    #[rstest]
    #[case::not_looked_at(None, None, "waits for the pod p")]
    #[case::renewed(Some(Heartbeat::Renewed), None, "waits for the pod p")]
    #[case::silent(
        Some(Heartbeat::Silent { since: Some(Timestamp::UNIX_EPOCH) }),
        Some(Timestamp::UNIX_EPOCH),
        "waits for the pod p")]
    #[case::missing(
        Some(Heartbeat::Missing),
        None,
        "waits for the pod p; the controller's Lease is missing"
    )]
    fn waiting_at_the_check_says_whether_the_controller_lives(
        #[case] heartbeat: Option<Heartbeat>,
        #[case] silent_since: Option<Timestamp>,
        #[case] expected: &str,
    ) {
        let mut found = observed(opened(), true, workload(&["QuotaReserved"], "Pending"), &[]);
        found.heartbeat = heartbeat;
        let State::WaitingAtCheck { message, controller_silent_since, .. } = state(&found) else {
            panic!("not waiting")
        };
        assert_eq!((controller_silent_since, message.as_str()), (silent_since, expected));
    }

    #[test]
    fn a_queued_object_says_why_in_kueues_words() {
        let found = state(&observed(opened(), true, no_quota(), &[]));
        assert_eq!(found, State::Queued { reason: "insufficient quota for cpu".to_owned() });
    }
}
