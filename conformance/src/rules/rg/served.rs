//! RG-14: every check that names the controller, and no other.
//!
//! # What it says
//! The controller serves the `AdmissionChecks` whose `controllerName` is its own, by whatever name
//! they have, and touches no other.
//!
//! # Why it matters
//! An `AdmissionCheck` that nobody sets Active stops its whole `ClusterQueue`; one that is served by
//! the wrong controller lets jobs pass that somebody else holds back.
//!
//! # A history that breaks it
//! A second `AdmissionCheck` names the controller, and is not Active after a minute.

use dispatch_contract::names;
use dispatch_contract::resources::{AdmissionCheck, Conditions};
use serde::Deserialize;
use serde_json::Value;

use super::own_entry::{decides_another, others_checks};

use crate::history::{Exchange, Kind, Role, Trail, Version};
use crate::rules::case::Case;
use crate::rules::span::{Spans, overdue};
use crate::rules::writer::{self, Author};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const RG_14: Judge = Judge {
    rule: "RG-14",
    reads: &[Kind::Workload, Kind::AdmissionCheck],
    brings_about: &[],
    decide: judge,
    #[cfg(test)]
    breaking: tests::never_active,
};

fn judge(case: &Case<'_>) -> Verdict {
    if let Some(exchange) = written(case) {
        let name = exchange.request.name.as_deref().unwrap_or_default();
        let because = format!("the controller wrote to AdmissionCheck {name}");
        return Verdict::fail(because, [exchange.seq]);
    }
    let mut seen = false;
    for trail in case.history.of_kind(Kind::AdmissionCheck) {
        if case.checks.contains(trail.name.as_str()) {
            seen = true;
            let mut spans = Spans::default();
            for version in trail.versions() {
                spans.tell(!is_active(case, version), version.at, version.seq);
            }
            if let Some(late) = overdue(case, &spans.done()) {
                let because = format!(
                    "AdmissionCheck {} names the controller and was not set Active",
                    trail.name
                );
                return Verdict::fail(because, [late.seq]);
            }
        } else if let Some(seq) = written_by_manager(case, trail) {
            let because = format!("the controller wrote to AdmissionCheck {}", trail.name);
            return Verdict::fail(because, [seq]);
        }
    }
    for claimed in &case.workloads {
        let of_another = |key: &str| {
            let name = key.strip_prefix("k:{\"name\":\"").and_then(|it| it.strip_suffix("\"}"));
            name.is_some_and(|name| !case.checks.contains(name))
        };
        let mut changes = claimed.workload.changes().filter(|(_, after)| !after.is_deletion());
        let wrong = changes.find(|(before, after)| {
            match writer::author(&case.requests, claimed.workload, after) {
                Author::Controller(_) => others_differ(case, before, after),
                Author::Another => false,
                Author::Unknown => wrote(case, after, of_another),
            }
        });
        if let Some((before, version)) = wrong {
            // What was written without a decision is above all a write of too much.
            let raw = (case.history.raw(before), case.history.raw(version));
            let decided = matches!(raw, (Some(old), Some(new)) if decides_another(case, old, new));
            let echoes: &[_] = if decided { &[] } else { &["RG-11"] };
            let because = format!(
                "the controller wrote the entry of another's check on Workload {}",
                claimed.workload.name
            );
            return Verdict::echo(because, [version.seq], echoes);
        }
    }
    Verdict::pass_if_seen(seen, "AdmissionCheck of the controller's")
}

/// Whether the check is Active, or needs not be: it is on its way out.
pub(in crate::rules) fn is_active(case: &Case<'_>, version: &Version) -> bool {
    let check = case.history.raw(version).and_then(|raw| AdmissionCheck::deserialize(raw).ok());
    version.is_deletion()
        || check.is_none_or(|check| {
            check.metadata.deletion_timestamp.is_some()
                || check.status.is_some_and(|status| status.conditions.is_true("Active"))
        })
}

/// A write of the controller's to an `AdmissionCheck` that is not its own, whatever came of it.
fn written<'a>(case: &Case<'a>) -> Option<&'a Exchange> {
    let requests = case.requests.changes(Role::Controller);
    let mut to_checks = requests.filter(|(_, kind)| *kind == Kind::AdmissionCheck);
    let is_anothers = |exchange: &Exchange| {
        let name = exchange.request.name.as_deref();
        name.is_some_and(|name| !case.checks.contains(name))
    };
    to_checks.find(|(exchange, _)| is_anothers(exchange)).map(|(exchange, _)| exchange)
}

