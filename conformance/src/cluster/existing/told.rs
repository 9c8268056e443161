//! Clusters that are told by hand, for tests.

use super::judge::{FRAMEWORK, GATE};
use super::{Found, Kind, KindState, Manager, Queue, Right};

/// A cluster on which a run can start.
pub(crate) fn found() -> Found {
    let manager = |version: &str| Manager {
        installed: true,
        version: Some(version.to_owned()),
        feature_gates: Some([].into()),
        ..Manager::default()
    };
    let kueue = Manager {
        feature_gates: Some([(GATE.to_owned(), true)].into()),
        frameworks: Some(["batch/job", FRAMEWORK].map(str::to_owned).into()),
        ..manager("v0.17.2")
    };
    let managers =
        [("kueue", kueue), ("jobset", manager("v0.11.1")), ("trainer", manager("v2.2.0"))];
    Found {
        context: "ci".to_owned(),
        kubectl: "kubectl --context ci".to_owned(),
        server: "https://k.example:6443".to_owned(),
        marker: Some(true),
        kubernetes: "v1.35.8".to_owned(),
        managers: managers.map(|(name, it)| (name.to_owned(), it)).into(),
        kinds: vec![kind(KindState::Served)],
        queues: Some(vec![
            Queue { name: "team-a".to_owned(), active: Some(true), checks: Vec::new() },
            Queue {
                name: "team-b".to_owned(),
                active: Some(false),
                checks: vec!["capacity".to_owned()],
            },
        ]),
        rights: 112,
        missing: Vec::new(),
        runs: Vec::new(),
    }
}

/// A kind in this state.
pub(crate) fn kind(state: KindState) -> Kind {
    let name = "workloads.kueue.x-k8s.io".to_owned();
    Kind { name, version: "v1beta2".to_owned(), state }
}

/// A right.
pub(crate) fn right(group: &str, resource: &str, verb: &str) -> Right {
    Right { group: group.to_owned(), resource: resource.to_owned(), verb: verb.to_owned() }
}
