//! RG-17: Trainer has taken A over before Ready.
//!
//! # What it says
//! Between raise and Ready a live read shows the `JobSet` existing, suspended, owned by this
//! `TrainJob`'s UID, with the raised A in the pod template of every replicated job.
//!
//! # Why it matters
//! Trainer's write of the `JobSet` is forced and carries no version. One that was decided before
//! the raise can land after the resume, and Trainer never corrects it: execution 2 runs with A=1.
//!
//! # A history that breaks it
//! A is raised to 2 and the check becomes Ready, while the `JobSet` still carries 1.

use dispatch_contract::AdmissionCount;
use dispatch_contract::names;

use crate::history::{Kind, Version};
use crate::rules::case::{Case, Family, Raise, Ready};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const RG_17: Judge = Judge {
    rule: "RG-17",
    reads: &[Kind::Workload, Kind::TrainJob, Kind::JobSet],
    brings_about: &["EX-01", "EX-03", "EX-05"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::too_early,
};

fn judge(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    for family in &case.objects {
        for ready in &family.readies {
            let Some(raise) = family.raise_for(ready) else { continue };
            seen = true;
            if !was_taken_over(family, raise, ready) {
                let because = format!(
                    "check {} of Workload {} became Ready, and at no time since the raise to {} \
                     did a suspended JobSet of the TrainJob's carry that A for all its jobs",
                    ready.check, ready.workload.name, raise.to
                );
                return Verdict::fail(because, [raise.after.seq, ready.version.seq]);
            }
        }
    }
    Verdict::pass_if_seen(seen, "Ready after a raise")
}

fn was_taken_over(family: &Family<'_>, raise: &Raise<'_>, ready: &Ready<'_>) -> bool {
    let (from, to) = (raise.after.order, ready.version.order);
    family.jobsets.iter().any(|jobset| {
        let later = jobset.between(from, to);
        jobset.at(from).into_iter().chain(later).any(|version| carries(version, raise.to))
    })
}

/// Whether this is a suspended `JobSet` that carries A in the pod template of every replicated job.
pub(in crate::rules) fn carries(version: &Version, a: AdmissionCount) -> bool {
    let a = a.to_string();
    !version.is_deletion()
        && version.jobset().is_some_and(|jobset| {
            let jobs = &jobset.spec.replicated_jobs;
            jobset.is_suspended()
                && !jobs.is_empty()
                && jobs.iter().all(|job| job.pod_annotation(names::POD_ADMISSION) == Some(&a))
        })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::history::History;
    use crate::history::told::{NAME, Told};
    use crate::rules::tests::assert_verdict;

    pub(super) fn too_early() -> History {
        Told::kueue().waits().raises(1).sets("Ready").takes_over(1).history()
    }

    #[rstest]
    #[case::by_the_rules(Told::kueue().runs().history(), "pass")]
    #[case::nothing_is_ready(Told::kueue().waits().raises(1).history(), "n/a")]
    #[case::too_early(too_early(), "fail: check dispatch-check of Workload workload became Ready")]
    #[case::another_number(
        Told::kueue().waits().raises(1).takes_over(2).sets("Ready").history(), "fail")]
    #[case::not_suspended(
        Told::kueue().waits().raises(1)
            .change(Kind::JobSet, NAME, |it| it["spec"]["suspend"] = json!(false))
            .takes_over(1).sets("Ready").history(),
        "fail")]
    #[case::no_jobset(
        Told::kueue().waits().raises(1).delete(Kind::JobSet, NAME).sets("Ready").history(), "fail")]
    #[case::the_number_of_an_earlier_raise(
        Told::kueue().waits().raises(1).takes_over(1).raises(2).sets("Ready").history(), "fail")]
    fn trainer_has_taken_a_over(#[case] history: History, #[case] expected: &str) {
        assert_verdict("RG-17", &history, expected);
    }
}
