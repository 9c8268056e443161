//! The admission checks of a Workload.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::object::{Object, items, number, text};

/// The checks of a ClusterQueue, which a Workload has to pass; none while it is not known yet which
/// ones those are: a check for some flavors alone is asked for once flavors are assigned (Kueue
/// `pkg/workload/workload.go`, `AdmissionChecksForWorkload`).
pub(in crate::kueue) fn of_cluster_queue(
    cluster_queue: &Object,
    workload: &Object,
) -> BTreeSet<String> {
    let all_flavors = flavors(cluster_queue);
    let rules = items(cluster_queue, "/spec/admissionChecksStrategy/admissionChecks");
    let flavors_of = |rule: &Value| -> BTreeSet<String> {
        let on = items(rule, "/onFlavors");
        if on.is_empty() { all_flavors.clone() } else { texts(on) }
    };
    let name = |rule: &Value| text(rule, "/name").to_owned();
    if rules.iter().all(|rule| flavors_of(rule) == all_flavors) {
        return rules.iter().map(name).collect();
    }
    let assignments = items(workload, "/status/admission/podSetAssignments");
    let assigned: BTreeSet<String> = assignments
        .iter()
        .filter_map(|it| it["flavors"].as_object())
        .flat_map(|flavors| flavors.values().filter_map(Value::as_str).map(str::to_owned))
        .collect();
    let asked = rules.iter().filter(|rule| !flavors_of(rule).is_disjoint(&assigned));
    asked.map(name).collect()
}

fn flavors(cluster_queue: &Object) -> BTreeSet<String> {
    let groups = items(cluster_queue, "/spec/resourceGroups").iter();
    groups
        .flat_map(|group| items(group, "/flavors"))
        .map(|flavor| text(flavor, "/name").to_owned())
        .collect()
}

fn texts(list: &[Value]) -> BTreeSet<String> {
    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The entries of a Workload for these checks: those that are missing are added as Pending, those
/// that are asked for no longer are dropped. None where nothing changes (Kueue
/// `pkg/controller/core/workload_controller.go`, `syncAdmissionCheckConditions`).
pub(super) fn synced(workload: &Object, asked: &BTreeSet<String>, now: &str) -> Option<Vec<Value>> {
    let entries = items(workload, "/status/admissionChecks");
    let named = |entry: &Value, name: &str| entry["name"] == name;
    let missing = asked.iter().filter(|name| !entries.iter().any(|it| named(it, name)));
    let missing: Vec<Value> = missing.map(|name| pending(name, now)).collect();
    let kept = entries.iter().filter(|it| asked.contains(text(it, "/name")));
    let kept: Vec<Value> = kept.cloned().collect();
    if missing.is_empty() && kept.len() == entries.len() {
        return None;
    }
    let mut all: Vec<Value> = kept.into_iter().chain(missing).collect();
    all.sort_by(|a, b| text(a, "/name").cmp(text(b, "/name")));
    Some(all)
}

fn pending(name: &str, now: &str) -> Value {
    json!({"name": name, "state": "Pending", "message": "", "lastTransitionTime": now})
}

/// All entries as they are after an eviction (Kueue `pkg/workload/admissionchecks.go`,
/// `resetChecksOnEviction`).
pub(super) fn reset(entries: &mut [Value], now: &str) {
    for entry in entries.iter_mut().filter(|it| it["state"] != "Pending") {
        let before = text(entry, "/state").to_owned();
        let mut after = pending(text(entry, "/name"), now);
        after["message"] = format!("Reset to Pending after eviction. Previously: {before}").into();
        if let Some(seconds) = number(entry, "/requeueAfterSeconds") {
            after["requeueAfterSeconds"] = seconds.into();
        }
        if before == "Retry" {
            after["retryCount"] = (number(entry, "/retryCount").unwrap_or_default() + 1).into();
        }
        *entry = after;
    }
}

/// Whether every entry is Ready; so it is where there is none.
pub(in crate::kueue) fn all_ready(workload: &Object) -> bool {
    items(workload, "/status/admissionChecks").iter().all(|it| it["state"] == "Ready")
}

/// Whether there is an entry for each of these checks, whatever its state.
pub(in crate::kueue) fn has_all(workload: &Object, asked: &BTreeSet<String>) -> bool {
    let entries = items(workload, "/status/admissionChecks");
    asked.iter().all(|name| entries.iter().any(|it| it["name"] == name.as_str()))
}

/// The names of the entries in this state.
pub(in crate::kueue) fn in_state<'a>(workload: &'a Object, state: &str) -> Vec<&'a str> {
    let entries = items(workload, "/status/admissionChecks").iter();
    entries.filter(|it| it["state"] == state).map(|it| text(it, "/name")).collect()
}

