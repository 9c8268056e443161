//! What a scenario wants of its pods.

use std::collections::BTreeMap;

use dispatch_contract::names;
use k8s_openapi::api::core::v1::Pod;

/// How the containers of a pod end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With exit code 0.
    Succeeded,
    /// With another exit code.
    Failed,
}

impl Ending {
    /// The pod's phase afterwards.
    pub fn phase(self) -> &'static str {
        match self {
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
        }
    }

    /// The exit code of each container.
    pub fn exit_code(self) -> i32 {
        match self {
            Self::Succeeded => 0,
            Self::Failed => 1,
        }
    }
}

/// What is wanted of the pods of one job, those to come included. By default a pod runs at once,
/// runs on, and ends its grace period at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PodPolicy {
    /// How running pods end; they run on unless given.
    pub ending: Option<Ending>,
    /// Whether a deleted pod stays Terminating until it is let go.
    pub lingers: bool,
}

/// What is wanted of all pods, by the name of the job that they belong to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policies {
    of: BTreeMap<String, PodPolicy>,
}

impl Policies {
    /// The policy for one pod.
    pub fn for_pod(&self, pod: &Pod) -> PodPolicy {
        job_of(pod).and_then(|job| self.of.get(job)).copied().unwrap_or_default()
    }

    /// The policy for the pods of a job, to be changed.
    pub fn of(&mut self, job: &str) -> &mut PodPolicy {
        self.of.entry(job.to_owned()).or_default()
    }
}

/// The job that a pod belongs to, as people name it: the `JobSet`, which has the `TrainJob`'s name,
/// or else the Job.
fn job_of(pod: &Pod) -> Option<&str> {
    let labels = pod.metadata.labels.as_ref()?;
    let name =
        labels.get(names::JOBSET_NAME).or_else(|| labels.get("batch.kubernetes.io/job-name"));
    name.map(String::as_str)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn pod(labels: &[(&str, &str)]) -> Pod {
        let mut pod = Pod::default();
        pod.metadata.labels = Some(
            labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        );
        pod
    }

    #[rstest]
    #[case::by_the_job_set(&[(names::JOBSET_NAME, "train"), ("batch.kubernetes.io/job-name", "train-node-0")], true)]
    #[case::by_the_job(&[("batch.kubernetes.io/job-name", "train")], true)]
    #[case::of_another_job(&[(names::JOBSET_NAME, "other")], false)]
    #[case::of_no_job(&[], false)]
    fn a_policy_reaches_the_pods_of_its_job(
        #[case] labels: &[(&str, &str)],
        #[case] lingers: bool,
    ) {
        let mut policies = Policies::default();
        policies.of("train").lingers = true;
        assert_eq!(policies.for_pod(&pod(labels)).lingers, lingers);
    }
}
