//! `JobSet`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

use super::Condition;

/// A set of Jobs that Trainer makes from a `TrainJob`, under the same name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobSet {
    /// Name, UID, owner.
    pub metadata: ObjectMeta,
    /// What was asked for.
    #[serde(default)]
    pub spec: JobSetSpec,
    /// What was seen.
    #[serde(default)]
    pub status: Option<JobSetStatus>,
}
custom_resource!(JobSet, NamespaceResourceScope, "jobset.x-k8s.io", "v1alpha2", "jobsets");

/// What a `JobSet` asks for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobSetSpec {
    /// Whether it may not run now.
    pub suspend: Option<bool>,
    /// The Jobs, in groups of one template.
    pub replicated_jobs: Vec<ReplicatedJob>,
    /// After how many seconds a finished one is deleted. With it a Failed `TrainJob` would run
    /// again, so Start refuses it (SG-09).
    pub ttl_seconds_after_finished: Option<i32>,
}

/// A group of Jobs of one template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReplicatedJob {
    /// Its name.
    pub name: String,
    /// The template of its Jobs.
    pub template: JobTemplate,
}

/// The template of a Job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobTemplate {
    /// What the Job asks for.
    pub spec: Option<JobTemplateSpec>,
}

/// What a Job of a `JobSet` asks for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobTemplateSpec {
    /// Whether a Terminating pod is replaced at once (the default), or only once it has failed
    /// (`Failed`).
    pub pod_replacement_policy: Option<String>,
    /// The template of its pods.
    pub template: Option<PodTemplate>,
}

/// The template of a pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodTemplate {
    /// Labels and annotations of the pods.
    pub metadata: Option<ObjectMeta>,
}

/// What was seen of a `JobSet`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobSetStatus {
    /// `Suspended`, `Completed`, `Failed`.
    pub conditions: Vec<Condition>,
    /// How often it was restarted.
    pub restarts: Option<i32>,
    /// A line for each replicated job.
    pub replicated_jobs_status: Vec<ReplicatedJobStatus>,
}

/// What was seen of one replicated job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReplicatedJobStatus {
    /// Its name.
    pub name: String,
    /// How many of its Jobs are active.
    pub active: Option<i32>,
}

impl ReplicatedJob {
    /// An annotation of the pods to come.
    pub fn pod_annotation(&self, key: &str) -> Option<&str> {
        let metadata = self.template.spec.as_ref()?.template.as_ref()?.metadata.as_ref()?;
        metadata.annotations.as_ref()?.get(key).map(String::as_str)
    }
}

impl JobSet {
    /// Whether `spec.suspend` is true.
    pub fn is_suspended(&self) -> bool {
        self.spec.suspend == Some(true)
    }

    /// Whether its status counts an active Job.
    pub fn has_active_jobs(&self) -> bool {
        let counted = self.status.iter().flat_map(|status| &status.replicated_jobs_status);
        counted.filter_map(|jobs| jobs.active).any(|active| active > 0)
    }

    /// The UID of the controller that owns it.
    pub fn controller_uid(&self) -> Option<&str> {
        let owners = self.metadata.owner_references.as_deref().unwrap_or_default();
        owners.iter().find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.as_str())
    }
}
