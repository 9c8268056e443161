//! A Workload's status, and how Kueue writes it.

use serde_json::{Map, Value, json};

use super::{checks, has_quota_reservation, is_admitted};
use crate::api::Request;
use crate::kueue::names::ADMISSION;
use crate::object::{Object, condition, items, number, seconds, text};
use crate::resource::WORKLOAD;

/// The conditions that Kueue's one field manager owns (Kueue `pkg/workload/workload.go`,
/// `admissionManagedConditions`).
const CONDITIONS: [&str; 8] = [
    "QuotaReserved",
    "BlockedOnPreemptionGates",
    "Evicted",
    "Admitted",
    "Preempted",
    "Requeued",
    "DeactivationTarget",
    "Finished",
];

/// A status that is being changed.
#[derive(Clone, Debug)]
pub(in crate::kueue) struct Draft {
    workload: Object,
    now: jiff::Timestamp,
}

/// Whether a write is refused when the object is another version by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::kueue) enum Versioned {
    /// It is.
    Strict,
    /// It is not: the last one wins. So the scheduler writes.
    Loose,
}

impl Draft {
    pub(in crate::kueue) fn of(workload: &Object, now: jiff::Timestamp) -> Self {
        Self { workload: workload.clone(), now }
    }

    /// The Workload with the changes.
    pub(in crate::kueue) fn workload(&self) -> &Object {
        &self.workload
    }

    /// Sets a condition; whether anything changed.
    fn set(&mut self, type_: &str, status: &str, reason: &str, message: &str) -> bool {
        let generation = number(&self.workload, "/metadata/generation").unwrap_or_default();
        let now = seconds(self.now);
        let before = condition(&self.workload, type_).cloned();
        let conditions = self.list("conditions");
        crate::object::set_condition(conditions, type_, status, reason, message, &now);
        let after = conditions.iter_mut().find(|it| it["type"] == type_);
        after.is_some_and(|after| {
            after["observedGeneration"] = generation.into();
            before.as_ref() != Some(after)
        })
    }

    fn list(&mut self, key: &str) -> &mut Vec<Value> {
        let list = &mut self.workload["status"][key];
        if !list.is_array() {
            *list = json!([]);
        }
        // It was made one above.
        match list {
            Value::Array(list) => list,
            _ => unreachable!("a list"),
        }
    }

    fn remove(&mut self, key: &str) -> bool {
        let status = self.workload.get_mut("status").and_then(Value::as_object_mut);
        status.is_some_and(|status| status.remove(key).is_some_and(|it| !it.is_null()))
    }

    /// Kueue `SetQuotaReservation`.
    pub(in crate::kueue) fn set_quota_reservation(&mut self, admission: Value) {
        let queue = text(&admission, "/clusterQueue").to_owned();
        self.workload["status"]["admission"] = admission;
        let message = format!("Quota reserved in ClusterQueue {queue}");
        self.set("QuotaReserved", "True", "QuotaReserved", &message);
        for type_ in ["Evicted", "Preempted"] {
            let Some(before) = condition(&self.workload, type_) else { continue };
            if before["status"] == "True" {
                let message = format!("Previously: {}", text(before, "/message"));
                self.set(type_, "False", "QuotaReserved", &message);
            }
        }
    }

    /// Kueue `UnsetQuotaReservationWithCondition`.
    pub(in crate::kueue) fn unset_quota_reservation(
        &mut self,
        reason: &str,
        message: &str,
    ) -> bool {
        let set = self.set("QuotaReserved", "False", reason, message);
        let removed = self.remove("admission");
        let synced = self.sync_admitted();
        set || removed || synced
    }

    /// Kueue `SyncAdmittedCondition`.
    pub(in crate::kueue) fn sync_admitted(&mut self) -> bool {
        let reserved = has_quota_reservation(&self.workload);
        let ready = checks::all_ready(&self.workload);
        let admitted = is_admitted(&self.workload);
        if admitted == (reserved && ready) {
            return false;
        }
        let (status, reason, message) = match (reserved, ready) {
            (true, true) => ("True", "Admitted", "The workload is admitted"),
            (true, false) => {
                ("False", "UnsatisfiedChecks", "The workload has not all checks ready")
            }
            (false, true) => ("False", "NoReservation", "The workload has no reservation"),
            (false, false) => (
                "False",
                "NoReservationUnsatisfiedChecks",
                "The workload has no reservation and not all checks ready",
            ),
        };
        if admitted && status == "False" {
            self.count_execution_time();
        }
        self.set("Admitted", status, reason, message)
    }

    fn count_execution_time(&mut self) {
        let since = condition(&self.workload, "Admitted");
        let since = since.and_then(|it| text(it, "/lastTransitionTime").parse().ok());
        let Some(since): Option<jiff::Timestamp> = since else { return };
        let key = "accumulatedPastExecutionTimeSeconds";
        let before = self.workload["status"][key].as_i64().unwrap_or_default();
        let passed = self.now.duration_since(since).as_secs();
        self.workload["status"][key] = (before + passed).into();
    }

