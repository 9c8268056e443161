//! RG-04: nothing of the previous execution may still run.
//!
//! # What it says
//! While anything of the previous execution may run, the check stays Pending: the `TrainJob` and
//! its `JobSet` are suspended, each Job is finished or suspended with nothing active or
//! terminating, and no pod lives. Terminating pods count.
//!
//! # Why it matters
//! Kueue takes the quota back as soon as the deletions are sent, not when the pods are gone: with
//! Ready too early, two executions of one object run at once.
//!
//! # How it is judged
//! Everything is read before the raise, and Jobs and pods again after the `JobSet` took A over
//! (RG-17). What was there before either reading and is still there at Ready was seen, or not
//! looked at. A pod that comes between the last reading and Ready cannot be seen (EX-05).
//!
//! # A history that breaks it
//! A pod of execution 1 is Terminating; A is raised to 2 and the check becomes Ready.

use std::collections::BTreeMap;

use dispatch_contract::resources::{CheckState, Conditions, Workload};
use k8s_openapi::api::batch::v1::Job;

use crate::history::{Kind, Trail, Version};
use crate::rules::case::{self, Case, Family, Ready};
use crate::rules::span::{Spans, overdue};
use crate::rules::{Judge, Verdict};

/// How many pods a message has to name at most.
const NAMED: usize = 10;

pub(in crate::rules) const RG_04: Judge = Judge {
    rule: "RG-04",
    reads: &[Kind::Workload, Kind::TrainJob, Kind::JobSet, Kind::Job, Kind::Pod],
    brings_about: &["EX-01", "EX-02", "EX-05"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::a_terminating_pod,
};

fn judge(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    for family in &case.objects {
        if let Some(broken) = unnamed(case, family) {
            return broken;
        }
        for ready in &family.readies {
            seen = true;
            let read = read_by(family, ready);
            if let Some((what, version)) = remainder(family, read, ready.version.order) {
                let because = format!(
                    "check {} of Workload {} became Ready while {what}",
                    ready.check, ready.workload.name
                );
                return Verdict::fail(because, [version.seq, ready.version.seq]);
            }
        }
    }
    Verdict::pass_if_seen(seen, "Ready on a Workload of dispatch's")
}

/// A check that waits while pods live and does not name them, for longer than the controller has.
fn unnamed(case: &Case<'_>, family: &Family<'_>) -> Option<Verdict> {
    let lacks = |workload: &&'_ Trail, check: &str| {
        let mut live: BTreeMap<&str, &str> = BTreeMap::new();
        let mut at: Option<&Workload> = None;
        let mut spans = Spans::default();
        for (trail, version) in case::merged([*workload].into_iter().chain(family.pods.clone())) {
            match trail.kind {
                Kind::Pod if trail.lives_at(version.order) => {
                    live.insert(&trail.uid, &trail.name);
                }
                Kind::Pod => {
                    live.remove(trail.uid.as_str());
                }
                _ => at = version.workload().filter(|_| !version.is_deletion()),
            }
            let waits = at.filter(|it| case::may_act(it).is_ok()).and_then(|it| it.check(check));
            let waits = waits.filter(|it| it.state == CheckState::Pending);
            let lacks = waits.is_some_and(|it| !names_enough(&it.message, &live));
            spans.tell(lacks, version.at, version.seq);
        }
        overdue(case, &spans.done())
    };
    family.workloads.iter().find_map(|workload| {
        let late = case.checks.iter().find_map(|check| lacks(workload, check))?;
        let because = format!(
            "the check of Workload {} waited while pods lived, and its message did not name them",
            workload.name
        );
        Some(Verdict::fail(because, [late.seq]))
    })
}

/// Whether a message names the pods that live, or ten of them.
fn names_enough(message: &str, live: &BTreeMap<&str, &str>) -> bool {
    live.is_empty()
        || live.values().filter(|name| message.contains(**name)).count() >= live.len().min(NAMED)
}

/// The order by which everything that is at Ready had to be seen: the readings before the raise,
/// and those after the `JobSet` took A over, come later than this.
fn read_by(family: &Family<'_>, ready: &Ready<'_>) -> u64 {
    let Some(raise) = family.raise_for(ready) else { return ready.version.order };
    let (from, to) = (raise.after.order, ready.version.order);
    let raises = family.raised_for(ready);
    let carries = |version: &Version| {
        raises.iter().any(|raise| super::taken_over::carries(version, raise.to))
    };
    let took_over = family
        .jobsets
        .iter()
        .flat_map(|jobset| jobset.between(from, to))
        .filter(|version| carries(version))
        .map(|version| version.order)
        .min();
    took_over.unwrap_or(from)
}

