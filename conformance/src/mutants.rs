//! The broken controllers: each breaks one rule of the contract in a way that was once thought of
//! as right, or nearly was written. That the suite catches them is the proof that it would catch
//! yours.
//!
//! Each replaces one of the three parts of the reference controller (what reads, what decides, what
//! writes) and keeps the others, so that nothing else in it is broken.

mod blind_to_pods;
mod count_alone;
mod deaf_to_eviction;
mod deaf_to_foreign;
mod forgets_the_end;
mod lone_merge_patch;
mod never_ready;
mod raises_once;
mod ready_before_raise;
mod silent_about_pods;
mod trusts_labels;

use dispatch_admission::{Environment, Parts};
use thiserror::Error;

/// A broken controller.
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// Its name, as `--mutant` takes it.
    pub name: &'static str,
    /// What it does wrong, in one line for people.
    pub about: &'static str,
    /// The rules that it breaks, the one that it is to be caught by first.
    pub breaks: &'static [&'static str],
    /// The scenarios that catch it.
    pub caught_by: &'static [&'static str],
    /// Makes its parts.
    pub parts: fn(&Environment) -> Parts,
}

impl Mutant {
    /// What it stands in for, in a word.
    pub fn is(&self) -> &'static str {
        "controller"
    }
}

/// Every broken controller.
pub const MUTANTS: &[Mutant] = &[
    blind_to_pods::MUTANT,
    count_alone::MUTANT,
    deaf_to_eviction::MUTANT,
    deaf_to_foreign::MUTANT,
    forgets_the_end::MUTANT,
    lone_merge_patch::MUTANT,
    never_ready::MUTANT,
    raises_once::MUTANT,
    ready_before_raise::MUTANT,
    silent_about_pods::MUTANT,
    trusts_labels::MUTANT,
];

/// The one that is broken most plainly, by its name: it is judged before everything else, since a
/// suite that misses it proves nothing.
pub const CANARY: &str = "ready-before-raise";

/// No broken subject's name contains what was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("no broken subject's name contains `{part}`; there are {}", names())]
pub struct NoneMatches {
    /// What was asked for.
    pub part: String,
}

/// The canary, and the broken subjects whose names contain one of these; all of them, if there is
/// none to contain.
pub fn matching(parts: &[String]) -> Result<Vec<&'static Mutant>, NoneMatches> {
    for part in parts {
        if !MUTANTS.iter().any(|mutant| mutant.name.contains(part.as_str())) {
            return Err(NoneMatches { part: part.chars().take(64).collect() });
        }
    }
    let wanted = |mutant: &&Mutant| {
        let asked = |part: &String| mutant.name.contains(part.as_str());
        mutant.name == CANARY || parts.is_empty() || parts.iter().any(asked)
    };
    Ok(MUTANTS.iter().filter(wanted).collect())
}

/// There is no broken controller of this name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no broken controller `{name}`; there are {}", names())]
pub struct UnknownMutant {
    /// The name that was given.
    pub name: String,
}

fn names() -> String {
    MUTANTS.iter().map(|mutant| mutant.name).collect::<Vec<_>>().join(", ")
}

/// The broken controller of this name.
pub fn find(name: &str) -> Result<&'static Mutant, UnknownMutant> {
    let found = MUTANTS.iter().find(|mutant| mutant.name == name);
    found.ok_or_else(|| UnknownMutant { name: name.chars().take(64).collect() })
}

#[cfg(test)]
mod told {
    //! What a mutant is shown in tests.

    use dispatch_admission::{At, Object, Owner, Snapshot};
    use dispatch_contract::names;
    use dispatch_kubernetes::owned::Owned;
    use serde_json::{Value, json};

    const CHECK: &str = "dispatch-check";

    fn replicated(a: &str) -> Value {
        json!([{"name": "node", "template": {"spec": {"template": {"metadata": {
            "annotations": {names::POD_ADMISSION: a}}}}}}])
    }