    /// Kueue `SetRequeuedCondition`.
    pub(in crate::kueue) fn set_requeued(
        &mut self,
        requeued: bool,
        reason: &str,
        message: &str,
    ) -> bool {
        self.set("Requeued", if requeued { "True" } else { "False" }, reason, message)
    }

    /// Kueue `SetPreemptedCondition`, which gives it no generation.
    pub(in crate::kueue) fn set_preempted(&mut self, reason: &str, message: &str) {
        self.set("Preempted", "True", reason, message);
        let all = self.list("conditions").iter_mut().filter(|it| it["type"] == "Preempted");
        for condition in all.filter_map(Value::as_object_mut) {
            condition.remove("observedGeneration");
        }
    }

    /// Kueue `SetDeactivationTarget`.
    pub(super) fn set_deactivation_target(&mut self, reason: &str, message: &str) -> bool {
        self.set("DeactivationTarget", "True", reason, message)
    }

    /// Kueue `SetFinishedCondition`.
    pub(in crate::kueue) fn finish(&mut self, reason: &str, message: &str) {
        self.set("Finished", "True", reason, message);
    }

    /// Kueue `Evict`, `prepareForEviction`: one write says that it is evicted and resets its checks,
    /// while it still has its quota, and is still admitted.
    pub(in crate::kueue) fn evict(&mut self, reason: &str, cause: &str, message: &str) {
        let told = if reason == "Deactivated" && !cause.is_empty() {
            format!("{reason}DueTo{cause}")
        } else {
            reason.to_owned()
        };
        self.set("Evicted", "True", &told, message);
        let now = seconds(self.now);
        if !items(&self.workload, "/status/admissionChecks").is_empty() {
            checks::reset(self.list("admissionChecks"), &now);
        }
        self.count_eviction(reason, cause);
    }

    fn count_eviction(&mut self, reason: &str, cause: &str) {
        let evictions = &mut self.workload["status"]["schedulingStats"]["evictions"];
        if !evictions.is_array() {
            *evictions = json!([]);
        }
        let Some(evictions) = evictions.as_array_mut() else { return };
        let same = |it: &&mut Value| it["reason"] == reason && it["underlyingCause"] == cause;
        if let Some(counted) = evictions.iter_mut().find(same) {
            counted["count"] = (counted["count"].as_i64().unwrap_or_default() + 1).into();
        } else {
            evictions.push(json!({"reason": reason, "underlyingCause": cause, "count": 1}));
        }
    }

    /// What the deactivation of a Workload takes off it.
    pub(super) fn forget_requeuing(&mut self) {
        self.list("conditions").retain(|it| it["type"] != "DeactivationTarget");
        self.remove("requeueState");
    }

    /// Puts it off.
    pub(super) fn put_off(&mut self, until: jiff::Timestamp) {
        self.workload["status"]["requeueState"]["requeueAt"] = seconds(until).into();
    }

    /// No longer puts it off.
    pub(super) fn put_off_no_longer(&mut self) {
        let state =
            self.workload.pointer_mut("/status/requeueState").and_then(Value::as_object_mut);
        if let Some(state) = state {
            state.remove("requeueAt");
        }
    }

    /// What it would need, as long as it has no quota (Kueue `PropagateResourceRequests`).
    pub(in crate::kueue) fn set_resource_requests(&mut self, requests: Vec<Value>) -> bool {
        let before = items(&self.workload, "/status/resourceRequests");
        let changed = before != requests;
        if changed {
            self.workload["status"]["resourceRequests"] = requests.into();
        }
        changed
    }

    /// The write: all that Kueue's field manager owns, by server-side apply with force. So a field
    /// that is not in it is removed, and the checks are written back as they were seen (Kueue
    /// `PatchAdmissionStatus`, `PrepareWorkloadPatch`).
    pub(in crate::kueue) fn apply(&self, versioned: Versioned) -> Request {
        let mut status = json!({"conditions": self.managed_conditions()});
        let from = |key: &str| self.workload["status"].get(key).filter(|it| !it.is_null());
        let is_empty = |it: &Value| {
            it.as_array().is_some_and(Vec::is_empty) || it.as_object().is_some_and(Map::is_empty)
        };
        let mut keys = vec![
            "admission",
            "admissionChecks",
            "requeueState",
            "accumulatedPastExecutionTimeSeconds",
            "schedulingStats",
        ];
        if from("admission").is_none() {
            keys.push("resourceRequests");
        }
        for key in keys {
            if let Some(value) = from(key).filter(|it| !is_empty(it)) {
                status[key] = value.clone();
            }
        }
        let object = json!({
            "apiVersion": WORKLOAD.api_version(),
            "kind": WORKLOAD.kind,
            "metadata": self.identity(versioned),
            "status": status,
        });
        Request::apply(WORKLOAD, object, ADMISSION).on("status")
    }

