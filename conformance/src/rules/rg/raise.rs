//! RG-05: A is raised, whole and in one write, before Ready.
//!
//! # What it says
//! The count and every pod annotation are raised in one write, and only then is the check set
//! Ready. Other managers' runtime patches survive the raise, and without Kueue's there is no Ready.
//!
//! # Why it matters
//! A count without its annotation starts pods with the old identity. A merge patch of dispatch's
//! entry alone replaces the whole list: Kueue's entry is gone, and the job never starts.
//!
//! # A history that breaks it
//! One version of the `TrainJob` has Kueue's entry and the next one, with A=1, does not.

use std::collections::BTreeMap;

use serde_json::Value;

use dispatch_contract::names;

use crate::history::{Kind, Version};
use crate::rules::case::{Case, Family, Raise, Ready};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const RG_05: Judge = Judge {
    rule: "RG-05",
    reads: &[Kind::Workload, Kind::TrainJob, Kind::JobSet],
    brings_about: &["RG-17", "EX-01", "EX-03", "EX-05"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::kueues_patch_lost,
};

fn judge(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    for family in &case.objects {
        for raise in &family.raises {
            seen = true;
            if let Err(why) = check_raise(case, family, raise) {
                let because = format!(
                    "A of {} was raised to {}, and in that write {why}",
                    family.trainjob.name, raise.to
                );
                return Verdict::fail(because, [raise.before.seq, raise.after.seq]);
            }
        }
        for ready in &family.readies {
            seen = true;
            if let Err(why) = check_ready(family, ready) {
                let because = format!(
                    "check {} of Workload {} became Ready, and {why}",
                    ready.check, ready.workload.name
                );
                return Verdict::fail(because, [ready.version.seq]);
            }
        }
    }
    Verdict::pass_if_seen(seen, "raise and no Ready")
}

fn check_raise(case: &Case<'_>, family: &Family<'_>, raise: &Raise<'_>) -> Result<(), String> {
    let patches = |version: &Version| others_patches(case, version);
    let (before, after) = (patches(raise.before), patches(raise.after));
    for (manager, patch) in &before {
        match after.get(manager) {
            None => return Err(format!("the runtime patch of {manager} was lost")),
            Some(now) if now != patch => {
                return Err(format!("the runtime patch of {manager} was changed"));
            }
            Some(_) => {}
        }
    }
    if !case.is_kueue() {
        // Open raises the count alone: the pods' annotation is there since Start (OP-06).
        return Ok(());
    }
    let Some(trainjob) = raise.after.trainjob() else { return Ok(()) };
    let carried = trainjob.patched_admissions();
    let order = raise.after.order;
    let jobset = family.jobsets.iter().find_map(|jobset| jobset.at(order));
    let jobs = jobset.and_then(Version::jobset).map(|jobset| &jobset.spec.replicated_jobs);
    let names: Vec<&str> = match jobs {
        Some(jobs) => jobs.iter().map(|job| job.name.as_str()).collect(),
        None => carried.keys().copied().collect(),
    };
    let expected = raise.to.to_string();
    match names.iter().find(|name| carried.get(**name).copied().flatten() != Some(&expected)) {
        None if names.is_empty() => Err("no pod annotation was raised".to_owned()),
        None => Ok(()),
        Some(job) => {
            let found = carried.get(job).copied().flatten().unwrap_or("nothing");
            Err(format!("pods of {job} were given A={found}"))
        }
    }
}

fn check_ready(family: &Family<'_>, ready: &Ready<'_>) -> Result<(), String> {
    if family.raise_for(ready).is_none() {
        return Err("A was not raised since the last Ready".to_owned());
    }
    let now = family.trainjob.at(ready.version.order).and_then(Version::trainjob);
    match now {
        Some(trainjob) if !trainjob.has_kueue_patch() => {
            Err("the TrainJob lacked Kueue's runtime patch".to_owned())
        }
        _ => Ok(()),
    }
}

/// The runtime patches of others, by manager, without the time that Trainer's webhook stamps.
fn others_patches(case: &Case<'_>, version: &Version) -> BTreeMap<String, Value> {
    let patches = case.history.raw(version).and_then(|it| it["spec"]["runtimePatches"].as_array());
    let of = |patch: &Value| {
        let manager = patch["manager"].as_str()?.to_owned();
        let mut patch = patch.clone();
        patch.as_object_mut()?.remove("time");
        (manager != names::RUNTIME_PATCH_MANAGER).then_some((manager, patch))
    };
    patches.into_iter().flatten().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::history::History;
    use crate::history::told::{NAME, Told, raise};
    use crate::rules::tests::assert_verdict;

    pub(super) fn kueues_patch_lost() -> History {
        Told::kueue()
            .waits()
            .trainjob(|it| {
                raise(it, 1);
                it["spec"]["runtimePatches"].as_array_mut().unwrap().remove(0);
            })
            .history()
    }

    fn kueues_patch_changed() -> History {
        Told::kueue()
            .waits()
            .trainjob(|it| {
                raise(it, 1);
                it["spec"]["runtimePatches"][0]["trainingRuntimeSpec"] = json!({});
            })
            .history()
    }

    fn the_count_alone() -> History {
        let mut told = Told::kueue();
        told.waits().trainjob(|it| {
            it["metadata"]["annotations"][names::ADMISSION_COUNT] = json!("1");
        });
        told.sets("Ready").history()
    }

    fn the_annotation_alone() -> History {
        let mut told = Told::kueue();
        told.waits().trainjob(|it| {
            raise(it, 1);
            it["metadata"]["annotations"][names::ADMISSION_COUNT] = json!("0");
        });
        told.sets("Ready").history()
    }

    fn a_job_is_forgotten() -> History {
        let mut told = Told::kueue();
        told.waits().change(Kind::JobSet, NAME, |it| {
            let jobs = it["spec"]["replicatedJobs"].as_array_mut().unwrap();
            jobs.push(json!({"name": "launcher"}));
        });
        told.raises(1).history()
    }

    #[rstest]
    #[case::by_the_rules(Told::kueue().runs().is_preempted(1).reserves().goes(2).history(), "pass")]
    #[case::raised_twice(Told::kueue().waits().raises(1).raises(2).sets("Ready").history(), "pass")]
    #[case::only_the_time_of_the_patch(
        Told::kueue().waits().trainjob(|it| {
            raise(it, 1);
            it["spec"]["runtimePatches"][0]["time"] = json!("2026-01-02T00:00:00Z");
        }).history(), "pass")]
    #[case::nothing_raised(Told::kueue().waits().history(), "n/a")]
    #[case::kueues_patch_lost(
        kueues_patch_lost(),
        "the runtime patch of kueue.x-k8s.io/manager was lost"
    )]
    #[case::kueues_patch_changed(kueues_patch_changed(), "was changed")]
    #[case::no_raise(
        Told::kueue().waits().sets("Ready").history(), "A was not raised since the last Ready")]
    #[case::no_raise_the_second_time(
        Told::kueue().runs().is_preempted(1).reserves().sets("Ready").history(),
        "A was not raised since the last Ready")]
    #[case::ready_before_the_raise(
        Told::kueue().waits().sets("Ready").raises(1).history(), "A was not raised")]
    #[case::the_count_alone(the_count_alone(), "pods of node were given A=0")]
    #[case::the_annotation_alone(the_annotation_alone(), "A was not raised")]
    #[case::a_job_is_forgotten(a_job_is_forgotten(), "pods of launcher were given A=nothing")]
    #[case::a_gap_may_hide_a_write(
        Told::kueue().waits().sets("Ready").gap(Some(Kind::TrainJob)).history(),
        "inconclusive: check dispatch-check")]
    fn a_is_raised_whole_before_ready(#[case] history: History, #[case] expected: &str) {
        assert_verdict("RG-05", &history, expected);
    }

    #[test]
    fn in_plain_mode_the_pods_have_their_number_since_start() {
        let mut told = Told::plain();
        told.create_trainjob().trainjob(|it| {
            it["metadata"]["annotations"][names::ADMISSION_COUNT] = json!("1");
        });
        assert_verdict("RG-05", &told.history(), "pass");
    }
}