    /// An opened object with A=1, suspended, with a pod that is Terminating.
    fn object() -> Object {
        let by_trainjob = json!([{"apiVersion": "v1", "kind": "TrainJob", "name": "t", "uid": "u",
            "controller": true}]);
        let trainjob = json!({
            "metadata": {"name": "t", "namespace": "ns", "uid": "u", "resourceVersion": "7",
                "annotations": {names::ADMISSION_COUNT: "1", names::OPENED: "true"}},
            "spec": {"suspend": true, "runtimePatches": [
                {"manager": names::KUEUE_RUNTIME_PATCH_MANAGER},
                {"manager": names::RUNTIME_PATCH_MANAGER, "trainingRuntimeSpec":
                    {"template": {"spec": {"replicatedJobs": replicated("1")}}}}]},
        });
        let jobset = json!({
            "metadata": {"name": "t", "namespace": "ns", "uid": "js",
                "ownerReferences": by_trainjob},
            "spec": {"suspend": true, "replicatedJobs": replicated("1")},
        });
        let pod = json!({
            "metadata": {"name": "pod-1", "namespace": "ns", "uid": "p",
                "deletionTimestamp": "2026-01-01T00:00:00Z"},
            "status": {"phase": "Running"},
        });
        let below = Owned {
            jobset: Some(serde_json::from_value(jobset).unwrap()),
            jobs: Vec::new(),
            pods: vec![serde_json::from_value(pod).unwrap()],
        };
        let trainjob = At::read(serde_json::from_value(trainjob).unwrap()).unwrap();
        Object { trainjob, runtime: None, owned: below }
    }

    /// The object's Workload has quota and waits at the check, and nothing of the object runs.
    pub(super) fn quiet() -> Snapshot {
        let mut snapshot = snapshot(&[]);
        if let Owner::Dispatch(object) = &mut snapshot.owner {
            object.owned.pods.clear();
        }
        snapshot
    }