    fn managed_conditions(&self) -> Vec<Value> {
        let managed = CONDITIONS.iter().filter_map(|it| condition(&self.workload, it));
        managed.cloned().collect()
    }

    /// Kueue `BaseSSAWorkload`.
    fn identity(&self, versioned: Versioned) -> Value {
        let mut keys = vec!["name", "namespace", "uid", "generation", "annotations", "labels"];
        if versioned == Versioned::Strict {
            keys.push("resourceVersion");
        }
        let of = |key: &str| Some((key.to_owned(), self.workload["metadata"].get(key)?.clone()));
        Value::Object(keys.into_iter().filter_map(of).collect())
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::api::Verb;

    fn at(text: &str) -> jiff::Timestamp {
        text.parse().unwrap()
    }

    fn admitted() -> Object {
        json!({
            "metadata": {"name": "w", "namespace": "n", "uid": "u", "generation": 2,
                "resourceVersion": "7", "finalizers": ["f"]},
            "status": {
                "admission": {"clusterQueue": "q"},
                "conditions": [
                    {"type": "PodsReady", "status": "True"},
                    {"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved",
                        "lastTransitionTime": "2026-01-01T00:00:00Z"},
                    {"type": "Admitted", "status": "True", "reason": "Admitted",
                        "lastTransitionTime": "2026-01-01T00:00:01Z"},
                ],
                "admissionChecks": [{"name": "c", "state": "Ready", "message": "A=1"}],
            },
        })
    }

    #[test]
    fn an_eviction_leaves_quota_and_admission_where_they_are() {
        let mut draft = Draft::of(&admitted(), at("2026-01-01T00:00:08Z"));
        draft.evict("Preempted", "", "because");
        let evicted = draft.workload();
        assert!(has_quota_reservation(evicted) && is_admitted(evicted));
        assert_eq!(evicted["status"]["admissionChecks"][0]["state"], "Pending");
        let condition = condition(evicted, "Evicted").unwrap();
        assert_eq!(
            (&condition["reason"], &condition["observedGeneration"]),
            (&"Preempted".into(), &2.into())
        );
        assert_eq!(evicted["status"]["schedulingStats"]["evictions"][0]["count"], 1);
    }

    #[test]
    fn the_release_says_why_and_counts_how_long_it_ran() {
        let mut draft = Draft::of(&admitted(), at("2026-01-01T00:00:08Z"));
        draft.evict("Preempted", "", "because");
        assert!(draft.unset_quota_reservation("Pending", "because"));
        let released = draft.workload();
        assert!(!has_quota_reservation(released) && !is_admitted(released));
        assert_eq!(
            condition(released, "Admitted").unwrap()["reason"],
            "NoReservationUnsatisfiedChecks"
        );
        assert_eq!(released["status"]["accumulatedPastExecutionTimeSeconds"], 7);
        assert_eq!(released["status"].get("admission"), None);
        assert!(!draft.unset_quota_reservation("Pending", "because"));
    }

    #[test]
    fn new_quota_ends_an_eviction() {
        let mut draft = Draft::of(&admitted(), at("2026-01-01T00:00:08Z"));
        draft.set_preempted("InClusterQueue", "because");
        draft.evict("Preempted", "", "because");
        draft.unset_quota_reservation("Pending", "because");
        draft.set_quota_reservation(json!({"clusterQueue": "q"}));
        let evicted = condition(draft.workload(), "Evicted").unwrap();
        assert_eq!(
            (&evicted["status"], &evicted["message"]),
            (&"False".into(), &"Previously: because".into())
        );
        assert!(!draft.sync_admitted(), "the check is Pending");
    }

    #[test]
    fn a_banked_ready_admits_in_the_same_write() {
        let mut pending = admitted();
        pending["status"] = json!({"admissionChecks": [{"name": "c", "state": "Ready"}]});
        let mut draft = Draft::of(&pending, at("2026-01-01T00:00:08Z"));
        draft.set_quota_reservation(json!({"clusterQueue": "q"}));
        assert!(draft.sync_admitted());
        assert!(is_admitted(draft.workload()));
    }

    #[rstest]
    #[case(Versioned::Strict, Some("7"))]
    #[case(Versioned::Loose, None)]
    fn the_write_holds_what_kueue_owns(
        #[case] versioned: Versioned,
        #[case] resource_version: Option<&str>,
    ) {
        let request = Draft::of(&admitted(), at("2026-01-01T00:00:08Z")).apply(versioned);
        assert_eq!(request.subresource.as_deref(), Some("status"));
        let Verb::Apply(body, write, apply) = request.verb else { panic!("{:?}", request.verb) };
        assert!(apply.force);
        assert_eq!(write.manager, "kueue-admission");
        assert_eq!(body["metadata"]["resourceVersion"].as_str(), resource_version);
        assert_eq!(body["metadata"].get("finalizers"), None);
        assert_eq!(condition(&body, "PodsReady"), None);
        assert!(is_admitted(&body));
        assert_eq!(body["status"]["admissionChecks"][0]["state"], "Ready");
    }
}
