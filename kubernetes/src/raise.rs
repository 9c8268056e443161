//! The raise of A: which number comes next, and how it is written (RG-05, RG-13).

use std::collections::BTreeSet;

use dispatch_contract::resources::{JobSet, ReplicatedJob, TrainJob};
use dispatch_contract::{AdmissionCount, names};
use kube::ResourceExt;
use serde_json::{Value, json};
use thiserror::Error;

use crate::owned::{self, Owned};

/// The number that the next execution gets, and what was found beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    /// The next A.
    pub to: AdmissionCount,
    /// Values that could not be read, each with its place; ignored, and to be reported.
    pub unreadable: Vec<String>,
}

/// There is no next number.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoNext {
    /// No place has a readable count.
    #[error(
        "no readable admission count is left{}; restore the annotation {} on the TrainJob to at \
         least the highest number that any of its pods ever had",
        list(.unreadable), names::ADMISSION_COUNT
    )]
    NoneReadable {
        /// Values that could not be read, each with its place.
        unreadable: Vec<String>,
    },
    /// The highest count is the greatest there is.
    #[error("the admission count {highest} is the greatest there is; the object cannot run again")]
    TooHigh {
        /// The highest count that was read.
        highest: AdmissionCount,
    },
}

fn list(unreadable: &[String]) -> String {
    if unreadable.is_empty() { String::new() } else { format!(" ({})", unreadable.join(", ")) }
}

/// The next A: one more than the highest of the count, dispatch's runtime patch, and the pods owned
/// through to the object. So a count that somebody removed or lowered is restored, never followed
/// down (RG-13).
pub fn next(trainjob: &TrainJob, owned: &Owned) -> Result<Next, NoNext> {
    let mut highest: Option<AdmissionCount> = None;
    let mut unreadable = Vec::new();
    let mut see = |place: String, text: &str| match text.parse::<AdmissionCount>() {
        Ok(count) => highest = highest.max(Some(count)),
        Err(error) => unreadable.push(format!("{place}: `{}`", error.0)),
    };
    if let Some(text) = trainjob.annotation(names::ADMISSION_COUNT) {
        see("the TrainJob's annotation".to_owned(), text);
    }
    for (job, text) in trainjob.patched_admissions() {
        if let Some(text) = text {
            see(format!("the runtime patch for {job}"), text);
        }
    }
    for pod in owned.owned_through(trainjob) {
        if let Some(text) = owned::admission(pod) {
            see(format!("the pod {}", pod.name_any()), text);
        }
    }
    let highest = highest.ok_or(NoNext::NoneReadable { unreadable: unreadable.clone() })?;
    let to = highest.next().ok_or(NoNext::TooHigh { highest })?;
    Ok(Next { to, unreadable })
}

/// The replicated jobs whose pods are to carry A: those of the `JobSet` where there is one, and
/// else those that Start patched.
pub fn replicated_jobs(trainjob: &TrainJob, jobset: Option<&JobSet>) -> BTreeSet<String> {
    match jobset {
        Some(jobset) => jobset.spec.replicated_jobs.iter().map(|job| job.name.clone()).collect(),
        None => trainjob.patched_admissions().into_keys().map(str::to_owned).collect(),
    }
}

/// What the last raise was for (EX-04).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RaisedFor {
    /// The Workload's UID; empty in plain mode.
    pub workload_uid: String,
    /// The `JobSet`'s UID; empty where there is none yet.
    pub jobset_uid: String,
}

impl RaisedFor {
    /// The value of the annotation [`names::RAISED_FOR`].
    pub fn to_annotation(&self) -> String {
        format!("{}/{}", self.workload_uid, self.jobset_uid)
    }
}