/// The version of another's `AdmissionCheck` that has the field manager of the reference, where the
/// requests are not recorded.
fn written_by_manager(case: &Case<'_>, trail: &Trail) -> Option<u64> {
    let by_manager = |version: &&Version| {
        writer::author(&case.requests, trail, version) == Author::Unknown
            && wrote(case, version, |_| true)
    };
    trail.versions().iter().find(by_manager).map(|version| version.seq)
}

/// Whether the entries of others' checks differ.
fn others_differ(case: &Case<'_>, before: &Version, after: &Version) -> bool {
    let raw = (case.history.raw(before), case.history.raw(after));
    let (Some(old), Some(new)) = raw else { return false };
    others_checks(case, old) != others_checks(case, new)
}

/// Whether the controller's field manager has a field of a check in this version, by the field's
/// key in the list of checks; of an `AdmissionCheck`, any field.
fn wrote(case: &Case<'_>, version: &Version, key: impl Fn(&str) -> bool) -> bool {
    let raw = case.history.raw(version);
    let fields = raw.and_then(|raw| raw["metadata"]["managedFields"].as_array());
    let ours = |entry: &&Value| entry["manager"] == names::FIELD_MANAGER_ADMISSION;
    let mut ours = fields.into_iter().flatten().filter(ours);
    match raw.map(|raw| &raw["kind"]) {
        Some(kind) if kind == "AdmissionCheck" => ours.next().is_some(),
        _ => ours.any(|entry| {
            let checks = entry["fieldsV1"]["f:status"]["f:admissionChecks"].as_object();
            checks.is_some_and(|checks| checks.keys().any(|it| key(it)))
        }),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use crate::history::told::{CHECK, CONTROLLER, Told, ask};
    use crate::history::{History, Kind, SubjectChange};
    use crate::rules::tests::assert_verdict;
    use dispatch_contract::names;

    fn second(controller: &str, managers: &serde_json::Value) -> Told {
        let mut told = Told::kueue();
        told.create(
            Kind::AdmissionCheck,
            json!({"kind": "AdmissionCheck", "metadata": {"name": "second", "uid": "uid-second",
                "managedFields": managers}, "spec": {"controllerName": controller}}),
        );
        told
    }

    pub(super) fn never_active() -> History {
        second(names::CONTROLLER, &json!([])).seconds(60).history()
    }

    fn writes_entry_of(check: &str) -> History {
        let key = format!("k:{{\"name\":\"{check}\"}}");
        let fields = json!({"f:status": {"f:admissionChecks": {key: {"f:state": {}}}}});
        Told::kueue()
            .waits()
            .workload(|it| {
                it["metadata"]["managedFields"] =
                    json!([{"manager": "dispatch-admission", "fieldsV1": fields}]);
            })
            .history()
    }

    fn by_request(name: &str) -> History {
        let mut told = second("x.io/y", &json!([]));
        let body = json!({"metadata": {"resourceVersion": "7"}});
        let request = ask(CONTROLLER, "patch", Kind::AdmissionCheck, name).on_status().with(body);
        told.request(request).sent().answered().history()
    }

    fn entry_by_request(index: usize) -> History {
        let mut told = Told::kueue();
        told.waits().workload(|it| {
            let checks = it["status"]["admissionChecks"].as_array_mut().unwrap();
            checks.push(json!({"name": "other", "state": "Pending", "message": ""}));
        });
        let body = told.body(Kind::Workload, "workload", json!({}));
        let request = ask(CONTROLLER, "update", Kind::Workload, "workload").on_status().with(body);
        told.writes(request, |it| {
            it["status"]["admissionChecks"][index]["message"] = json!("waits");
        })
        .history()
    }

    #[rstest]
    #[case::its_own_by_request(by_request(CHECK), "pass")]
    #[case::anothers_by_request(by_request("second"), "wrote to AdmissionCheck second")]
    #[case::own_entry_by_request(entry_by_request(0), "pass")]
    #[case::anothers_entry_by_request(entry_by_request(1), "wrote the entry of another's check")]
    #[case::by_the_rules(Told::kueue().runs().history(), "pass")]
    #[case::never_active(never_active(), "AdmissionCheck second names the controller")]
    #[case::nobody_serves(
        second(names::CONTROLLER, &json!([])).controller(SubjectChange::Killed).seconds(60).history(),
        "pass")]
    #[case::of_another(second("x.io/y", &json!([])).seconds(60).history(), "pass")]
    #[case::of_another_and_written(
        second("x.io/y", &json!([{"manager": "dispatch-admission"}])).history(),
        "the controller wrote to AdmissionCheck second")]
    #[case::own_entry(writes_entry_of(CHECK), "pass")]
    #[case::anothers_entry(writes_entry_of("other"), "wrote the entry of another's check")]
    fn the_controller_serves_its_checks(#[case] history: History, #[case] expected: &str) {
        assert_verdict("RG-14", &history, expected);
    }
}
