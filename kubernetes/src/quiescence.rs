//! Whether anything of the previous execution may still run (RG-04).

use std::fmt;

use dispatch_contract::PodOfObject;
use dispatch_contract::resources::{JobSet, TrainJob};
use k8s_openapi::api::batch::v1::{Job, JobCondition};
use kube::ResourceExt;

use crate::owned::{self, Owned};

/// How many pods a message names.
pub const PODS_NAMED: usize = 10;

/// What of the previous execution may still run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remainder {
    /// The `TrainJob` is not suspended.
    TrainJob,
    /// The `JobSet` is not suspended: Trainer has not passed the suspension on.
    JobSet,
    /// A Job may still make pods, or has some that the pod list may not show yet.
    Job {
        /// Its name.
        name: String,
        /// Why it counts.
        why: &'static str,
    },
    /// Pods that live, by name.
    Pods(Vec<PodOfObject>),
}

/// What of the previous execution may still run; `None` when nothing may. Where pods live, they are
/// what is named, since they say more to people than the object above them.
///
/// To be decided from live reads in the order `TrainJob`, `JobSet`, Jobs, pods: a list of pods
/// alone is not enough, since a controller that has not seen the suspension can still make one.
pub fn remainder(trainjob: &TrainJob, owned: &Owned) -> Option<Remainder> {
    let above = (!trainjob.is_suspended()).then_some(Remainder::TrainJob);
    with_pods(above.or_else(|| unsettled(owned)), owned)
}

/// As [`remainder`], below a `TrainJob` whose own suspension does not matter, such as one that is
/// being deleted.
pub fn remainder_below(owned: &Owned) -> Option<Remainder> {
    with_pods(unsettled(owned), owned)
}

fn with_pods(above: Option<Remainder>, owned: &Owned) -> Option<Remainder> {
    let pods = owned::live_pods(&owned.pods);
    if pods.is_empty() { above } else { Some(Remainder::Pods(pods)) }
}

fn unsettled(owned: &Owned) -> Option<Remainder> {
    if owned.jobset.as_ref().is_some_and(|jobset| !jobset.is_suspended() && !ended(jobset)) {
        return Some(Remainder::JobSet);
    }
    owned
        .jobs
        .iter()
        .find_map(|job| may_run(job).map(|why| Remainder::Job { name: job.name_any(), why }))
}

/// A finished `JobSet` starts nothing any more, and takes no suspension.
fn ended(jobset: &JobSet) -> bool {
    use dispatch_contract::resources::Conditions;
    let conditions = jobset.status.as_ref().map(|status| status.conditions.as_slice());
    conditions.is_some_and(|all| all.is_true("Completed") || all.is_true("Failed"))
}

/// Why a Job may still have or make pods; `None` when it is finished, or suspended with nothing
/// active or terminating.
fn may_run(job: &Job) -> Option<&'static str> {
    let conditions =
        job.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let is = |type_: &str| {
        conditions.iter().any(|c: &JobCondition| c.type_ == type_ && c.status == "True")
    };
    let count = |value: Option<i32>| value.unwrap_or_default();
    let (active, terminating) = job
        .status
        .as_ref()
        .map_or((0, 0), |status| (count(status.active), count(status.terminating)));
    if is("Complete") || is("Failed") {
        return None;
    }
    if job.spec.as_ref().and_then(|spec| spec.suspend) != Some(true) {
        return Some("it is not suspended");
    }
    if !is("Suspended") {
        return Some("its controller has not acted on the suspension yet");
    }
    match (active, terminating) {
        (0, 0) => None,
        (0, _) => Some("it has terminating pods"),
        _ => Some("it has active pods"),
    }
}

impl fmt::Display for Remainder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TrainJob => f.write_str("the TrainJob is not suspended"),
            Self::JobSet => f.write_str("the JobSet is not suspended"),
            Self::Job { name, why } => write!(f, "the Job {name}: {why}"),
            Self::Pods(pods) => write_pods(f, pods),
        }
    }
}