/// The body of the raise: a server-side apply, by [`names::FIELD_MANAGER_RAISE`], with force, of
/// the count and of every pod annotation in one write, with the version of the read.
///
/// A merge patch would replace the whole list of runtime patches, and Kueue's entry with it; the
/// apply touches dispatch's entry alone (RG-05).
pub fn apply_body(
    trainjob: &TrainJob,
    jobs: &BTreeSet<String>,
    to: AdmissionCount,
    raised_for: &RaisedFor,
) -> Value {
    let text = to.to_string();
    let jobs: Vec<Value> = jobs
        .iter()
        .map(|name| {
            json!({
                "name": name,
                "template": {"spec": {"template": {"metadata": {
                    "annotations": {names::POD_ADMISSION: text},
                }}}},
            })
        })
        .collect();
    json!({
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {
            "name": trainjob.metadata.name,
            "namespace": trainjob.metadata.namespace,
            "uid": trainjob.metadata.uid,
            "resourceVersion": trainjob.metadata.resource_version,
            "annotations": {
                names::ADMISSION_COUNT: text,
                names::RAISED_FOR: raised_for.to_annotation(),
            },
        },
        "spec": {
            "runtimePatches": [{
                "manager": names::RUNTIME_PATCH_MANAGER,
                "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}},
            }],
        },
    })
}

/// The answer to a raise, or a later version, does not show what was written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotRaised {
    /// The count is another one.
    #[error("the admission count is {found}, not {expected}")]
    Count {
        /// What was written.
        expected: AdmissionCount,
        /// What the object has.
        found: String,
    },
    /// A pod annotation is another one.
    #[error("the pods of {job} are to carry {found}, not {expected}")]
    PodAnnotation {
        /// The replicated job.
        job: String,
        /// What was written.
        expected: AdmissionCount,
        /// What the object has.
        found: String,
    },
}

/// Checks that the answer to a raise carries it whole: a webhook may have changed the write.
pub fn check_answer(
    answer: &TrainJob,
    jobs: &BTreeSet<String>,
    to: AdmissionCount,
) -> Result<(), NotRaised> {
    if answer.admission_count() != Some(Ok(to)) {
        let found = answer.annotation(names::ADMISSION_COUNT).unwrap_or("absent").to_owned();
        return Err(NotRaised::Count { expected: to, found });
    }
    let carried = answer.patched_admissions();
    let expected = to.to_string();
    for job in jobs {
        let found = carried.get(job.as_str()).copied().flatten();
        if found != Some(expected.as_str()) {
            let found = found.unwrap_or("nothing").to_owned();
            return Err(NotRaised::PodAnnotation { job: job.clone(), expected: to, found });
        }
    }
    Ok(())
}

/// What keeps a `JobSet` from starting the execution of number A (RG-17).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotTakenOver {
    /// Trainer has not made it.
    #[error("Trainer has not made the JobSet yet")]
    NoJobSet,
    /// It belongs to another object of the same name.
    #[error("the JobSet belongs to another owner, of UID {found}")]
    OtherOwner {
        /// The UID of the owner that it has.
        found: String,
    },
    /// It is not suspended.
    #[error("the JobSet is not suspended")]
    NotSuspended,
    /// It has no replicated job at all.
    #[error("the JobSet has no replicated jobs")]
    Empty,
    /// The pods of a replicated job would carry another number.
    #[error("Trainer has not taken A={expected} over: pods of {job} would carry {found}")]
    OtherNumber {
        /// The replicated job.
        job: String,
        /// The A that was raised.
        expected: AdmissionCount,
        /// What the pod template has.
        found: String,
    },
}

