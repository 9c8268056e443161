//! The manifests that the adapter ships with, each the text of a YAML file. They hold exactly the
//! rights that it works with (RT-01).

/// The `ServiceAccount`, in the namespace `dispatch-system`.
pub const SERVICE_ACCOUNT: &str = include_str!("../manifests/service-account.yaml");

/// The `ClusterRole` for what has no namespace. Bound for the whole cluster.
pub const CLUSTER_ROLE: &str = include_str!("../manifests/cluster-role.yaml");

/// The `ClusterRole` for the namespace of the objects. Bound there by a `RoleBinding`.
pub const CLUSTER_ROLE_OBJECTS: &str = include_str!("../manifests/cluster-role-objects.yaml");

/// The bindings of both, for objects in the namespace `dispatch-jobs`.
pub const BINDINGS: &str = include_str!("../manifests/bindings.yaml");

/// The Role for the controller's Lease, with its binding, in the namespace `dispatch-system`.
pub const LEASE_ROLE: &str = include_str!("../manifests/lease-role.yaml");

/// All of them, in an order in which they can be applied, with their file names.
pub const ALL: [(&str, &str); 5] = [
    ("service-account.yaml", SERVICE_ACCOUNT),
    ("cluster-role.yaml", CLUSTER_ROLE),
    ("cluster-role-objects.yaml", CLUSTER_ROLE_OBJECTS),
    ("bindings.yaml", BINDINGS),
    ("lease-role.yaml", LEASE_ROLE),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_trainjobs_and_the_runtimes_of_probes_can_be_deleted() {
        for (file, text) in ALL {
            let mut resources = "";
            for line in text.lines().map(str::trim_start) {
                if let Some(listed) = line.strip_prefix("resources: ") {
                    resources = listed;
                }
                let allowed = ["[trainjobs]", "[trainingruntimes]"].contains(&resources);
                assert!(!line.contains("delete]") || allowed, "{file}: {resources} {line}");
                for right in ["update", "impersonate", "escalate", "'*'", "\"*\""] {
                    assert!(!line.contains(right), "{file}: {line}");
                }
            }
        }
    }
}
