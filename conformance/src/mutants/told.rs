//! What a mutant is shown in tests.

use dispatch_admission::{At, Object, Owner, Snapshot};
use dispatch_contract::names;
use dispatch_kubernetes::owned::Owned;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::Mutant;
use crate::history::told::{CHECK, NAME, Told, UID, start_input};
use crate::history::{History, Kind, Verb};
use crate::rules::{causes_first, judge};

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

/// The same, with another annotation on the `TrainJob`, or without it.
pub(super) fn annotated(mut snapshot: Snapshot, key: &str, value: Option<&str>) -> Snapshot {
    if let Owner::Dispatch(object) = &mut snapshot.owner {
        let annotations = object.trainjob.object.annotations_mut();
        match value {
            Some(value) => annotations.insert(key.to_owned(), value.to_owned()),
            None => annotations.remove(key),
        };
    }
    snapshot
}

/// Preempted, with a pod that lingers.
pub(super) fn evicted() -> Told {
    let mut told = Told::kueue();
    told.runs().evicts().suspends().pod_terminates("pod-1");
    told
}

/// Somebody else's `TrainJob`, whose Workload has quota.
pub(super) fn foreign() -> Told {
    let mut told = Told::kueue();
    told.create(
        Kind::TrainJob,
        json!({"metadata": {"name": "theirs", "namespace": "ns", "uid": "theirs",
            "labels": {names::MANAGED: "true"}}, "spec": {"suspend": true}}),
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

/// The check of another controller is on the Workload too.
pub(super) fn foreign_check(told: &mut Told) -> &mut Told {
    told.create(
        Kind::AdmissionCheck,
        json!({"metadata": {"name": "foreign", "uid": "uid-foreign"},
            "spec": {"controllerName": "example.com/another"},
            "status": {"conditions": [{"type": "Active", "status": "True"}]}}),
    );
    told.workload(|it| {
        let checks = it["status"]["admissionChecks"].as_array_mut().unwrap();
        checks.push(json!({"name": "foreign", "state": "Pending", "message": ""}));
    })
}

/// Asserts that this is what the mutant is to be caught by: its own rule first, and the others that
/// it breaks as well.
#[track_caller]
pub(super) fn breaks_its_own_rule_first(mutant: &Mutant, history: &History) {
    let judgements = judge(history);
    let broken: Vec<_> =
        causes_first(&judgements).iter().map(|judgement| judgement.rule.as_str()).collect();
    assert_eq!(broken.first(), mutant.breaks.first(), "{judgements:#?}");
    for rule in mutant.breaks {
        assert!(broken.contains(rule), "{rule} is not among {broken:?}");
    }
}

/// Asserts that no rule is broken, so that a permitted subject may do this.
#[track_caller]
pub(super) fn breaks_nothing(history: &History) {
    let judgements = judge(history);
    let broken: Vec<_> =
        causes_first(&judgements).iter().map(|judgement| judgement.rule.as_str()).collect();
    assert!(broken.is_empty(), "{broken:?}: {judgements:#?}");
}

/// An object that is created with these gates.
pub(super) fn created_with_gates(gates: &str) -> Told {
    let mut told = Told::kueue();
    told.calls_with(Verb::Start, start_input());
    told.create_trainjob_with(|it| {
        it["metadata"]["annotations"][names::ADMISSION_GATED_BY] = json!(gates);
    });
    told.create_jobset().create_workload().lists_check().answers(json!({"name": NAME, "uid": UID}));
    told
}

/// An Open of an object with two gates of others, `b.io/y` and `a.io/x`, that leaves these.
pub(super) fn opens_to(left: Option<&str>) -> History {
    opened_with_gates(left).history()
}

/// The same, and the history goes on.
pub(super) fn opened_with_gates(left: Option<&str>) -> Told {
    let mut told = created_with_gates(&format!("b.io/y,{},a.io/x", names::GATE));
    told.calls(Verb::Open).trainjob(|it| {
        let annotations = it["metadata"]["annotations"].as_object_mut().unwrap();
        annotations.remove(names::ADMISSION_GATED_BY);
        annotations.extend(left.map(|it| (names::ADMISSION_GATED_BY.to_owned(), json!(it))));
        annotations.insert(names::OPENED.to_owned(), json!("true"));
    });
    told.answers(json!({}));
    told
}

/// An object that is held, and was not opened.
pub(super) fn held_closed() -> Told {
    let mut told = Told::kueue();
    told.starts().calls(Verb::Hold);
    told.trainjob(|it| it["metadata"]["annotations"][names::HELD] = json!("token"));
    told.workload(|it| it["spec"]["active"] = json!(false)).answers(json!({}));
    told
}
