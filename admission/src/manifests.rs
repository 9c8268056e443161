//! The manifests that the controller ships with, each the text of a YAML file. They hold exactly the
//! rights that it works with (RT-01), and none to delete anything.

/// The `ServiceAccount`, in the namespace `dispatch-system`.
pub const SERVICE_ACCOUNT: &str = include_str!("../manifests/service-account.yaml");

/// The `ClusterRole` for what has no namespace. Bound for the whole cluster.
pub const CLUSTER_ROLE: &str = include_str!("../manifests/cluster-role.yaml");

/// The `ClusterRole` for what is in the namespaces that are served. Bound for the whole cluster, or by
/// a `RoleBinding` in the one namespace that is served.
pub const CLUSTER_ROLE_WORKLOADS: &str = include_str!("../manifests/cluster-role-workloads.yaml");

/// The bindings of both `ClusterRoles` for the whole cluster.
pub const CLUSTER_ROLE_BINDINGS: &str = include_str!("../manifests/cluster-role-bindings.yaml");

/// The Role for the Lease, with its binding, in the namespace `dispatch-system`.
pub const LEASE_ROLE: &str = include_str!("../manifests/lease-role.yaml");

/// The Deployment, of two replicas, one of which leads.
pub const DEPLOYMENT: &str = include_str!("../manifests/deployment.yaml");

/// The `AdmissionCheck`, by its default names.
pub const ADMISSION_CHECK: &str = include_str!("../manifests/admission-check.yaml");

/// All of them, in an order in which they can be applied, with their file names.
pub const ALL: [(&str, &str); 7] = [
    ("service-account.yaml", SERVICE_ACCOUNT),
    ("cluster-role.yaml", CLUSTER_ROLE),
    ("cluster-role-workloads.yaml", CLUSTER_ROLE_WORKLOADS),
    ("cluster-role-bindings.yaml", CLUSTER_ROLE_BINDINGS),
    ("lease-role.yaml", LEASE_ROLE),
    ("deployment.yaml", DEPLOYMENT),
    ("admission-check.yaml", ADMISSION_CHECK),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_manifest_gives_more_than_is_needed() {
        for (file, text) in ALL {
            for right in ["delete", "update", "impersonate", "escalate", "bind,", "\"*\"", "'*'"] {
                let verbs = text.lines().filter(|line| line.trim_start().starts_with("verbs:"));
                for line in verbs {
                    assert!(!line.contains(right), "{file}: {line}");
                }
            }
        }
    }
}
