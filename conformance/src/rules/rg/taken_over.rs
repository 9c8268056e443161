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
//! # How it is judged
//! By what the `JobSet` was between raise and Ready; and where the requests of the replica that wrote
//! Ready are recorded, by what it had been told: the `JobSet` with the raised A, and then all Jobs and
//! pods as they were at that version of the `JobSet` or later, by a list or by a watch that had come so
//! far. Where several replicas raise, the raise of the one that wrote Ready counts, or a later one. In
//! plain mode, where `Release` raises, nothing is judged.
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
            let raises = family.raised_for(ready);
            if !raises.iter().any(|raise| was_taken_over(family, raise, ready)) {
                let because = format!(
                    "check {} of Workload {} became Ready, and at no time since the raise to {} \
                     did a suspended JobSet of the TrainJob's carry that A for all its jobs",
                    ready.check, ready.workload.name, raise.to
                );
                return Verdict::fail(because, [raise.after.seq, ready.version.seq]);
            }
            if let Some(why) = not_read(case, family, ready) {
                let because = format!(
                    "check {} of Workload {} was set Ready by a replica {why}",
                    ready.check, ready.workload.name
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

/// What the replica that wrote Ready had not been told.
fn not_read(case: &Case<'_>, family: &Family<'_>, ready: &Ready<'_>) -> Option<String> {
    let by = ready.by?;
    let write = case.requests.that_made(Kind::Workload, ready.version.order)?;
    let raises = family.raised_for(ready);
    let shows = |version: &&Version| raises.iter().any(|raise| carries(version, raise.to));
    let versions = family.jobsets.iter().flat_map(|jobset| {
        jobset.versions().iter().filter(shows).map(move |version| (*jobset, version))
    });
    let told = versions.filter(|(jobset, version)| {
        let first = case.requests.first_delivered(by, jobset, version.order);
        first.is_some_and(|first| first < write.seq)
    });
    let order = told.map(|(_, version)| version.order).min();
    let Some(order) = order else {
        return Some("that had not read the JobSet with the raised A".to_owned());
    };
    let missing = [Kind::Job, Kind::Pod]
        .into_iter()
        .find(|kind| !case.requests.knew_all_at(by, *kind, order, write.seq))?;
    Some(format!("that had not read the {missing}s after the JobSet had taken A over"))
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
    use crate::history::told::{CONTROLLER, NAME, SECOND, Told};
    use crate::rules::tests::assert_verdict;

    pub(super) fn too_early() -> History {
        Told::kueue().waits().raises(1).sets("Ready").takes_over(1).history()
    }

    /// Ready after these reads, by a replica whose requests are recorded.
    fn reads(reads: impl FnOnce(&mut Told)) -> History {
        let mut told = Told::kueue();
        told.watches(CONTROLLER, Kind::Pod).waits().looks(CONTROLLER);
        told.raises_by(CONTROLLER, 1).takes_over(1);
        reads(&mut told);
        told.sets_by(CONTROLLER, "Ready").history()
    }

    /// Another replica raises once more, while this one is about to write Ready.
    fn raised_by_another() -> History {
        let mut told = Told::kueue();
        told.waits().looks(CONTROLLER).raises_by(CONTROLLER, 1).takes_over(1);
        told.looks_below(CONTROLLER).raises_by(SECOND, 2).sets_by(CONTROLLER, "Ready").history()
    }

    #[rstest]
    #[case::by_requests(reads(|it| { it.looks_below(CONTROLLER); }), "pass")]
    #[case::by_a_watch(
        reads(|it| {
            it.reads(CONTROLLER, Kind::JobSet, NAME).lists(CONTROLLER, Kind::Job);
            it.pod("stranger", "7").pod_goes("stranger").pod("other", "7").pod_goes("other");
            it.pod("last", "7").delivered(CONTROLLER, Kind::Pod, "last").pod_ends("last", "Failed");
        }),
        "pass")]
    #[case::raised_by_another(raised_by_another(), "pass")]
    #[case::the_jobset_is_not_read(reads(|_| {}), "that had not read the JobSet")]
    #[case::jobs_are_not_read(
        reads(|it| { it.reads(CONTROLLER, Kind::JobSet, NAME).lists(CONTROLLER, Kind::Pod); }),
        "that had not read the Jobs after")]
    #[case::pods_are_not_read(
        reads(|it| { it.reads(CONTROLLER, Kind::JobSet, NAME).lists(CONTROLLER, Kind::Job); }),
        "that had not read the Pods after")]
    #[case::pods_are_read_by_another(
        reads(|it| {
            it.reads(CONTROLLER, Kind::JobSet, NAME).lists(CONTROLLER, Kind::Job);
            it.lists(SECOND, Kind::Pod);
        }),
        "that had not read the Pods after")]
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
