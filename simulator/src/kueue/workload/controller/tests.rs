use std::sync::Arc;

use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::api::Verb;

const NOW: &str = "2026-01-01T00:01:00Z";

fn view(stop: &str) -> View {
    let mut view = View::default();
    view.put(
        LOCAL_QUEUE,
        Arc::new(json!({
            "metadata": {"name": "q", "namespace": "n"},
            "spec": {"clusterQueue": "cq", "stopPolicy": stop},
        })),
    );
    view.put(
        CLUSTER_QUEUE,
        Arc::new(json!({
            "metadata": {"name": "cq"},
            "spec": {"admissionChecksStrategy": {"admissionChecks": [{"name": "c"}]}},
        })),
    );
    let active = json!([{"type": "Active", "status": "True"}]);
    let check = json!({"metadata": {"name": "c"}, "status": {"conditions": active}});
    view.put(crate::resource::ADMISSION_CHECK, Arc::new(check));
    view
}

fn workload(conditions: &Value, check: &str) -> Value {
    json!({
        "metadata": {"name": "w", "namespace": "n", "resourceVersion": "5",
            "ownerReferences": [{"uid": "j"}]},
        "spec": {"queueName": "q", "active": true},
        "status": {"conditions": conditions, "admissionChecks": [{"name": "c", "state": check}]},
    })
}