/// What was there by `read` and is still there at `ready`.
fn remainder<'a>(family: &Family<'a>, read: u64, ready: u64) -> Option<(String, &'a Version)> {
    let pod = family.live_pods(ready).find(|pod| pod.created() <= read);
    if let Some(pod) = pod {
        let version = pod.at(ready).or(pod.first())?;
        let terminating =
            version.pod().is_some_and(|pod| pod.metadata.deletion_timestamp.is_some());
        let how = if terminating { " is Terminating" } else { " lives" };
        return Some((format!("its pod {}{how}", pod.name), version));
    }
    let stands = |trail: &'a Trail, runs: fn(&Version) -> bool| {
        let both = [trail.at(read)?, trail.at(ready)?];
        both.iter().all(|version| runs(version)).then_some(both[1])
    };
    if let Some(version) = stands(family.trainjob, trainjob_runs) {
        return Some(("its TrainJob was not suspended".to_owned(), version));
    }
    let jobset = family.jobsets.iter().find_map(|jobset| stands(jobset, jobset_runs));
    if let Some(version) = jobset {
        return Some(("its JobSet was not suspended".to_owned(), version));
    }
    let job = family.jobs.iter().find_map(|job| Some((job, stands(job, job_runs)?)));
    job.map(|(job, version)| (format!("its Job {} may have pods", job.name), version))
}

fn trainjob_runs(version: &Version) -> bool {
    version.trainjob().is_some_and(|trainjob| !trainjob.is_suspended())
}

/// A finished `JobSet` starts nothing any more, and takes no suspension.
pub(in crate::rules) fn jobset_runs(version: &Version) -> bool {
    version.jobset().is_some_and(|jobset| {
        let conditions = jobset.status.as_ref().map(|status| status.conditions.as_slice());
        let ended = conditions.is_some_and(|it| it.is_true("Completed") || it.is_true("Failed"));
        !jobset.is_suspended() && !ended
    })
}

/// Whether a Job is neither finished, nor suspended with nothing active or terminating.
pub(in crate::rules) fn job_runs(version: &Version) -> bool {
    let runs = |job: &Job| {
        let status = job.status.as_ref();
        let conditions = status.and_then(|status| status.conditions.as_deref()).unwrap_or_default();
        let is = |type_: &str| conditions.iter().any(|c| c.type_ == type_ && c.status == "True");
        let some = |count: Option<i32>| count.unwrap_or_default() > 0;
        let has_pods = status.is_some_and(|it| some(it.active) || some(it.terminating));
        let suspended = job.spec.as_ref().and_then(|spec| spec.suspend) == Some(true);
        let finished = is("Complete") || is("Failed");
        !finished && (!suspended || !is("Suspended") || has_pods)
    };
    version.job().is_some_and(runs)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use crate::history::History;
    use crate::history::Kind;
    use crate::history::told::{NAME, Told, set_check};
    use crate::rules::tests::assert_verdict;

    fn evicted() -> Told {
        let mut told = Told::kueue();
        told.runs().evicts().suspends().pod_terminates("pod-1").unreserves().reserves();
        told
    }

    fn goes_on(told: &mut Told) -> History {
        told.raises(2).takes_over(2).sets("Ready").history()
    }

    pub(super) fn a_terminating_pod() -> History {
        goes_on(&mut evicted())
    }

    #[rstest]
    #[case::by_the_rules(goes_on(evicted().pod_goes("pod-1")), "pass")]
    #[case::ended_pods_do_not_count(goes_on(evicted().pod_ends("pod-1", "Failed")), "pass")]
    #[case::nothing_is_ready(evicted().history(), "pass")]
    #[case::nobody_is_told(
        evicted().seconds(11).history(), "its message did not name them")]
    #[case::everybody_is_told(
        evicted().workload(|it| set_check(it, "Pending", "waits for pod-1")).seconds(60).history(),
        "pass")]
    #[case::told_in_time(
        evicted().seconds(9).workload(|it| set_check(it, "Pending", "waits for pod-1"))
            .seconds(60).history(),
        "pass")]
    #[case::nobody_waits(Told::kueue().starts().history(), "n/a")]
    #[case::a_terminating_pod(a_terminating_pod(), "while its pod pod-1 is Terminating")]
    #[case::a_pod_of_any_age(
        goes_on(evicted().pod_goes("pod-1").pod("late", "1")), "while its pod late lives")]
    #[case::the_trainjob(
        goes_on(Told::kueue().waits().trainjob(|it| it["spec"]["suspend"] = json!(false))),
        "its TrainJob was not suspended")]
    #[case::the_jobset(
        goes_on(evicted().pod_goes("pod-1")
            .change(Kind::JobSet, NAME, |it| it["spec"]["suspend"] = json!(false))),
        "its JobSet was not suspended")]
    #[case::the_job(
        goes_on(evicted().pod_goes("pod-1")
            .change(Kind::Job, "node", |it| it["status"]["terminating"] = json!(1))),
        "its Job node may have pods")]
    #[case::the_job_has_not_seen_it(
        goes_on(evicted().pod_goes("pod-1")
            .change(Kind::Job, "node", |it| it["status"] = json!({}))),
        "its Job node may have pods")]
    #[case::a_pod_after_the_last_reading_cannot_be_seen(
        evicted().pod_goes("pod-1").raises(2).takes_over(2).pod("late", "1").sets("Ready").history(),
        "pass")]
    #[case::a_pod_before_the_second_reading_can(
        evicted().pod_goes("pod-1").raises(2).pod("late", "1").takes_over(2).sets("Ready").history(),
        "while its pod late lives")]
    fn nothing_of_the_previous_execution_runs(#[case] history: History, #[case] expected: &str) {
        assert_verdict("RG-04", &history, expected);
    }
}
