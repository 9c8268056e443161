//! How jobs are stopped (Kueue `pkg/controller/jobframework/reconciler.go`, `stopJob`).

use super::integration::Integration;
use super::pod_set::PodSetInfo;
use super::{Turn, batch_job, merge_patch, train_job};
use crate::component::Plan;
use crate::object::{Object, items};

/// What stops a job.
pub(super) struct Stop {
    pub(super) plan: Plan,
    /// Whether it is stopped when the plan is through.
    pub(super) done: bool,
}

impl Turn<'_> {
    /// Stops the job, and gives its pods back what they had before the Workload was admitted.
    pub(super) fn stop(&self, workload: Option<&Object>) -> Stop {
        let infos: Option<Vec<PodSetInfo>> = workload.map(|workload| {
            let pod_sets = items(workload, "/spec/podSets").iter();
            pod_sets.map(|it| PodSetInfo::of_template(&it["template"])).collect()
        });
        match self.integration {
            Integration::TrainJob => train_job::stop(self.job),
            Integration::Job => batch_job::stop(self.job, infos.as_deref().unwrap_or_default()),
            Integration::JobSet => self.stop_job_set(infos.as_deref().unwrap_or_default()),
        }
    }

    fn stop_job_set(&self, infos: &[PodSetInfo]) -> Stop {
        if self.integration.is_suspended(self.job) {
            return Stop { plan: Plan::nothing(), done: true };
        }
        let mut stopped = self.job.clone();
        stopped["spec"]["suspend"] = true.into();
        let jobs = stopped["spec"]["replicatedJobs"].as_array_mut();
        for (job, info) in jobs.into_iter().flatten().zip(infos) {
            info.put_into(&mut job["template"]["spec"]["template"]);
        }
        let request = merge_patch::strict(self.integration.resource(), self.job, &stopped);
        let source = "Kueue pkg/controller/jobframework/reconciler.go, stopJob";
        Stop { plan: Plan::one(request, source), done: true }
    }
}
