//! The kinds of jobs, and how Kueue reads and changes each.

use serde_json::Value;

use super::pod_set::{Failed, PodSetInfo};
use super::{batch_job, job_set, train_job};
use crate::component::{Plan, View};
use crate::kueue::names::STOPPING;
use crate::object::{Object, annotation, condition, is, items, name, number, text};
use crate::resource::{JOB, JOB_SET, Resource, TRAIN_JOB, WORKLOAD};

/// A kind of job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::kueue) enum Integration {
    /// `batch/v1` Job.
    Job,
    /// `JobSet`.
    JobSet,
    /// TrainJob.
    TrainJob,
}

/// How a job has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) succeeded: bool,
    pub(super) message: String,
}

/// The kind that an owner reference is of.
pub(in crate::kueue) fn by_owner(owner: &Value) -> Option<Integration> {
    let all = [Integration::Job, Integration::JobSet, Integration::TrainJob];
    all.into_iter().find(|it| it.is(owner))
}

impl Integration {
    pub(in crate::kueue) fn resource(self) -> &'static Resource {
        match self {
            Self::Job => JOB,
            Self::JobSet => JOB_SET,
            Self::TrainJob => TRAIN_JOB,
        }
    }

    /// Whether an owner reference is of this kind.
    pub(super) fn is(self, owner: &Value) -> bool {
        let group = text(owner, "/apiVersion").split('/').next().unwrap_or_default();
        self.resource().group == group && owner["kind"] == self.resource().kind
    }

    /// The Workloads that name a job as their owner: by kind and name, and not by UID (Kueue
    /// `pkg/controller/jobframework/setup.go`, `SetupWorkloadOwnerIndex`).
    pub(super) fn workloads_of<'a>(
        self,
        view: &'a View,
        namespace: &'a str,
        job: &str,
    ) -> impl Iterator<Item = &'a Object> {
        let of = |it: &&Object| {
            let owners = items(it, "/metadata/ownerReferences");
            owners.iter().any(|owner| self.is(owner) && owner["name"] == job)
        };
        view.within(WORKLOAD, namespace).filter(of).collect::<Vec<_>>().into_iter()
    }

    /// Whether it is not to run.
    pub(in crate::kueue) fn is_suspended(self, job: &Object) -> bool {
        let stopping = self == Self::Job && annotation(job, STOPPING) == Some("true");
        is(job, "/spec/suspend") && !stopping
    }

    /// Whether any of its Jobs counts active pods. Those that are Terminating are none.
    pub(super) fn is_active(self, job: &Object) -> bool {
        let statuses = match self {
            Self::Job => return number(job, "/status/active").unwrap_or_default() != 0,
            Self::JobSet => items(job, "/status/replicatedJobsStatus"),
            Self::TrainJob => items(job, "/status/jobsStatus"),
        };
        statuses.iter().any(|it| number(it, "/active").unwrap_or_default() > 0)
    }

    /// How it has ended, if it has.
    pub(super) fn ended(self, job: &Object) -> Option<Ended> {
        let ends = match self {
            Self::Job | Self::TrainJob => [("Complete", true), ("Failed", false)],
            Self::JobSet => [("Completed", true), ("Failed", false)],
        };
        ends.into_iter().find_map(|(type_, succeeded)| {
            let end = condition(job, type_).filter(|it| it["status"] == "True")?;
            Some(Ended { succeeded, message: text(end, "/message").to_owned() })
        })
    }

    /// The pods that it is made of.
    pub(in crate::kueue) fn pod_sets(
        self,
        view: &View,
        job: &Object,
    ) -> Result<Vec<Value>, Failed> {
        match self {
            Self::Job => batch_job::pod_sets(job),
            Self::JobSet => Ok(job_set::pod_sets(items(job, "/spec/replicatedJobs"))),
            Self::TrainJob => {
                let find =
                    |resource, namespace: &str, name: &str| view.get(resource, namespace, name);
                train_job::pod_sets(job, find)
            }
        }
    }

    /// How many pods of each pod set have succeeded; none where nothing is known of it.
    pub(super) fn reclaimable(self, view: &View, job: &Object) -> Option<Vec<Value>> {
        match self {
            Self::Job => Some(batch_job::reclaimable(job)),
            Self::JobSet => {
                let statuses = items(job, "/status/replicatedJobsStatus");
                Some(job_set::reclaimable(items(job, "/spec/replicatedJobs"), statuses))
            }
            Self::TrainJob => {
                let statuses = items(job, "/status/jobsStatus");
                let find =
                    |resource, namespace: &str, name: &str| view.get(resource, namespace, name);
                let replicated = train_job::replicated_jobs(job, find).ok()?;
                Some(job_set::reclaimable(&replicated, statuses))
            }
        }
    }

    /// Starts it, with what its pods are to have.
    pub(super) fn start(
        self,
        view: &View,
        job: &Object,
        infos: &[PodSetInfo],
    ) -> Result<Plan, Failed> {
        match self {
            Self::Job => batch_job::start(job, infos),
            Self::JobSet => job_set::start(job, infos),
            Self::TrainJob => {
                let find =
                    |resource, namespace: &str, name: &str| view.get(resource, namespace, name);
                train_job::start(job, train_job::replicated_jobs(job, find)?.len(), infos)
            }
        }
    }

    /// The start of a Workload's name.
    pub(super) fn prefix(self, job: &Object) -> String {
        format!("{}-{}", self.resource().kind.to_lowercase(), name(job))
    }
}
