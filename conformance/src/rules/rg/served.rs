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

use crate::history::{Kind, Version};
use crate::rules::case::Case;
use crate::rules::span::{Spans, overdue};
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
        } else if let Some(version) = trail.versions().iter().find(|it| wrote(case, it, |_| true)) {
            let because = format!("the controller wrote to AdmissionCheck {}", trail.name);
            return Verdict::fail(because, [version.seq]);
        }
    }
    for claimed in &case.workloads {
        let of_another = |key: &str| {
            let name = key.strip_prefix("k:{\"name\":\"").and_then(|it| it.strip_suffix("\"}"));
            name.is_some_and(|name| !case.checks.contains(name))
        };
        let versions = claimed.workload.versions();
        if let Some(version) = versions.iter().find(|it| wrote(case, it, of_another)) {
            let because = format!(
                "the controller wrote the entry of another's check on Workload {}",
                claimed.workload.name
            );
            return Verdict::fail(because, [version.seq]);
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

    use crate::history::told::{CHECK, Told};
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

    #[rstest]
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