/// Checks that the `JobSet` has taken A over: it exists, is suspended, is owned by this `TrainJob`'s
/// UID, and carries A in the pod template of every replicated job (RG-17).
///
/// Trainer's apply is forced and carries no version; one that was decided before the raise can
/// land after it. A suspended `JobSet` that carries A shows that a later one has passed.
pub fn check_taken_over(
    trainjob: &TrainJob,
    jobset: Option<&JobSet>,
    a: AdmissionCount,
) -> Result<(), NotTakenOver> {
    let jobset = jobset.ok_or(NotTakenOver::NoJobSet)?;
    if jobset.controller_uid() != trainjob.metadata.uid.as_deref() {
        let found = jobset.controller_uid().unwrap_or("none").to_owned();
        return Err(NotTakenOver::OtherOwner { found });
    }
    if !jobset.is_suspended() {
        return Err(NotTakenOver::NotSuspended);
    }
    if jobset.spec.replicated_jobs.is_empty() {
        return Err(NotTakenOver::Empty);
    }
    let expected = a.to_string();
    let behind =
        |job: &&ReplicatedJob| job.pod_annotation(names::POD_ADMISSION) != Some(expected.as_str());
    match jobset.spec.replicated_jobs.iter().find(behind) {
        None => Ok(()),
        Some(job) => Err(NotTakenOver::OtherNumber {
            job: job.name.clone(),
            expected: a,
            found: job.pod_annotation(names::POD_ADMISSION).unwrap_or("nothing").to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn replicated(values: &[(&str, &str)]) -> Vec<Value> {
        values
            .iter()
            .map(|(name, value)| {
                json!({"name": name, "template": {"spec": {"template": {"metadata": {
                    "annotations": {names::POD_ADMISSION: value}}}}}})
            })
            .collect()
    }

    fn trainjob(count: Option<&str>, patch: &[(&str, &str)]) -> TrainJob {
        let mut annotations = serde_json::Map::new();
        if let Some(count) = count {
            annotations.insert(names::ADMISSION_COUNT.to_owned(), json!(count));
        }
        serde_json::from_value(json!({
            "metadata": {"name": "t", "namespace": "n", "uid": "u", "resourceVersion": "7",
                "annotations": annotations},
            "spec": {"suspend": true, "runtimePatches": [
                {"manager": names::KUEUE_RUNTIME_PATCH_MANAGER},
                {"manager": names::RUNTIME_PATCH_MANAGER, "trainingRuntimeSpec":
                    {"template": {"spec": {"replicatedJobs": replicated(patch)}}}},
            ]},
        }))
        .unwrap()
    }

    fn jobset(suspend: bool, owner: &str, values: &[(&str, &str)]) -> JobSet {
        serde_json::from_value(json!({
            "metadata": {"name": "t", "uid": "js", "ownerReferences": [{"apiVersion": "x",
                "kind": "TrainJob", "name": "t", "uid": owner, "controller": true}]},
            "spec": {"suspend": suspend, "replicatedJobs": replicated(values)},
        }))
        .unwrap()
    }

    /// As [`with_pod`], for a pod that names the Job as an owner that does not control it.
    fn with_uncontrolled_pod(a: &str) -> Owned {
        let mut owned = with_pod("u", "job", a);
        for owner in owned.pods[0].metadata.owner_references.iter_mut().flatten() {
            owner.controller = None;
        }
        owned
    }

    fn with_pod(owner_of_jobset: &str, owner_of_pod: &str, a: &str) -> Owned {
        let owner = |kind: &str, uid: &str| {
            json!([{"apiVersion": "x", "kind": kind, "name": "o",
            "uid": uid, "controller": true}])
        };
        Owned {
            jobset: Some(jobset(true, owner_of_jobset, &[("node", "0")])),
            jobs: vec![
                serde_json::from_value(json!({"metadata": {"name": "j", "uid": "job",
                    "ownerReferences": owner("JobSet", "js")}}))
                .unwrap(),
            ],
            pods: vec![
                serde_json::from_value(json!({"metadata": {"name": "p", "uid": "pod",
                    "annotations": {names::POD_ADMISSION: a},
                    "ownerReferences": owner("Job", owner_of_pod)}}))
                .unwrap(),
            ],
        }
    }

    #[rstest]
    #[case::first(trainjob(Some("0"), &[("node", "0")]), Owned::default(), 1)]
    #[case::count_lowered(trainjob(Some("1"), &[("node", "4")]), Owned::default(), 5)]
    #[case::count_removed(trainjob(None, &[("node", "4")]), Owned::default(), 5)]
    #[case::patch_lowered(trainjob(Some("4"), &[("node", "1")]), Owned::default(), 5)]
    #[case::one_job_ahead(trainjob(Some("1"), &[("a", "1"), ("b", "3")]), Owned::default(), 4)]
    #[case::a_pod_is_ahead(trainjob(Some("1"), &[("node", "1")]), with_pod("u", "job", "7"), 8)]
    #[case::a_stranger_pod_is_not_trusted(
        trainjob(Some("1"), &[("node", "1")]), with_pod("u", "other", "7"), 2)]
    #[case::a_pod_of_another_objects_jobset_is_not_trusted(
        trainjob(Some("1"), &[("node", "1")]), with_pod("another", "job", "7"), 2)]
    #[case::a_pod_without_a_controller_is_not_trusted(
        trainjob(Some("1"), &[("node", "1")]), with_uncontrolled_pod("7"), 2)]
    #[case::unreadable_values_are_ignored(
        trainjob(Some("01"), &[("node", "2")]), with_pod("u", "job", "-1"), 3)]
    fn the_next_number_follows_the_highest(
        #[case] trainjob: TrainJob,
        #[case] owned: Owned,
        #[case] to: u64,
    ) {
        assert_eq!(next(&trainjob, &owned).unwrap().to.get(), to);
    }

    #[test]
    fn unreadable_values_are_reported_with_their_place() {
        let found = next(&trainjob(Some("x"), &[("node", "2")]), &Owned::default()).unwrap();
        assert_eq!(found.unreadable, ["the TrainJob's annotation: `x`"]);
    }

    #[test]
    fn without_a_readable_number_there_is_no_next() {
        let error = next(&trainjob(Some("x"), &[]), &Owned::default()).unwrap_err();
        assert!(error.to_string().contains("the TrainJob's annotation: `x`"), "{error}");
        let error = next(&trainjob(Some("4398046511104"), &[]), &Owned::default()).unwrap_err();
        assert!(matches!(error, NoNext::TooHigh { .. }));
    }

    #[test]
    fn the_raise_carries_the_version_of_its_read_and_only_what_is_raised() {
        let object = trainjob(Some("1"), &[("node", "1")]);
        let jobs = replicated_jobs(&object, None);
        let raised_for = RaisedFor { workload_uid: "w".into(), jobset_uid: "js".into() };
        let body = apply_body(&object, &jobs, AdmissionCount::new(2).unwrap(), &raised_for);
        assert_eq!(body["metadata"]["resourceVersion"], "7");
        assert_eq!(body["metadata"]["uid"], "u");
        assert_eq!(body["metadata"]["annotations"][names::RAISED_FOR], "w/js");
        assert_eq!(body["spec"]["runtimePatches"].as_array().unwrap().len(), 1);
        let answer: TrainJob = serde_json::from_value(body).unwrap();
        assert_eq!(check_answer(&answer, &jobs, AdmissionCount::new(2).unwrap()), Ok(()));
        assert!(check_answer(&answer, &jobs, AdmissionCount::new(3).unwrap()).is_err());
    }

    #[rstest]
    #[case::absent(None, Err(NotTakenOver::NoJobSet))]
    #[case::carries_it(Some(jobset(true, "u", &[("a", "2"), ("b", "2")])), Ok(()))]
    #[case::running(Some(jobset(false, "u", &[("a", "2")])), Err(NotTakenOver::NotSuspended))]
    #[case::empty(Some(jobset(true, "u", &[])), Err(NotTakenOver::Empty))]
    #[case::of_another(
        Some(jobset(true, "v", &[("a", "2")])),
        Err(NotTakenOver::OtherOwner { found: "v".into() }))]
    #[case::one_job_behind(
        Some(jobset(true, "u", &[("a", "2"), ("b", "1")])),
        Err(NotTakenOver::OtherNumber {
            job: "b".into(), expected: AdmissionCount::new(2).unwrap(), found: "1".into() }))]
    fn a_jobset_has_taken_a_over_when_every_job_carries_it(
        #[case] jobset: Option<JobSet>,
        #[case] expected: Result<(), NotTakenOver>,
    ) {
        let object = trainjob(Some("2"), &[("a", "2")]);
        let found = check_taken_over(&object, jobset.as_ref(), AdmissionCount::new(2).unwrap());
        assert_eq!(found, expected);
    }
}