/// Until when the checks that want a retry put it off, if they say (Kueue
/// `pkg/workload/admissionchecks.go`, `GetMaxRetryTime`).
pub(super) fn put_off_until(workload: &Object) -> Option<jiff::Timestamp> {
    let entries = items(workload, "/status/admissionChecks").iter();
    let retried = entries.filter(|it| it["state"] == "Retry").filter_map(|it| {
        let seconds = number(it, "/requeueAfterSeconds")?;
        let since: jiff::Timestamp = text(it, "/lastTransitionTime").parse().ok()?;
        since.checked_add(jiff::SignedDuration::from_secs(seconds)).ok()
    });
    retried.max()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(rules: &Value) -> Object {
        json!({"spec": {
            "resourceGroups": [{"flavors": [{"name": "a"}, {"name": "b"}]}],
            "admissionChecksStrategy": {"admissionChecks": rules},
        }})
    }

    fn names(all: &[&str]) -> BTreeSet<String> {
        all.iter().map(|it| (*it).to_owned()).collect()
    }

    #[test]
    fn a_check_for_some_flavors_is_asked_for_once_a_flavor_is_assigned() {
        let some = queue(&json!([{"name": "x", "onFlavors": ["a"]}, {"name": "y"}]));
        assert_eq!(of_cluster_queue(&some, &json!({})), names(&[]));
        let on = |flavor: &str| json!({"status": {"admission": {"podSetAssignments": [{"flavors": {"cpu": flavor}}]}}});
        assert_eq!(of_cluster_queue(&some, &on("a")), names(&["x", "y"]));
        assert_eq!(of_cluster_queue(&some, &on("b")), names(&["y"]));
        let all = queue(&json!([{"name": "x", "onFlavors": ["a", "b"]}]));
        assert_eq!(of_cluster_queue(&all, &json!({})), names(&["x"]));
    }

    #[test]
    fn entries_follow_the_queue_and_keep_their_state() {
        let workload = json!({"status": {"admissionChecks": [
            {"name": "gone", "state": "Pending"}, {"name": "x", "state": "Ready"},
        ]}});
        let synced = synced(&workload, &names(&["a", "x"]), "t").unwrap();
        assert_eq!(synced, [pending("a", "t"), json!({"name": "x", "state": "Ready"})]);
        let workload = json!({"status": {"admissionChecks": synced}});
        assert_eq!(super::synced(&workload, &names(&["a", "x"]), "u"), None);
    }

    #[test]
    fn an_eviction_resets_what_is_not_pending_and_counts_retries() {
        let mut entries = vec![
            json!({"name": "a", "state": "Pending", "message": "kept"}),
            json!({"name": "b", "state": "Ready", "message": "A=1", "podSetUpdates": []}),
            json!({"name": "c", "state": "Retry", "message": "", "retryCount": 1}),
        ];
        reset(&mut entries, "t");
        assert_eq!(entries[0]["message"], "kept");
        assert_eq!(entries[1]["message"], "Reset to Pending after eviction. Previously: Ready");
        assert_eq!(entries[1].get("podSetUpdates"), None);
        assert_eq!(
            (&entries[2]["state"], &entries[2]["retryCount"]),
            (&"Pending".into(), &2.into())
        );
    }
}
