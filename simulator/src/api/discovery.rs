//! What the server says of itself, and what of the real one it does not have.

use serde_json::{Value, json};

use crate::resource::{ALL, Resource};

/// The version of Kubernetes that it behaves like.
const VERSION: &str = "v1.35.4";

/// Kinds of the real cluster that are not here: by group and plural.
const NOT_HERE: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "bindings",
            "componentstatuses",
            "endpoints",
            "limitranges",
            "persistentvolumeclaims",
            "persistentvolumes",
            "podtemplates",
            "replicationcontrollers",
            "resourcequotas",
        ],
    ),
    ("admissionregistration.k8s.io", &[]),
    ("apiextensions.k8s.io", &[]),
    ("apiregistration.k8s.io", &[]),
    ("apps", &["controllerrevisions", "daemonsets", "deployments", "replicasets", "statefulsets"]),
    ("authentication.k8s.io", &[]),
    ("authorization.k8s.io", &[]),
    ("autoscaling", &[]),
    ("batch", &["cronjobs"]),
    ("certificates.k8s.io", &[]),
    ("coordination.k8s.io", &["leasecandidates"]),
    ("discovery.k8s.io", &[]),
    ("events.k8s.io", &[]),
    ("flowcontrol.apiserver.k8s.io", &[]),
    (
        "kueue.x-k8s.io",
        &[
            "cohorts",
            "multikueueclusters",
            "multikueueconfigs",
            "provisioningrequestconfigs",
            "topologies",
        ],
    ),
    ("networking.k8s.io", &[]),
    ("node.k8s.io", &[]),
    ("policy", &[]),
    ("resource.k8s.io", &[]),
    ("scheduling.k8s.io", &[]),
    ("storage.k8s.io", &[]),
];

/// Whether the real cluster has such objects; of some groups, none are here.
pub(super) fn has_the_real_one(group: &str, plural: &str) -> bool {
    let found = NOT_HERE.iter().find(|(it, _)| *it == group);
    found.is_some_and(|(_, plurals)| plurals.is_empty() || plurals.contains(&plural))
        || ALL.iter().any(|it| it.group == group && it.plural == plural)
}

/// Whether what follows `namespaces/NAME` is a part of the namespace itself.
pub(super) fn is_of_namespace(rest: &[&str]) -> bool {
    matches!(rest, ["status" | "finalize"])
}

/// The document at a path that is about the server.
pub(super) fn document(segments: &[&str]) -> Option<Value> {
    match segments {
        ["version"] => Some(json!({
            "major": "1", "minor": "35", "gitVersion": VERSION, "gitCommit": "",
            "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z", "goVersion": "",
            "compiler": "", "platform": "embedded", "emulationMajor": "1", "emulationMinor": "35",
            "minCompatibilityMajor": "1", "minCompatibilityMinor": "34",
        })),
        ["api"] => Some(json!({
            "kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}],
        })),
        ["apis"] => {
            let mut groups: Vec<&str> = ALL.iter().map(|it| it.group).collect();
            groups.retain(|it| !it.is_empty());
            groups.dedup();
            let groups: Vec<Value> = groups.into_iter().filter_map(group).collect();
            Some(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
        }
        ["apis", name] => {
            let mut found = group(name)?;
            found["kind"] = "APIGroup".into();
            found["apiVersion"] = "v1".into();
            Some(found)
        }
        _ => None,
    }
}

fn group(name: &str) -> Option<Value> {
    let first = ALL.iter().find(|it| it.group == name && !name.is_empty())?;
    let version = json!({"groupVersion": first.api_version(), "version": first.version});
    Some(json!({"name": name, "versions": [version], "preferredVersion": version}))
}

/// The kinds of a group.
pub(super) fn of_group(group: &str, version: &str) -> Option<Value> {
    let those = || ALL.iter().filter(|it| it.group == group && it.version == version);
    let first = those().next()?;
    let resources: Vec<Value> = those().flat_map(|it| served(it)).collect();
    Some(json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": first.api_version(),
        "resources": resources,
    }))
}

fn served(resource: &Resource) -> Vec<Value> {
    let verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
    let one = |name: String, verbs: &[&str]| {
        json!({
            "name": name, "singularName": resource.kind.to_lowercase(), "kind": resource.kind,
            "namespaced": resource.namespaced, "verbs": verbs,
        })
    };
    let mut all = vec![one(resource.plural.to_owned(), &verbs)];
    if resource.status {
        all.push(one(format!("{}/status", resource.plural), &["get", "patch", "update"]));
    }
    all
}