/// Names at most [`PODS_NAMED`] pods, and says how many more there are: Kueue takes no message of
/// more than 32,768 characters.
fn write_pods(f: &mut fmt::Formatter<'_>, pods: &[PodOfObject]) -> fmt::Result {
    f.write_str(if pods.len() == 1 { "the pod " } else { "the pods " })?;
    for (index, pod) in pods.iter().take(PODS_NAMED).enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        let state = if pod.terminating { "Terminating" } else { pod.phase.as_str() };
        write!(f, "{separator}{} ({state})", pod.name)?;
    }
    match pods.len().saturating_sub(PODS_NAMED) {
        0 => Ok(()),
        more => write!(f, " and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn trainjob(suspend: bool) -> TrainJob {
        serde_json::from_value(json!({"metadata": {"name": "t"}, "spec": {"suspend": suspend}}))
            .unwrap()
    }

    fn jobset(suspend: bool) -> Option<JobSet> {
        serde_json::from_value(json!({"metadata": {"name": "t"}, "spec": {"suspend": suspend}}))
            .unwrap()
    }

    fn job(suspend: bool, conditions: &[&str], active: i32, terminating: i32) -> Job {
        let conditions: Vec<_> =
            conditions.iter().map(|type_| json!({"type": type_, "status": "True"})).collect();
        serde_json::from_value(json!({
            "metadata": {"name": "t-node-0"},
            "spec": {"suspend": suspend, "template": {}},
            "status": {"conditions": conditions, "active": active, "terminating": terminating},
        }))
        .unwrap()
    }

    fn pod(phase: &str, terminating: bool) -> Pod {
        let deletion = terminating.then_some("2026-01-01T00:00:00Z");
        serde_json::from_value(json!({
            "metadata": {"name": "t-node-0-0-x", "deletionTimestamp": deletion},
            "status": {"phase": phase},
        }))
        .unwrap()
    }

    const SUSPENDED: &[&str] = &["Suspended"];

    #[rstest]
    #[case::nothing_made_yet(Owned::default(), None)]
    #[case::all_at_rest(
        Owned { jobset: jobset(true), jobs: vec![job(true, SUSPENDED, 0, 0)], pods: vec![] }, None)]
    #[case::jobset_not_suspended(
        Owned { jobset: jobset(false), ..Owned::default() }, Some("the JobSet is not suspended"))]
    #[case::job_not_suspended(
        Owned { jobset: jobset(true), jobs: vec![job(false, &[], 0, 0)], pods: vec![] },
        Some("the Job t-node-0: it is not suspended"))]
    #[case::job_controller_behind(
        Owned { jobset: jobset(true), jobs: vec![job(true, &[], 0, 0)], pods: vec![] },
        Some("the Job t-node-0: its controller has not acted on the suspension yet"))]
    #[case::active(
        Owned { jobset: jobset(true), jobs: vec![job(true, SUSPENDED, 1, 0)], pods: vec![] },
        Some("the Job t-node-0: it has active pods"))]
    #[case::terminating(
        Owned { jobset: jobset(true), jobs: vec![job(true, SUSPENDED, 0, 1)], pods: vec![] },
        Some("the Job t-node-0: it has terminating pods"))]
    #[case::finished_job_of_an_initializer(
        Owned { jobset: jobset(true), jobs: vec![job(false, &["Complete"], 0, 0)], pods: vec![] },
        None)]
    #[case::failed_job(
        Owned { jobset: jobset(true), jobs: vec![job(false, &["Failed"], 0, 0)], pods: vec![] },
        None)]
    #[case::terminating_pod(
        Owned {
            jobset: jobset(true),
            jobs: vec![job(true, SUSPENDED, 0, 1)],
            pods: vec![pod("Running", true)],
        },
        Some("the pod t-node-0-0-x (Terminating)"))]
    #[case::unscheduled_pod(
        Owned { pods: vec![pod("Pending", false)], ..Owned::default() },
        Some("the pod t-node-0-0-x (Pending)"))]
    #[case::pod_of_a_lost_node(
        Owned { pods: vec![pod("Unknown", false)], ..Owned::default() },
        Some("the pod t-node-0-0-x (Unknown)"))]
    #[case::pods_that_ended(
        Owned { pods: vec![pod("Succeeded", false), pod("Failed", true)], ..Owned::default() },
        None)]
    fn what_may_still_run_is_named(#[case] owned: Owned, #[case] expected: Option<&str>) {
        let found = remainder(&trainjob(true), &owned).map(|found| found.to_string());
        assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn a_trainjob_that_is_not_suspended_may_run_even_without_pods() {
        assert_eq!(remainder(&trainjob(false), &Owned::default()), Some(Remainder::TrainJob));
        let owned = Owned { pods: vec![pod("Running", false)], ..Owned::default() };
        assert!(matches!(remainder(&trainjob(false), &owned), Some(Remainder::Pods(_))));
    }

    #[test]
    fn at_most_ten_pods_are_named_and_the_others_counted() {
        let pods: Vec<_> = (0..12)
            .map(|index| {
                let mut pod = pod("Running", true);
                pod.metadata.name = Some(format!("p{index:02}"));
                pod
            })
            .collect();
        let owned = Owned { pods, ..Owned::default() };
        let text = remainder(&trainjob(true), &owned).unwrap().to_string();
        assert!(text.starts_with("the pods p00 (Terminating), p01"), "{text}");
        assert!(text.ends_with("p09 (Terminating) and 2 more"), "{text}");
    }
}
