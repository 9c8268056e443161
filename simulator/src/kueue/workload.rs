//! Workloads: what Kueue admits, one for each job.

pub(super) mod checks;
pub(super) mod controller;
pub(super) mod status;

use crate::object::{Object, annotation, condition, is_true, number, text};

use super::features::Features;
use super::names::ADMISSION_GATED_BY;

/// How far a Workload is (Kueue `pkg/workload/workload.go`, `Status`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Pending,
    QuotaReserved,
    Admitted,
    Finished,
}

/// How far it is.
pub(super) fn progress(workload: &Object) -> Progress {
    if is_finished(workload) {
        Progress::Finished
    } else if is_admitted(workload) {
        Progress::Admitted
    } else if has_quota_reservation(workload) {
        Progress::QuotaReserved
    } else {
        Progress::Pending
    }
}

/// Whether quota is reserved for it.
pub(super) fn has_quota_reservation(workload: &Object) -> bool {
    is_true(workload, "QuotaReserved")
}

/// Whether its job may run.
pub(super) fn is_admitted(workload: &Object) -> bool {
    is_true(workload, "Admitted")
}

/// Whether its job has ended.
pub(super) fn is_finished(workload: &Object) -> bool {
    is_true(workload, "Finished")
}

/// Whether it was evicted, and not given quota since.
pub(super) fn is_evicted(workload: &Object) -> bool {
    is_true(workload, "Evicted")
}

/// Whether it is not deactivated.
pub(super) fn is_active(workload: &Object) -> bool {
    workload.pointer("/spec/active").is_none_or(|it| it != false)
}

/// Whether an annotation holds it back. A blank value does so, too: it is not empty (Kueue
/// `pkg/workload/workload.go`, `HasAdmissionGate`).
pub(super) fn is_gated(workload: &Object, features: Features) -> bool {
    features.admission_gated_by
        && annotation(workload, ADMISSION_GATED_BY).is_some_and(|it| !it.is_empty())
}

/// Whether it may be in a queue.
pub(super) fn is_admissible(workload: &Object, features: Features) -> bool {
    !is_gated(workload, features)
        && !is_finished(workload)
        && is_active(workload)
        && !has_quota_reservation(workload)
}

/// Whether it takes quota of a ClusterQueue.
pub(super) fn takes_quota(workload: &Object) -> bool {
    has_quota_reservation(workload) && !is_finished(workload) && is_active(workload)
}

/// The ClusterQueue that it has quota of; empty where it has none.
pub(super) fn admitted_by(workload: &Object) -> &str {
    text(workload, "/status/admission/clusterQueue")
}

/// Its queue.
pub(super) fn queue_name(workload: &Object) -> &str {
    text(workload, "/spec/queueName")
}

/// Its priority; the greater comes first.
pub(super) fn priority(workload: &Object) -> i64 {
    number(workload, "/spec/priority").unwrap_or_default()
}

/// Since when it waits in its queue: an eviction by a check sends it to the back (Kueue
/// `pkg/workload/workload.go`, `GetQueueOrderTimestamp`).
pub(super) fn queued_since(workload: &Object) -> &str {
    let by_check = condition(workload, "Evicted").filter(|it| {
        it["status"] == "True"
            && (it["reason"] == "AdmissionCheck" || it["reason"] == "PodsReadyTimeout")
    });
    match by_check {
        Some(evicted) => evicted["lastTransitionTime"].as_str().unwrap_or_default(),
        None => text(workload, "/metadata/creationTimestamp"),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    #[rstest]
    #[case(json!({}), true, false)]
    #[case(json!({"kueue.x-k8s.io/admission-gated-by": ""}), true, false)]
    #[case(json!({"kueue.x-k8s.io/admission-gated-by": " "}), true, true)]
    #[case(json!({"kueue.x-k8s.io/admission-gated-by": "a.b/c"}), true, true)]
    #[case(json!({"kueue.x-k8s.io/admission-gated-by": "a.b/c"}), false, false)]
    fn the_annotation_holds_back_where_the_feature_is_on(
        #[case] annotations: Value,
        #[case] admission_gated_by: bool,
        #[case] gated: bool,
    ) {
        let workload = json!({"metadata": {"annotations": annotations}});
        let features = Features { admission_gated_by };
        assert_eq!(is_gated(&workload, features), gated);
        assert_eq!(is_admissible(&workload, features), !gated);
    }

    #[test]
    fn an_eviction_by_a_check_goes_to_the_back_of_the_queue() {
        let evicted = |reason: &str| {
            json!({
                "metadata": {"creationTimestamp": "a"},
                "status": {"conditions": [{
                    "type": "Evicted", "status": "True", "reason": reason, "lastTransitionTime": "b",
                }]},
            })
        };
        assert_eq!(queued_since(&evicted("AdmissionCheck")), "b");
        assert_eq!(queued_since(&evicted("Preempted")), "a");
    }
}
