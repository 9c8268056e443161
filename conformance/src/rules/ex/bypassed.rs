//! EX-04: executions past both gates are reported.
//!
//! # What it says
//! `Status` lists a violation when pods of more than one JobSet UID, or of more than one resume, carry
//! one A.
//!
//! # Why it matters
//! An outside toggle of suspend, or a JobSet that is deleted and made again, starts an execution that
//! nobody raised for. It cannot be prevented, and whoever relies on A has to learn of it.
//!
//! # How it is judged
//! By the pods that were there from the call to its answer. Of two resumes of one JobSet, a pod of the
//! first has to be three seconds older than the second: times of pods are in whole seconds, and come from
//! several clocks. And the Job has to tell of the second: its controller makes the pods first, and writes
//! when it started them afterwards. What is reported where nothing ran twice is an alarm that nobody
//! believes the next time.
//!
//! # A history that breaks it
//! The JobSet is deleted and made again, pods of both carry A=1, and `Status` lists nothing.

use std::collections::BTreeMap;

use dispatch_contract::names;
use dispatch_contract::resources::JobSet;
use jiff::SignedDuration;
use k8s_openapi::api::batch::v1::Job;
use serde_json::Value;

use super::identity::carried;
use crate::history::{Kind, Trail, Version};
use crate::rules::ca::status::answers;
use crate::rules::case::{Case, Family};
use crate::rules::{Judge, Verdict};

/// By how much a pod has to be older than a resume to be certainly of an earlier one.
const OLDER: SignedDuration = SignedDuration::from_secs(3);

pub(in crate::rules) const EX_04: Judge = Judge {
    rule: "EX-04",
    reads: &[Kind::TrainJob, Kind::Workload, Kind::Pod, Kind::Job, Kind::JobSet],
    brings_about: &[],
    decide: judge,
    #[cfg(test)]
    breaking: tests::not_reported,
};

fn judge(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    for family in &case.objects {
        for (call, answer, orders) in answers(case, family) {
            let reported = answer.violations.iter().any(|violation| violation.rule == "EX-04");
            let Some((what, pods)) = shared(case, family, orders) else {
                if reported && ran_once_at_most(family, orders.1) {
                    let because = format!(
                        "Status of {} reported two executions under one A, and there had been one at \
                         most",
                        family.trainjob.name
                    );
                    return Verdict::fail(because, call.events());
                }
                continue;
            };
            seen = true;
            if !reported {
                let because =
                    format!("{what}, and Status of {} did not report it", family.trainjob.name);
                let pods = pods.into_iter().filter_map(Trail::first).map(|version| version.seq);
                return Verdict::fail(because, call.events().chain(pods));
            }
        }
    }
    Verdict::pass_if_seen(seen, "Status of an object with two executions under one A")
}

/// Two pods of two executions that carry one A, both there throughout.
fn shared<'a>(
    case: &Case<'_>,
    family: &Family<'a>,
    (from, to): (u64, u64),
) -> Option<(String, [&'a Trail; 2])> {
    let there = |pod: &&&Trail| pod.at(from).is_some() && pod.at(to).is_some();
    let mut by_number: BTreeMap<&str, Vec<&Trail>> = BTreeMap::new();
    for pod in family.pods.iter().filter(there) {
        if let Some(a) = carried(pod) {
            by_number.entry(a).or_default().push(pod);
        }
    }
    by_number.into_iter().find_map(|(a, pods)| {
        let of = |pod: &Trail| jobset_of(case, family, pod);
        let (first, rest) = pods.split_first()?;
        let owner = of(first)?;
        if let Some(other) = rest.iter().find(|pod| of(pod).is_some_and(|it| it != owner)) {
            let what =
                format!("pods {} and {} of two JobSets carried A={a}", first.name, other.name);
            return Some((what, [*first, *other]));
        }
        let later =
            rest.iter().find(|pod| was_resumed_between(family, owner, (first, pod), from))?;
        let what = format!("pods {} and {} of two resumes carried A={a}", first.name, later.name);
        Some((what, [*first, *later]))
    })
}

/// The UID of the `JobSet` that a pod belongs to.
fn jobset_of<'c>(case: &'c Case<'_>, family: &Family<'_>, pod: &Trail) -> Option<&'c str> {
    let raw = |trail: &Trail| trail.first().and_then(|version| case.history.raw(version));
    let metadata = &raw(pod)?["metadata"];
    if let Some(uid) = metadata["labels"][names::JOBSET_UID].as_str() {
        return Some(uid);
    }
    let owners = |metadata: &'c Value| {
        let owners = metadata["ownerReferences"].as_array().into_iter().flatten();
        owners.filter_map(|owner| owner["uid"].as_str())
    };
    let mut jobs = owners(metadata).filter_map(|uid| family.jobs.iter().find(|job| job.uid == uid));
    owners(&raw(jobs.next()?)?["metadata"]).next()
}

