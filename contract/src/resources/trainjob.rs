//! `TrainJob`, of Trainer.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::ResourceExt;
use serde::{Deserialize, Serialize};

use super::{Condition, Conditions, ReplicatedJob};
use crate::{AdmissionCount, GateList, ObjectName, UnreadableCount, names};

/// A training job of Trainer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainJob {
    /// Name, UID, annotations.
    pub metadata: ObjectMeta,
    /// What was asked for.
    #[serde(default)]
    pub spec: TrainJobSpec,
    /// What was seen.
    #[serde(default)]
    pub status: Option<TrainJobStatus>,
}
custom_resource!(TrainJob, NamespaceResourceScope, "trainer.kubeflow.org", "v1alpha1", "trainjobs");

/// What a `TrainJob` asks for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TrainJobSpec {
    /// The runtime that it is made from.
    pub runtime_ref: RuntimeReference,
    /// Whether it may not run now.
    pub suspend: Option<bool>,
    /// Which controller is to handle it.
    pub managed_by: Option<String>,
    /// Changes to the runtime, by manager, the last one winning.
    pub runtime_patches: Vec<RuntimePatch>,
    /// For how long it may run, in seconds, from each resumption.
    pub active_deadline_seconds: Option<i64>,
}

/// The runtime of a `TrainJob`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RuntimeReference {
    /// `trainer.kubeflow.org` unless given.
    pub api_group: Option<String>,
    /// `ClusterTrainingRuntime` unless given, or `TrainingRuntime`.
    pub kind: Option<String>,
    /// Its name.
    pub name: String,
}

/// One manager's changes to the runtime.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RuntimePatch {
    /// Who made the entry.
    pub manager: String,
    /// When it was last changed; Trainer's webhook writes it.
    pub time: Option<Time>,
    /// The changes.
    pub training_runtime_spec: Option<PatchedRuntime>,
}

/// The part of a runtime that a patch changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PatchedRuntime {
    /// Changes to the `JobSet`.
    pub template: Option<PatchedJobSet>,
}

/// The part of a `JobSet` that a patch changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PatchedJobSet {
    /// Its replicated jobs, by name.
    pub spec: Option<PatchedJobSetSpec>,
}

/// The replicated jobs that a patch changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PatchedJobSetSpec {
    /// By name.
    pub replicated_jobs: Vec<ReplicatedJob>,
}

/// What was seen of a `TrainJob`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TrainJobStatus {
    /// `Suspended`, `Complete`, `Failed`.
    pub conditions: Vec<Condition>,
    /// A line for each replicated job.
    pub jobs_status: Vec<JobStatus>,
}

/// What was seen of one replicated job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobStatus {
    /// The name of the replicated job.
    pub name: String,
    /// How many of its Jobs are active.
    pub active: Option<i32>,
}

impl TrainJob {
    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata.annotations.as_ref()?.get(key).map(String::as_str)
    }

    /// Whether this is an object of dispatch: by its name, or by dispatch's runtime patch; labels
    /// never matter (RG-03).
    pub fn is_dispatch(&self) -> bool {
        ObjectName::matches(&self.name_any()) || self.dispatch_patch().is_some()
    }

    /// Dispatch's entry in the runtime patches.
    pub fn dispatch_patch(&self) -> Option<&RuntimePatch> {
        self.spec.runtime_patches.iter().find(|patch| patch.manager == names::RUNTIME_PATCH_MANAGER)
    }

    /// Whether Kueue's own entry is in the runtime patches, without which Kueue never starts the
    /// object (RG-05).
    pub fn has_kueue_patch(&self) -> bool {
        self.spec
            .runtime_patches
            .iter()
            .any(|patch| patch.manager == names::KUEUE_RUNTIME_PATCH_MANAGER)
    }

    /// The pod annotation with A that dispatch's patch gives to each replicated job, by its name;
    /// the text as it is, readable or not.
    pub fn patched_admissions(&self) -> BTreeMap<&str, Option<&str>> {
        let jobs = self
            .dispatch_patch()
            .and_then(|patch| patch.training_runtime_spec.as_ref())
            .and_then(|runtime| runtime.template.as_ref())
            .and_then(|template| template.spec.as_ref())
            .map(|spec| spec.replicated_jobs.as_slice())
            .unwrap_or_default();
        jobs.iter()
            .map(|job| (job.name.as_str(), job.pod_annotation(names::POD_ADMISSION)))
            .collect()
    }

    /// A, as the annotation has it. `None` where it is absent.
    pub fn admission_count(&self) -> Option<Result<AdmissionCount, UnreadableCount>> {
        self.annotation(names::ADMISSION_COUNT).map(str::parse)
    }

    /// The gates of the object, read from the `TrainJob` itself (OP-05).
    pub fn gates(&self) -> GateList<'_> {
        GateList::new(self.annotation(names::ADMISSION_GATED_BY))
    }

    /// Whether it was opened (OP-01).
    pub fn is_opened(&self) -> bool {
        self.annotation(names::OPENED) == Some(names::TRUE)
    }

    /// The token of dispatch's hold, if it holds the object (CA-01).
    pub fn hold_token(&self) -> Option<&str> {
        self.annotation(names::HELD)
    }

    /// The ended mark, if somebody saw the end (CA-07).
    pub fn ended_mark(&self) -> Option<&str> {
        self.annotation(names::ENDED)
    }

    /// Whether `spec.suspend` is true.
    pub fn is_suspended(&self) -> bool {
        self.spec.suspend == Some(true)
    }

    /// The condition by which it ended, `Complete` or `Failed`, while the object still has it.
    pub fn end(&self) -> Option<&Condition> {
        let conditions = self.conditions();
        ["Complete", "Failed"]
            .iter()
            .filter_map(|type_| conditions.find(type_))
            .find(|condition| condition.status == "True")
    }

    /// Its conditions.
    pub fn conditions(&self) -> &[Condition] {
        self.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default()
    }
}
