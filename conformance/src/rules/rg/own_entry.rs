//! RG-11: a check write changes dispatch's own entry and nothing else.
//!
//! # What it says
//! In the version of a Workload that the controller writes, only the entries of its own checks
//! differ from the version before.
//!
//! # Why it matters
//! A Workload carries what Kueue decided, and the entries of other checks. A write of the whole
//! status from a copy undoes what came in between: an eviction, or somebody else's Pending.
//!
//! # How it is judged
//! A version is the controller's when it answered a request of a replica. Where the requests are not
//! recorded, it is the controller's when a check of its own becomes Ready in it and Kueue does not own
//! that state, or when the field manager of the reference wrote at another time than before.
//!
//! # A history that breaks it
//! In one version dispatch's check becomes Ready, and so does another.

use std::collections::BTreeSet;

use dispatch_contract::names;
use serde_json::Value;

use crate::history::Kind;
use crate::rules::case::Case;
use crate::rules::writer::{self, Author};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const RG_11: Judge = Judge {
    rule: "RG-11",
    reads: &[Kind::Workload],
    brings_about: &["RG-01", "RG-08"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::another_check,
};

fn judge(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    for claimed in &case.workloads {
        let workload = claimed.workload;
        let readies = case.readies_of(workload);
        let readies: BTreeSet<u64> = readies.iter().map(|ready| ready.version.order).collect();
        for (before, after) in workload.changes().filter(|(_, after)| !after.is_deletion()) {
            let (Some(old), Some(new)) = (case.history.raw(before), case.history.raw(after)) else {
                continue;
            };
            let is_ours = match writer::author(&case.requests, workload, after) {
                Author::Controller(_) => true,
                Author::Another => false,
                Author::Unknown => readies.contains(&after.order) || wrote([old, new]),
            };
            if !is_ours {
                continue;
            }
            seen = true;
            if let Some(path) = difference(case, old, new) {
                let because = format!(
                    "the controller's write to Workload {} changed {path}, beside its own check",
                    workload.name
                );
                let echoes: &[_] = if decides_another(case, old, new) { &["RG-14"] } else { &[] };
                return Verdict::echo(because, [before.seq, after.seq], echoes);
            }
        }
    }
    Verdict::pass_if_seen(seen, "write of the controller's to a Workload")
}

/// Whether the controller's field manager wrote at another time than before.
fn wrote(raw: [&Value; 2]) -> bool {
    let times = raw.map(|object| written_at(object));
    times[1].iter().any(|time| !times[0].contains(time))
}

/// When the controller's field manager last wrote, for each of its entries.
fn written_at(object: &Value) -> Vec<&Value> {
    let fields = object["metadata"]["managedFields"].as_array();
    let ours = |entry: &&Value| entry["manager"] == names::FIELD_MANAGER_ADMISSION;
    fields.into_iter().flatten().filter(ours).map(|entry| &entry["time"]).collect()
}

/// The first part of a Workload that differs and is no check of dispatch's.
fn difference(case: &Case<'_>, old: &Value, new: &Value) -> Option<String> {
    for key in ["labels", "annotations", "ownerReferences", "finalizers"] {
        if old["metadata"][key] != new["metadata"][key] {
            return Some(format!("metadata.{key}"));
        }
    }
    if old["spec"] != new["spec"] {
        return Some("spec".to_owned());
    }
    let keys = [old, new].map(|it| it["status"].as_object()).into_iter().flatten();
    let mut keys: Vec<&String> = keys.flat_map(|status| status.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.into_iter().find_map(|key| {
        let same = match key.as_str() {
            "admissionChecks" => others_checks(case, old) == others_checks(case, new),
            key => old["status"][key] == new["status"][key],
        };
        (!same).then(|| format!("status.{key}"))
    })
}

/// Whether a check of somebody else's got another state: it was served (RG-14), and not only written.
pub(super) fn decides_another(case: &Case<'_>, old: &Value, new: &Value) -> bool {
    let before = others_checks(case, old);
    others_checks(case, new).iter().any(|check| {
        let same = before.iter().find(|it| it["name"] == check["name"]);
        same.is_some_and(|it| it["state"] != check["state"])
    })
}

/// The entries of others' checks in a Workload.
pub(super) fn others_checks<'v>(case: &Case<'_>, object: &'v Value) -> Vec<&'v Value> {
    let checks = object["status"]["admissionChecks"].as_array();
    let is_ours = |check: &Value| check["name"].as_str().is_some_and(|it| case.checks.contains(it));
    checks.into_iter().flatten().filter(|check| !is_ours(check)).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::history::History;
    use crate::history::told::{
        ADAPTER, CONTROLLER, Told, ask, check_body, set_check, set_condition,
    };
    use crate::rules::tests::assert_verdict;

    fn with_another() -> Told {
        let mut told = Told::kueue();
        told.waits().workload(|it| {
            let checks = it["status"]["admissionChecks"].as_array_mut().unwrap();
            checks.push(json!({"name": "other", "state": "Pending", "message": ""}));
        });
        told
    }

    fn writes(told: &mut Told, change: impl FnOnce(&mut Value)) -> History {
        told.raises(1).takes_over(1);
        told.workload(|it| {
            set_check(it, "Ready", "A=1");
            change(it);
        })
        .history()
    }

    pub(super) fn another_check() -> History {
        writes(&mut with_another(), |it| {
            it["status"]["admissionChecks"][1]["state"] = json!("Ready");
        })
    }

    /// A write that changes the check's message alone, by the field manager.
    fn message(manager: &str, change: impl FnOnce(&mut Value)) -> History {
        let mut told = Told::kueue();
        told.waits()
            .workload(|it| {
                set_check(it, "Pending", "waits for pod-1");
                it["metadata"]["managedFields"] =
                    json!([{"manager": manager, "time": "2026-01-01T00:00:05Z"}]);
                change(it);
            })
            .history()
    }

    /// Kueue writes its decision and the list of checks from a copy in which the check was Ready.
    fn kueue_brings_it_back() -> History {
        let mut told = Told::kueue();
        told.waits().unreserves().workload(|it| {
            set_check(it, "Ready", "A=1");
            set_condition(it, "Requeued", "True", "x");
            it["metadata"]["managedFields"] = json!([{"manager": "kueue-admission",
                "time": "2026-01-01T00:00:05Z", "fieldsV1": {"f:status": {"f:admissionChecks": {
                    "k:{\"name\":\"dispatch-check\"}": {"f:state": {}}}}}}]);
        });
        told.history()
    }

    /// A write of the controller's, by a request and with no field manager that anybody knows.
    fn by_request(from: crate::history::Subject, change: impl FnOnce(&mut Value)) -> History {
        let mut told = Told::kueue();
        told.waits().reads(from, Kind::Workload, "workload");
        let body = told.body(Kind::Workload, "workload", check_body("Pending"));
        let request = ask(from, "update", Kind::Workload, "workload").on_status().with(body);
        told.writes(request, |it| {
            set_check(it, "Pending", "waits");
            change(it);
        })
        .history()
    }

    #[rstest]
    #[case::by_request(by_request(CONTROLLER, |_| {}), "pass")]
    #[case::a_condition_by_request(
        by_request(CONTROLLER, |it| set_condition(it, "Evicted", "True", "x")),
        "changed status.conditions")]
    #[case::by_a_request_of_another(
        by_request(ADAPTER, |it| set_condition(it, "Evicted", "True", "x")), "n/a")]
    #[case::kueue_brings_it_back(kueue_brings_it_back(), "n/a")]
    #[case::by_the_rules(writes(&mut with_another(), |_| {}), "pass")]
    #[case::the_message(message("dispatch-admission", |_| {}), "pass")]
    #[case::no_write(Told::kueue().waits().history(), "n/a")]
    #[case::another_check(another_check(), "changed status.admissionChecks")]
    #[case::a_condition(
        writes(&mut Told::kueue().waits().clone(), |it| set_condition(it, "Evicted", "True", "x")),
        "changed status.conditions")]
    #[case::what_kueue_decided(
        writes(&mut Told::kueue().waits().clone(), |it| it["status"]["admission"] = json!(null)),
        "changed status.admission")]
    #[case::the_spec(
        writes(&mut Told::kueue().waits().clone(), |it| it["spec"]["active"] = json!(false)),
        "changed spec")]
    #[case::a_label(
        writes(&mut Told::kueue().waits().clone(), |it| it["metadata"]["labels"] = json!({"a": "b"})),
        "changed metadata.labels")]
    #[case::beside_a_message(
        message("dispatch-admission", |it| it["spec"]["priority"] = json!(7)), "changed spec")]
    #[case::anothers_write_may_change_all(
        message("kueue", |it| it["spec"]["priority"] = json!(7)), "n/a")]
    fn a_write_changes_the_own_entry_alone(#[case] history: History, #[case] expected: &str) {
        assert_verdict("RG-11", &history, expected);
    }
}