fn is(type_: &str, status: &str, reason: &str) -> Value {
    json!({"type": type_, "status": status, "reason": reason, "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

fn admitted() -> Value {
    json!([is("QuotaReserved", "True", "QuotaReserved"), is("Admitted", "True", "Admitted")])
}

/// What is written, if anything is.
fn written(view: &mut View, workload: Value) -> Option<Value> {
    let key = Key::of(&workload);
    view.put(WORKLOAD, Arc::new(workload));
    let mut controller = WorkloadController::new(Features { admission_gated_by: true });
    let mut plan = controller.reconcile(view, &key, NOW.parse().unwrap());
    assert!(plan.requests.len() <= 1, "{plan:?}");
    plan.requests.pop().map(|it| match it.request.verb {
        Verb::Apply(body, ..) | Verb::Update(body, _) => body,
        other => panic!("{other:?}"),
    })
}

fn told(write: &Value, type_: &str) -> Option<(String, String, String)> {
    let condition = condition(write, type_)?;
    let of = |at: &str| text(condition, at).to_owned();
    Some((of("/status"), of("/reason"), of("/message")))
}

fn says(status: &str, reason: &str, message: &str) -> (String, String, String) {
    (status.to_owned(), reason.to_owned(), message.to_owned())
}

#[test]
fn a_gate_is_told_first_and_the_checks_afterwards() {
    let mut gated = workload(&json!([]), "Pending");
    gated["metadata"]["annotations"] = json!({ADMISSION_GATED_BY: "a.b/c"});
    gated["status"] = json!({});
    let write = written(&mut view("None"), gated.clone()).unwrap();
    let reserved = told(&write, "QuotaReserved");
    assert_eq!(reserved, Some(says("False", "AdmissionGated", "Admission is gated by: a.b/c")));
    assert_eq!(write["metadata"]["resourceVersion"], "5");
    gated["status"] = write["status"].clone();
    let write = written(&mut view("None"), gated.clone()).unwrap();
    assert_eq!(write["status"]["admissionChecks"][0]["state"], "Pending");
    gated["status"] = write["status"].clone();
    assert_eq!(written(&mut view("None"), gated.clone()), None);
    gated["metadata"]["annotations"] = json!({});
    let write = written(&mut view("None"), gated).unwrap();
    let message = "AdmissionGatedBy cleared, waiting for quota reservation";
    assert_eq!(told(&write, "QuotaReserved"), Some(says("False", "Pending", message)));
}

#[test]
fn it_is_admitted_once_its_check_is_ready() {
    let reserved = json!([is("QuotaReserved", "True", "QuotaReserved")]);
    assert_eq!(written(&mut view("None"), workload(&reserved, "Pending")), None);
    let write = written(&mut view("None"), workload(&reserved, "Ready")).unwrap();
    assert!(is_admitted(&write));
    assert_eq!(written(&mut view("None"), workload(&admitted(), "Pending")), None, "it stays so");
}

#[test]
fn without_its_check_in_the_queue_it_is_admitted() {
    let mut view = view("None");
    view.put(CLUSTER_QUEUE, Arc::new(json!({"metadata": {"name": "cq"}, "spec": {}})));
    let reserved = json!([is("QuotaReserved", "True", "QuotaReserved")]);
    let write = written(&mut view, workload(&reserved, "Pending")).unwrap();
    assert_eq!(write["status"]["admissionChecks"], json!([]));
    let mut dropped = workload(&reserved, "Pending");
    dropped["status"]["admissionChecks"] = json!([]);
    assert!(is_admitted(&written(&mut view, dropped).unwrap()));
}

#[test]
fn a_deactivated_one_is_evicted_and_requeued_when_it_is_active_again() {
    let mut inactive = workload(&admitted(), "Ready");
    inactive["spec"]["active"] = false.into();
    let write = written(&mut view("None"), inactive.clone()).unwrap();
    let message = "The workload is deactivated";
    assert_eq!(told(&write, "Evicted"), Some(says("True", "Deactivated", message)));
    assert!(has_quota_reservation(&write) && is_admitted(&write));
    assert_eq!(write["status"]["admissionChecks"][0]["state"], "Pending");
    inactive["status"] = write["status"].clone();
    assert_eq!(written(&mut view("None"), inactive), None);
    let requeued = json!([is("Requeued", "False", "Deactivated")]);
    let write = written(&mut view("None"), workload(&requeued, "Pending")).unwrap();
    assert_eq!(
        told(&write, "Requeued"),
        Some(says("True", "Reactivated", "The workload was reactivated"))
    );
}

#[test]
fn a_retry_evicts_and_a_rejection_deactivates() {
    let write = written(&mut view("None"), workload(&admitted(), "Retry")).unwrap();
    let message = "At least one admission check is false";
    assert_eq!(told(&write, "Evicted"), Some(says("True", "AdmissionCheck", message)));
    let mut rejected = workload(&admitted(), "Rejected");
    let write = written(&mut view("None"), rejected.clone()).unwrap();
    let message = "Admission check(s): c, were rejected";
    assert_eq!(told(&write, "DeactivationTarget"), Some(says("True", "AdmissionCheck", message)));
    rejected["status"]["conditions"] = write["status"]["conditions"].clone();
    let write = written(&mut view("None"), rejected.clone()).unwrap();
    assert_eq!(write["spec"]["active"], false);
    rejected["spec"]["active"] = false.into();
    let write = written(&mut view("None"), rejected).unwrap();
    let message = "The workload is deactivated due to Admission check(s): c, were rejected";
    assert_eq!(
        told(&write, "Evicted"),
        Some(says("True", "DeactivatedDueToAdmissionCheck", message))
    );
    assert_eq!(told(&write, "DeactivationTarget"), None);
}

#[test]
fn a_retry_may_put_it_off() {
    let mut retried = workload(&admitted(), "Retry");
    retried["status"]["admissionChecks"][0]["requeueAfterSeconds"] = 60.into();
    retried["status"]["admissionChecks"][0]["lastTransitionTime"] = "2026-01-01T00:00:30Z".into();
    let write = written(&mut view("None"), retried).unwrap();
    assert_eq!(write["status"]["requeueState"], json!({"requeueAt": "2026-01-01T00:01:30Z"}));
}

#[rstest]
#[case("Hold", None)]
#[case("HoldAndDrain", Some(says("True", "LocalQueueStopped", "The LocalQueue is stopped")))]
fn a_stopped_queue_evicts_what_runs_only_if_it_is_drained(
    #[case] stop: &str,
    #[case] evicted: Option<(String, String, String)>,
) {
    let write = written(&mut view(stop), workload(&admitted(), "Ready"));
    assert_eq!(write.and_then(|it| told(&it, "Evicted")), evicted);
}

#[test]
fn a_stopped_queue_takes_quota_back_and_leaves_the_check() {
    let reserved =
        json!([is("QuotaReserved", "True", "QuotaReserved"), is("Admitted", "False", "X")]);
    let mut waiting = workload(&reserved, "Pending");
    waiting["status"]["admissionChecks"][0]["message"] = "kept".into();
    let write = written(&mut view("Hold"), waiting).unwrap();
    let message = "LocalQueue q is stopped";
    assert_eq!(told(&write, "QuotaReserved"), Some(says("False", "Inadmissible", message)));
    assert_eq!(write["status"]["admissionChecks"][0]["message"], "kept");
}

#[test]
fn what_waits_is_told_why() {
    let write = written(&mut view("Hold"), workload(&json!([]), "Pending")).unwrap();
    let message = "LocalQueue q is inactive";
    assert_eq!(told(&write, "QuotaReserved"), Some(says("False", "Inadmissible", message)));
    let mut view = view("None");
    view.put(crate::resource::ADMISSION_CHECK, Arc::new(json!({"metadata": {"name": "c"}})));
    let write = written(&mut view, workload(&json!([]), "Pending")).unwrap();
    let message = "ClusterQueue cq is inactive";
    assert_eq!(told(&write, "QuotaReserved"), Some(says("False", "Inadmissible", message)));
}

#[rstest]
#[case(
    "LocalQueueStopped",
    "LocalQueueRestarted",
    "The LocalQueue was restarted after being stopped"
)]
#[case(
    "ClusterQueueStopped",
    "ClusterQueueRestarted",
    "The ClusterQueue was restarted after being stopped"
)]
fn what_a_stopped_queue_evicted_is_requeued_when_it_runs_again(
    #[case] by: &str,
    #[case] reason: &str,
    #[case] message: &str,
) {
    let requeued = || json!([is("Requeued", "False", by)]);
    let write = written(&mut view("None"), workload(&requeued(), "Pending")).unwrap();
    assert_eq!(told(&write, "Requeued"), Some(says("True", reason, message)));
}

#[test]
fn a_gate_and_a_stopped_queue_are_told_in_turn_for_ever() {
    let mut gated = workload(&json!([]), "Pending");
    gated["metadata"]["annotations"] = json!({ADMISSION_GATED_BY: "a.b/c"});
    let reasons: Vec<_> = (0..4)
        .map(|_| {
            let write = written(&mut view("Hold"), gated.clone()).unwrap();
            gated["status"] = write["status"].clone();
            told(&write, "QuotaReserved").unwrap().1
        })
        .collect();
    assert_eq!(reasons, ["AdmissionGated", "Inadmissible", "AdmissionGated", "Inadmissible"]);
}
