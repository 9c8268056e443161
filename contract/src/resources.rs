//! The custom resources of Kueue, Trainer and `JobSet`, as far as dispatch reads them.
//!
//! The types are slim on purpose: they have the fields that somebody here reads and no others, so
//! they must never be written back whole. Everything in them is optional, so that an object that
//! lacks a field can still be read; an object of another shape is to be caught by
//! `kube::core::DeserializeGuard` on every list and watch.

/// Implements [`kube::Resource`] for a slim custom resource.
macro_rules! custom_resource {
    ($type:ident, $scope:ident, $group:literal, $version:literal, $plural:literal) => {
        impl kube::Resource for $type {
            type DynamicType = ();
            type Scope = k8s_openapi::$scope;

            fn kind(_: &()) -> std::borrow::Cow<'_, str> {
                stringify!($type).into()
            }

            fn group(_: &()) -> std::borrow::Cow<'_, str> {
                $group.into()
            }

            fn version(_: &()) -> std::borrow::Cow<'_, str> {
                $version.into()
            }

            fn plural(_: &()) -> std::borrow::Cow<'_, str> {
                $plural.into()
            }

            fn meta(&self) -> &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &self.metadata
            }

            fn meta_mut(
                &mut self,
            ) -> &mut k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

mod condition;
mod jobset;
mod queue;
mod runtime;
mod trainjob;
mod workload;

pub use condition::{Condition, Conditions};
pub use jobset::{
    JobSet, JobSetSpec, JobSetStatus, JobTemplate, JobTemplateSpec, PodTemplate, ReplicatedJob,
    ReplicatedJobStatus,
};
pub use queue::{
    AdmissionCheck, AdmissionCheckSpec, AdmissionCheckStatus, AdmissionCheckStrategyRule,
    AdmissionChecksStrategy, ClusterQueue, ClusterQueueSpec, ClusterQueueStatus, FlavorQuotas,
    LocalQueue, LocalQueueSpec, LocalQueueStatus, ResourceFlavor, ResourceFlavorSpec,
    ResourceGroup,
};
pub use runtime::{ClusterTrainingRuntime, JobSetTemplate, TrainingRuntime, TrainingRuntimeSpec};
pub use trainjob::{
    JobStatus, PatchedJobSet, PatchedJobSetSpec, PatchedRuntime, RuntimePatch, RuntimeReference,
    TrainJob, TrainJobSpec, TrainJobStatus,
};
pub use workload::{
    Admission, AdmissionCheckState, CheckState, Workload, WorkloadSpec, WorkloadStatus,
};
