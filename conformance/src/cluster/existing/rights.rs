//! The rights that a run needs: its own, and those that it gives to adapter and controller, since
//! nobody can give what they do not have.
//!
//! One table: what is asked for before a run, and the role that an administrator applies.

use super::question::{Answer, ask};
use crate::cluster::ClusterError;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fmt::Write as _;

/// The name of the role.
pub(super) const ROLE: &str = "dispatch-conformance";

/// What the suite does itself, in the whole cluster: group, resources, verbs.
const OWN: &[(&str, &[&str], &[&str])] = &[
    // A namespace, a node and a Lease of its own for every scenario.
    ("", &["namespaces"], &["get", "list", "watch", "create", "delete"]),
    ("", &["nodes"], &["get", "list", "watch", "create", "delete"]),
    ("", &["nodes/status", "pods/status"], &["patch"]),
    ("coordination.k8s.io", &["leases"], &["get", "list", "watch", "create", "patch", "delete"]),
    // What is recorded, moved and removed.
    ("", &["pods"], &["get", "list", "watch", "patch", "delete"]),
    ("", &["events"], &["list", "watch"]),
    (
        "batch",
        &["jobs"],
        &["get", "list", "watch", "create", "patch", "delete", "deletecollection"],
    ),
    (
        "jobset.x-k8s.io",
        &["jobsets"],
        &["get", "list", "watch", "patch", "delete", "deletecollection"],
    ),
    (
        "trainer.kubeflow.org",
        &["trainjobs"],
        &["get", "list", "watch", "create", "patch", "delete", "deletecollection"],
    ),
    (
        "trainer.kubeflow.org",
        &["trainingruntimes"],
        &["get", "list", "watch", "create", "patch", "delete"],
    ),
    (
        "kueue.x-k8s.io",
        &[
            "admissionchecks",
            "clusterqueues",
            "localqueues",
            "resourceflavors",
            "workloadpriorityclasses",
            "workloads",
        ],
        &["get", "list", "watch", "create", "patch", "delete"],
    ),
    ("kueue.x-k8s.io", &["admissionchecks/status", "workloads/status"], &["patch"]),
    // Who adapter and controller are.
    ("", &["serviceaccounts", "serviceaccounts/token"], &["create"]),
    ("authorization.k8s.io", &["subjectaccessreviews"], &["create"]),
    ("rbac.authorization.k8s.io", &["roles", "rolebindings"], &["create"]),
    (
        "rbac.authorization.k8s.io",
        &["clusterroles", "clusterrolebindings"],
        &["get", "list", "watch", "create", "delete"],
    ),
    // What is there: the marker, and the versions and settings of what is installed.
    ("", &["configmaps", "services"], &["get"]),
    (
        "admissionregistration.k8s.io",
        &["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
        &["list"],
    ),
    ("apiextensions.k8s.io", &["customresourcedefinitions"], &["get"]),
];

/// A right in the whole cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Right {
    /// The API group; empty for the core.
    pub group: String,
    /// The resource, with its subresource.
    pub resource: String,
    /// The verb.
    pub verb: String,
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.group.is_empty() { "" } else { "." };
        write!(f, "{} {}{dot}{}", self.verb, self.resource, self.group)
    }
}

/// Every right that a run needs.
///
/// # Errors
/// A manifest of adapter or controller is not of the expected form.
pub fn all() -> Result<Vec<Right>, ClusterError> {
    let mut all = BTreeSet::new();
    for (group, resources, verbs) in OWN {
        all.extend(product(&[group], resources, verbs));
    }
    let shipped =
        dispatch_adapter::manifests::ALL.iter().chain(&dispatch_admission::manifests::ALL);
    for (file, text) in shipped {
        let odd = |detail: String| ClusterError::Manifest { file: (*file).into(), detail };
        let documents: Vec<Value> =
            serde_saphyr::from_multiple(text).map_err(|error| odd(error.to_string()))?;
        let rules = documents.iter().filter_map(|document| document["rules"].as_array()).flatten();
        for rule in rules {
            let texts = |key: &str| -> Vec<&str> {
                rule[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
            };
            all.extend(product(&texts("apiGroups"), &texts("resources"), &texts("verbs")));
        }
    }
    Ok(all.into_iter().collect())
}

fn product(groups: &[&str], resources: &[&str], verbs: &[&str]) -> Vec<Right> {
    let mut all = Vec::new();
    for group in groups {
        for resource in resources {
            all.extend(verbs.iter().map(|verb| Right {
                group: (*group).to_owned(),
                resource: (*resource).to_owned(),
                verb: (*verb).to_owned(),
            }));
        }
    }
    all
}

/// The `ClusterRole` with these rights, as the text of a YAML file.
pub fn role(rights: &[Right]) -> String {
    let mut verbs = BTreeMap::<_, Vec<_>>::new();
    for right in rights {
        let of = (right.group.as_str(), right.resource.as_str());
        verbs.entry(of).or_default().push(right.verb.as_str());
    }
    let mut resources = BTreeMap::<_, Vec<_>>::new();
    for ((group, resource), verbs) in verbs {
        resources.entry((group, verbs)).or_default().push(resource);
    }
    let mut text = format!(
        "apiVersion: rbac.authorization.k8s.io/v1\n\
         kind: ClusterRole\n\
         metadata:\n  name: {ROLE}\n\
         rules:\n"
    );
    for ((group, verbs), resources) in resources {
        let group = if group.is_empty() { "\"\"" } else { group };
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "  - apiGroups: [{group}]\n    resources: [{}]\n    verbs: [{}]\n",
            resources.join(", "),
            verbs.join(", "),
        );
    }
    text
}

/// Whether whoever asks has this right.
pub(super) async fn has(client: &Client, right: &Right) -> Answer<bool> {
    let (resource, subresource) = match right.resource.split_once('/') {
        Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
        None => (right.resource.as_str(), None),
    };
    let attributes = ResourceAttributes {
        group: Some(right.group.clone()),
        resource: Some(resource.to_owned()),
        subresource,
        verb: Some(right.verb.clone()),
        ..ResourceAttributes::default()
    };
    let spec = SelfSubjectAccessReviewSpec {
        resource_attributes: Some(attributes),
        ..SelfSubjectAccessReviewSpec::default()
    };
    let review = SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() };
    let api = Api::<SelfSubjectAccessReview>::all(client.clone());
    let answer = ask(api.create(&PostParams::default(), &review)).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_role_gives_what_a_run_needs_and_nothing_else() {
        let rights = all().unwrap();
        let text = role(&rights);
        let role: Value = serde_saphyr::from_str(&text).unwrap();
        let mut given = BTreeSet::new();
        for rule in role["rules"].as_array().unwrap() {
            let texts = |key: &str| -> Vec<&str> {
                rule[key].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect()
            };
            given.extend(product(&texts("apiGroups"), &texts("resources"), &texts("verbs")));
        }
        assert_eq!(given.into_iter().collect::<Vec<_>>(), rights);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn nobody_can_give_themselves_more_with_it() {
        let more = ["escalate", "bind", "impersonate", "update", "*"];
        let all = all().unwrap();
        assert!(all.iter().all(|right| !more.contains(&right.verb.as_str())), "{all:?}");
        assert!(all.iter().all(|right| right.resource != "secrets"));
    }
}
