//! The kinds of objects that the API has.

use std::cmp::Ordering;
use std::fmt;

/// A kind of object, and how the API serves it.
#[derive(Debug)]
pub struct Resource {
    /// The API group; empty for the core.
    pub group: &'static str,
    /// The one version that is served, and stored.
    pub version: &'static str,
    /// The name in paths.
    pub plural: &'static str,
    /// The name in objects.
    pub kind: &'static str,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Whether the status is written by a subresource of its own, and left alone by other writes.
    pub status: bool,
    /// Whether it is a custom resource: a PUT without a resourceVersion is then refused, and
    /// `metadata.generation` counts changes of anything but metadata and status.
    pub custom: bool,
}

impl Resource {
    /// `group/version`, or the version alone in the core.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// As errors name it: `workloads.kueue.x-k8s.io`.
    pub fn qualified(&self) -> String {
        if self.group.is_empty() {
            self.plural.to_owned()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    fn key(&self) -> (&'static str, &'static str) {
        (self.group, self.plural)
    }
}

impl PartialEq for Resource {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Resource {}

impl PartialOrd for Resource {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Resource {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.qualified())
    }
}

/// The resource of this group and plural.
pub fn by_plural(group: &str, plural: &str) -> Option<&'static Resource> {
    ALL.iter().copied().find(|it| it.group == group && it.plural == plural)
}

/// The resource of this group and kind.
pub fn by_kind(group: &str, kind: &str) -> Option<&'static Resource> {
    ALL.iter().copied().find(|it| it.group == group && it.kind == kind)
}

macro_rules! resources {
    ($($(#[$doc:meta])* $name:ident: $group:literal $version:literal $plural:literal $kind:literal
        $($flag:ident)*;)*) => {
        $(
            $(#[$doc])*
            pub static $name: &Resource = &Resource {
                group: $group,
                version: $version,
                plural: $plural,
                kind: $kind,
                namespaced: resources!(@has namespaced $($flag)*),
                status: resources!(@has status $($flag)*),
                custom: resources!(@has custom $($flag)*),
            };
        )*
        /// All of them.
        pub static ALL: &[&Resource] = &[$($name),*];
    };
    (@has namespaced namespaced $($rest:ident)*) => { true };
    (@has status status $($rest:ident)*) => { true };
    (@has custom custom $($rest:ident)*) => { true };
    (@has $flag:ident $other:ident $($rest:ident)*) => { resources!(@has $flag $($rest)*) };
    (@has $flag:ident) => { false };
}

resources! {
    /// Namespaces.
    NAMESPACE: "" "v1" "namespaces" "Namespace" status;
    /// Nodes.
    NODE: "" "v1" "nodes" "Node" status;
    /// Pods.
    POD: "" "v1" "pods" "Pod" namespaced status;
    /// Services; a `JobSet` makes a headless one.
    SERVICE: "" "v1" "services" "Service" namespaced status;
    /// Service accounts.
    SERVICE_ACCOUNT: "" "v1" "serviceaccounts" "ServiceAccount" namespaced;
    /// Secrets.
    SECRET: "" "v1" "secrets" "Secret" namespaced;
    /// Config maps.
    CONFIG_MAP: "" "v1" "configmaps" "ConfigMap" namespaced;
    /// Events of the core.
    EVENT: "" "v1" "events" "Event" namespaced;
    /// Jobs.
    JOB: "batch" "v1" "jobs" "Job" namespaced status;
    /// Leases.
    LEASE: "coordination.k8s.io" "v1" "leases" "Lease" namespaced;
    /// Roles.
    ROLE: "rbac.authorization.k8s.io" "v1" "roles" "Role" namespaced;
    /// Role bindings.
    ROLE_BINDING: "rbac.authorization.k8s.io" "v1" "rolebindings" "RoleBinding" namespaced;
    /// Cluster roles.
    CLUSTER_ROLE: "rbac.authorization.k8s.io" "v1" "clusterroles" "ClusterRole";
    /// Cluster role bindings.
    CLUSTER_ROLE_BINDING: "rbac.authorization.k8s.io" "v1" "clusterrolebindings" "ClusterRoleBinding";
    /// Kueue's workloads.
    WORKLOAD: "kueue.x-k8s.io" "v1beta2" "workloads" "Workload" namespaced status custom;
    /// Kueue's local queues.
    LOCAL_QUEUE: "kueue.x-k8s.io" "v1beta2" "localqueues" "LocalQueue" namespaced status custom;
    /// Kueue's cluster queues.
    CLUSTER_QUEUE: "kueue.x-k8s.io" "v1beta2" "clusterqueues" "ClusterQueue" status custom;
    /// Kueue's flavors.
    RESOURCE_FLAVOR: "kueue.x-k8s.io" "v1beta2" "resourceflavors" "ResourceFlavor" custom;
    /// Kueue's admission checks.
    ADMISSION_CHECK: "kueue.x-k8s.io" "v1beta2" "admissionchecks" "AdmissionCheck" status custom;
    /// Kueue's priority classes.
    WORKLOAD_PRIORITY_CLASS: "kueue.x-k8s.io" "v1beta2" "workloadpriorityclasses" "WorkloadPriorityClass" custom;
    /// Trainer's jobs.
    TRAIN_JOB: "trainer.kubeflow.org" "v1alpha1" "trainjobs" "TrainJob" namespaced status custom;
    /// Trainer's runtimes.
    TRAINING_RUNTIME: "trainer.kubeflow.org" "v1alpha1" "trainingruntimes" "TrainingRuntime" namespaced custom;
    /// Trainer's runtimes for all namespaces.
    CLUSTER_TRAINING_RUNTIME: "trainer.kubeflow.org" "v1alpha1" "clustertrainingruntimes" "ClusterTrainingRuntime" custom;
    /// Job sets.
    JOB_SET: "jobset.x-k8s.io" "v1alpha2" "jobsets" "JobSet" namespaced status custom;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_found_by_its_plural_and_by_its_kind() {
        assert_eq!(by_plural("batch", "jobs"), Some(JOB));
        assert_eq!(by_kind("", "Pod"), Some(POD));
        assert_eq!(by_plural("", "jobs"), None);
        assert!(WORKLOAD.namespaced && WORKLOAD.status && WORKLOAD.custom);
        assert!(!CLUSTER_ROLE.namespaced && !CLUSTER_ROLE.status && !CLUSTER_ROLE.custom);
    }
}
