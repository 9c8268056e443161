//! EX-05: a wrong identity is found and healed.
//!
//! # What it says
//! A live pod of an admitted object whose A is not the count, or an admitted object that carries
//! dispatch's gate or lacks the opened mark, makes the controller set its check to Retry, so that
//! Kueue evicts and A is raised again; at most three times in a row.
//!
//! # Why it matters
//! The Job controller can create a pod from the template it had before the raise. No read before
//! Ready can exclude that, so it is found afterwards.
//!
//! # How it is judged
//! By the time of RG-15: longer than 10 seconds, while a replica served.
//!
//! # A history that breaks it
//! Execution 2 is admitted, a pod with A=1 comes, and lives on for a minute.

use std::collections::BTreeMap;

use dispatch_contract::names;
use dispatch_contract::resources::{CheckState, TrainJob, Workload};

use super::identity::carried;
use crate::history::{Kind, Trail, Version};
use crate::rules::case::{self, Case, Family};
use crate::rules::span::{Span, Spans, overdue};
use crate::rules::{Judge, Verdict};

/// How often in a row the controller tries.
const TRIES: usize = 3;

pub(in crate::rules) const EX_05: Judge = Judge {
    rule: "EX-05",
    reads: &[Kind::Workload, Kind::TrainJob, Kind::Pod],
    brings_about: &[],
    decide: judge,
    #[cfg(test)]
    breaking: tests::lives_on,
};

fn judge(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    for family in &case.objects {
        for workload in &family.workloads {
            for check in &case.checks {
                if let Some(fourth) = tried_too_often(workload, check) {
                    let because = format!(
                        "check {check} of Workload {} was set to Retry more than {TRIES} times in \
                         a row",
                        workload.name
                    );
                    return Verdict::fail(because, [fourth.seq]);
                }
                let spans = violated(family, workload, check);
                seen |= !spans.is_empty();
                if retries(workload, check).count() >= TRIES {
                    continue;
                }
                if let Some(late) = overdue(case, &spans) {
                    let because = format!(
                        "{} was admitted with a pod of another A than its count, or without being \
                         opened, and its check {check} was not set to Retry",
                        family.trainjob.name
                    );
                    return Verdict::fail(because, [late.seq]);
                }
            }
        }
    }
    Verdict::pass_if_seen(seen, "admitted object with a wrong identity")
}

/// When an admitted object had a wrong identity, and its check was not set to Retry.
fn violated(family: &Family<'_>, workload: &Trail, check: &str) -> Vec<Span> {
    let trails = [family.trainjob, workload].into_iter().chain(family.pods.iter().copied());
    let (mut trainjob, mut admission): (Option<&TrainJob>, Option<&Workload>) = (None, None);
    let mut live: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    let mut spans = Spans::default();
    for (trail, version) in case::merged(trails) {
        match trail.kind {
            Kind::TrainJob => trainjob = version.trainjob().filter(|_| !version.is_deletion()),
            Kind::Workload => admission = version.workload().filter(|_| !version.is_deletion()),
            _ if trail.lives_at(version.order) => {
                live.insert(&trail.uid, carried(trail));
            }
            _ => {
                live.remove(trail.uid.as_str());
            }
        }
        let admitted = admission.is_some_and(|it| it.is("Admitted") && !it.is("Evicted"));
        let retried = admission.and_then(|workload| workload.check(check));
        let retried = retried.is_some_and(|check| check.state == CheckState::Retry);
        let wrong = trainjob.is_some_and(|trainjob| {
            let count = trainjob.annotation(names::ADMISSION_COUNT);
            trainjob.end().is_none()
                && (live.values().any(|carried| *carried != count)
                    || trainjob.gates().has_dispatch()
                    || !trainjob.is_opened())
        });
        spans.tell(admitted && wrong && !retried, version.at, version.seq);
    }
    spans.done()
}

fn retries<'a>(workload: &'a Trail, check: &str) -> impl Iterator<Item = &'a Version> {
    let is_retry =
        |version: &Version| case::check_state(version, check) == Some(&CheckState::Retry);
    let found: Vec<_> = workload
        .changes()
        .filter(|(before, after)| is_retry(after) && !is_retry(before))
        .map(|(_, after)| after)
        .collect();
    found.into_iter()
}

/// The Retry that is one too many.
fn tried_too_often<'a>(workload: &'a Trail, check: &str) -> Option<&'a Version> {
    retries(workload, check).nth(TRIES)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::history::told::{CHECK, Told};
    use crate::history::{History, SubjectChange};
    use crate::rules::tests::assert_verdict;
    use serde_json::json;

    fn wrong() -> Told {
        let mut told = Told::kueue();
        told.runs().pod("late", "0");
        told
    }

    pub(super) fn lives_on() -> History {
        wrong().seconds(11).history()
    }

    fn retried(times: usize) -> History {
        let mut told = wrong();
        for _ in 0..times {
            told.sets("Retry").evicts().workload(|it| {
                it["status"]["admissionChecks"][0] =
                    json!({"name": CHECK, "state": "Ready", "message": ""});
            });
        }
        told.history()
    }

    #[rstest]
    #[case::right(Told::kueue().runs().seconds(60).history(), "n/a")]
    #[case::healed(wrong().sets("Retry").seconds(60).history(), "pass")]
    #[case::healed_three_times(retried(3), "pass")]
    #[case::the_pod_goes(wrong().pod_goes("late").seconds(60).history(), "pass")]
    #[case::evicted_anyway(wrong().evicts().seconds(60).history(), "pass")]
    #[case::lives_on(lives_on(), "was not set to Retry")]
    #[case::not_opened(
        Told::kueue().starts().reserves().admits().seconds(60).history(), "was not set to Retry")]
    #[case::nobody_serves(
        wrong().controller(SubjectChange::Killed).seconds(60).history(), "pass")]
    #[case::tried_four_times(retried(4), "more than 3 times in a row")]
    fn a_wrong_identity_is_healed(#[case] history: History, #[case] expected: &str) {
        assert_verdict("EX-05", &history, expected);
    }
}