/// Whether a `JobSet` was suspended and resumed after one pod came and before another, and a Job told
/// of it until then.
fn was_resumed_between(
    family: &Family<'_>,
    uid: &str,
    (first, later): (&Trail, &Trail),
    until: u64,
) -> bool {
    let Some(jobset) = family.jobsets.iter().find(|jobset| jobset.uid == uid) else { return false };
    let suspended = |version: &Version| version.jobset().is_some_and(JobSet::is_suspended);
    let between = jobset.between(first.created(), later.created());
    let Some(born) = first.first() else { return false };
    let mut after = between.iter().skip_while(|version| !suspended(version));
    let resumed = after.find(|version| !suspended(version) && born.at + OLDER <= version.at);
    let Some(resumed) = resumed else { return false };
    let now = family.jobs.iter().filter_map(|job| job.at(until));
    now.filter(|version| version.order > resumed.order)
        .any(|version| version.job().is_some_and(says_when_it_started))
}

fn says_when_it_started(job: &Job) -> bool {
    let suspended = job.spec.as_ref().and_then(|spec| spec.suspend).unwrap_or_default();
    !suspended && job.status.as_ref().is_some_and(|status| status.start_time.is_some())
}

/// Whether there was one `JobSet`, one Workload, and one resume at most.
fn ran_once_at_most(family: &Family<'_>, until: u64) -> bool {
    let one = |trails: &[&Trail]| trails.iter().filter(|it| it.created() <= until).count() <= 1;
    let suspended = |version: &Version| version.jobset().is_some_and(JobSet::is_suspended);
    let changes = family.jobsets.iter().flat_map(|jobset| jobset.changes());
    let resumes = changes
        .filter(|(before, after)| after.order <= until && suspended(before) && !suspended(after));
    let executions = family.executions.iter().filter(|it| it.start.order <= until);
    one(&family.jobsets)
        && one(&family.workloads)
        && resumes.count() <= 1
        && executions.count() <= 1
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use crate::history::told::{NAME, Told};
    use crate::history::{History, Kind, Verb};
    use crate::rules::tests::assert_verdict;

    /// The `JobSet` is made again while a pod of the first one is there, and another pod comes.
    fn made_again(a: &str) -> Told {
        let mut told = Told::kueue();
        told.runs().delete(Kind::JobSet, NAME).create(
            Kind::Job,
            json!({"metadata": {"name": "again", "namespace": "ns", "uid": "uid-again",
                "ownerReferences": [{"kind": "JobSet", "name": NAME, "uid": "uid-jobset-2",
                    "controller": true}], "labels": {"jobset.sigs.k8s.io/jobset-name": NAME}}}),
        );
        told.create(
            Kind::Pod,
            json!({"metadata": {"name": "second", "namespace": "ns", "uid": "uid-second",
                "annotations": {"dispatch.phpboyscout.uk/admission": a},
                "labels": {"jobset.sigs.k8s.io/jobset-name": NAME,
                    "jobset.sigs.k8s.io/jobset-uid": "uid-jobset-2"}}}),
        );
        told
    }

    /// Somebody suspends and resumes it, and the first pod lingers.
    fn toggled(seconds: i64) -> Told {
        let mut told = Told::kueue();
        told.runs().seconds(seconds).suspends().pod_terminates("pod-1").resumes().pod("pod-2", "1");
        told
    }

    /// The Job controller writes when it started the pods of the last resume.
    fn tells_of_it(mut told: Told) -> Told {
        told.change(Kind::Job, "node", |it| {
            it["status"]["startTime"] = json!("2026-01-01T00:00:05Z");
        });
        told
    }

    fn says(mut told: Told, reports: bool) -> History {
        let violations =
            if reports { json!([{"rule": "EX-04", "message": "m"}]) } else { json!([]) };
        let state = json!({"running": {"pods": []}});
        let answer = json!({"state": state, "violations": violations});
        told.calls(Verb::Status).answers(answer).history()
    }

    pub(super) fn not_reported() -> History {
        says(made_again("1"), false)
    }

    #[rstest]
    #[case::of_two_jobsets(says(made_again("1"), true), "pass")]
    #[case::of_two_resumes(says(tells_of_it(toggled(5)), true), "pass")]
    #[case::with_a_number_each(says(made_again("2"), false), "n/a")]
    #[case::too_close_to_tell(says(toggled(1), false), "n/a")]
    #[case::one_execution(
        says(Told::kueue().runs().pod("pod-2", "1").clone(), false), "n/a")]
    #[case::the_first_pod_is_gone(says(toggled(5).pod_goes("pod-1").clone(), false), "n/a")]
    #[case::not_reported(not_reported(), "of two JobSets carried A=1, and Status of")]
    #[case::the_job_does_not_tell_of_it_yet(says(toggled(5), false), "n/a")]
    #[case::reported_and_never_so(
        says(Told::kueue().runs().clone(), true), "and there had been one at most")]
    #[case::of_two_resumes_and_not_reported(
        says(tells_of_it(toggled(5)), false),
        "pods pod-1 and pod-2 of two resumes carried A=1"
    )]
    fn what_passed_both_gates_is_reported(#[case] history: History, #[case] expected: &str) {
        assert_verdict("EX-04", &history, expected);
    }
}
