//! What a scenario wants of its pods.

use std::collections::{BTreeMap, BTreeSet};

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

/// What is wanted of one pod. By default it runs at once, runs on, and ends its grace period at
/// once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PodPolicy {
    /// How it ends once it runs; it runs on unless given.
    pub ending: Option<Ending>,
    /// Whether it stays Terminating when it is deleted, until it is let go.
    pub lingers: bool,
}

/// What is wanted of all pods.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policies {
    /// The jobs whose pods linger, those to come included.
    lingering: BTreeSet<String>,
    /// How pods end, by their UID.
    endings: BTreeMap<String, Ending>,
}

impl Policies {
    /// The policy for one pod.
    pub fn for_pod(&self, pod: &Pod) -> PodPolicy {
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        PodPolicy {
            ending: self.endings.get(uid).copied(),
            lingers: job_of(pod).is_some_and(|job| self.lingers(job)),
        }
    }

    /// Whether the pods of a job linger.
    pub fn lingers(&self, job: &str) -> bool {
        self.lingering.contains(job)
    }

    /// Sets whether the pods of a job linger.
    pub fn linger(&mut self, job: &str, lingers: bool) {
        if lingers {
            self.lingering.insert(job.to_owned());
        } else {
            self.lingering.remove(job);
        }
    }

    /// Sets how a pod ends.
    pub fn end(&mut self, pod_uid: String, ending: Ending) {
        self.endings.insert(pod_uid, ending);
    }
}

/// The job that a pod belongs to, as people name it: the `JobSet`, which has the `TrainJob`'s name,
/// or else the Job.
pub(crate) fn job_of(pod: &Pod) -> Option<&str> {
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
        policies.linger("train", true);
        assert_eq!(policies.for_pod(&pod(labels)).lingers, lingers);
    }

    #[test]
    fn a_job_that_was_let_go_no_longer_lingers() {
        let mut policies = Policies::default();
        policies.linger("train", true);
        policies.linger("train", false);
        assert!(!policies.for_pod(&pod(&[(names::JOBSET_NAME, "train")])).lingers);
    }

    #[test]
    fn only_the_pod_that_was_named_ends() {
        let mut policies = Policies::default();
        policies.end("one".to_owned(), Ending::Failed);
        let mut pod = pod(&[]);
        for (uid, ending) in [("one", Some(Ending::Failed)), ("other", None)] {
            pod.metadata.uid = Some(uid.to_owned());
            assert_eq!(policies.for_pod(&pod).ending, ending);
        }
    }
}