    /// The object's Workload has quota and waits at the check; these conditions are True beside.
    pub(super) fn snapshot(conditions: &[&str]) -> Snapshot {
        let conditions = conditions.iter().chain(&["QuotaReserved"]);
        let conditions: Vec<_> =
            conditions.map(|type_| json!({"type": type_, "status": "True"})).collect();
        let workload = json!({
            "metadata": {"name": "w", "namespace": "ns", "uid": "w", "resourceVersion": "9"},
            "status": {"conditions": conditions,
                "admissionChecks": [{"name": CHECK, "state": "Pending", "message": ""}]},
        });
        Snapshot {
            workload: At::read(serde_json::from_value(workload).unwrap()).unwrap(),
            checks: vec![CHECK.to_owned()],
            owner: Owner::Dispatch(Box::new(object())),
            raised: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use dispatch_contract::names as fields;
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::history::History;
    use crate::history::Kind;
    use crate::history::told::{CHECK, Told, raise};
    use crate::rules::{causes_first, judge};

    /// Preempted, with a pod that lingers.
    fn evicted() -> Told {
        let mut told = Told::kueue();
        told.runs().evicts().suspends().pod_terminates("pod-1");
        told
    }

    /// Somebody else's `TrainJob`, whose Workload has quota.
    fn foreign() -> Told {
        let mut told = Told::kueue();
        told.create(
            Kind::TrainJob,
            json!({"metadata": {"name": "theirs", "namespace": "ns", "uid": "theirs",
                "labels": {fields::MANAGED: "true"}}, "spec": {"suspend": true}}),
        );
        told.create(
            Kind::Workload,
            json!({"metadata": {"name": "foreign", "namespace": "ns", "uid": "foreign",
                "ownerReferences": [{"kind": "TrainJob", "name": "theirs", "uid": "theirs",
                    "controller": true}]},
                "status": {
                    "conditions": [{"type": "QuotaReserved", "status": "True"}],
                    "admissionChecks": [{"name": CHECK, "state": "Pending", "message": ""}]}}),
        );
        told
    }

    #[rstest]
    #[case::blind_to_pods(
        "blind-to-pods",
        evicted().unreserves().reserves().goes(2).pod_goes("pod-1").history())]
    #[case::deaf_to_eviction(
        "deaf-to-eviction",
        evicted().sets("Ready").unreserves().sets("Pending").pod_goes("pod-1").reserves().goes(2)
            .history())]
    #[case::lone_merge_patch(
        "lone-merge-patch",
        Told::kueue().waits().trainjob(|it| {
            raise(it, 1);
            it["spec"]["runtimePatches"].as_array_mut().unwrap().remove(0);
        }).seconds(60).history())]
    #[case::count_alone(
        "count-alone",
        Told::kueue().waits().trainjob(|it| {
            it["metadata"]["annotations"][fields::ADMISSION_COUNT] = json!("1");
        }).history())]
    #[case::deaf_to_foreign("deaf-to-foreign", foreign().seconds(11).history())]
    #[case::forgets_the_end(
        "forgets-the-end",
        Told::kueue().runs().pod_ends("pod-1", "Failed").ends("Failed").seconds(11).history())]
    #[case::never_ready("never-ready", Told::kueue().waits().seconds(11).history())]
    #[case::raises_once(
        "raises-once",
        Told::kueue().runs().is_preempted(1).reserves().sets("Ready").admits().resumes()
            .pod("again", "1").history())]
    #[case::ready_before_raise(
        "ready-before-raise",
        Told::kueue().waits().sets("Ready").raises(1).admits().resumes().pod("pod-1", "0")
            .history())]
    #[case::silent_about_pods(
        "silent-about-pods", evicted().unreserves().reserves().seconds(11).history())]
    #[case::trusts_labels(
        "trusts-labels",
        foreign().change(Kind::TrainJob, "theirs", |it| {
            it["spec"]["runtimePatches"] = json!([{"manager": fields::RUNTIME_PATCH_MANAGER}]);
        }).history())]
    fn what_a_mutant_does_breaks_its_own_rule_first(#[case] name: &str, #[case] history: History) {
        let judgements = judge(&history);
        let broken: Vec<_> =
            causes_first(&judgements).iter().map(|judgement| judgement.rule.as_str()).collect();
        let mutant = find(name).unwrap();
        assert_eq!(broken.first(), mutant.breaks.first(), "{judgements:#?}");
        for rule in mutant.breaks {
            assert!(broken.contains(rule), "{rule} is not among {broken:?}");
        }
    }

    #[test]
    fn every_mutant_names_rules_that_are_and_scenarios_that_catch_it() {
        for mutant in MUTANTS {
            assert_eq!(find(mutant.name).unwrap().about, mutant.about);
            assert!(!mutant.breaks.is_empty() && !mutant.caught_by.is_empty(), "{}", mutant.name);
            for rule in mutant.breaks {
                assert!(rule.parse::<dispatch_contract::rules::RuleId>().is_ok(), "{rule}");
            }
            for scenario in mutant.caught_by {
                let file = format!("{}/../scenarios/{scenario}.yaml", env!("CARGO_MANIFEST_DIR"));
                assert!(std::path::Path::new(&file).exists(), "{file}");
            }
        }
    }

    #[rstest]
    #[case::all(&[], MUTANTS.len())]
    #[case::some(&["deaf-to-"], 3)]
    #[case::the_canary(&["ready-before"], 1)]
    fn mutants_are_chosen_by_parts_of_their_names_and_the_canary_always(
        #[case] parts: &[&str],
        #[case] count: usize,
    ) {
        let parts: Vec<_> = parts.iter().map(ToString::to_string).collect();
        let chosen = matching(&parts).unwrap();
        assert_eq!(chosen.len(), count);
        assert!(chosen.iter().any(|mutant| mutant.name == CANARY));
        assert!(matching(&["no-such".to_owned()]).is_err());
    }

    #[test]
    fn an_unknown_mutant_is_refused_with_those_that_are() {
        let error = find("x").unwrap_err().to_string();
        assert_eq!(error, format!("there is no broken controller `x`; there are {}", names()));
    }
}
