//! RG-02: what is not dispatch's passes.
//!
//! # What it says
//! A Workload that is not dispatch's gets Ready without delay. One without a controller owner waits
//! while a `TrainJob` of dispatch's names it as prebuilt.
//!
//! # Why it matters
//! The check stands on a whole `ClusterQueue`, and everybody else's jobs pass it.
//!
//! # How it is judged
//! "Without delay" is the time of RG-15: a foreign Workload that has quota and waits for longer
//! than 10 seconds, while a replica serves, was held up.
//!
//! # A history that breaks it
//! A Workload of a batch Job has quota and stays Pending for a minute.

use dispatch_contract::names;
use dispatch_contract::resources::CheckState;

use crate::history::{Kind, Trail, Version};
use crate::rules::case::{self, Case, Claim};
use crate::rules::span::{Span, Spans, overdue};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const RG_02: Judge = Judge {
    rule: "RG-02",
    reads: &[Kind::Workload, Kind::TrainJob, Kind::Job],
    brings_about: &["RG-15"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::held_up,
};

fn judge(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    for claimed in &case.workloads {
        let workload = claimed.workload;
        let foreign = match claimed.claim {
            Claim::Foreign => true,
            Claim::Ownerless => match prebuilt_for(case, workload) {
                Some(broken) => return broken,
                None => names_it(case, workload).is_none(),
            },
            _ => false,
        };
        if !foreign {
            continue;
        }
        for check in &case.checks {
            let listed = |version: &Version| case::check_state(version, check).is_some();
            seen |= workload.versions().iter().any(listed);
            if let Some(late) = overdue(case, &waiting(workload, check)) {
                let because = format!(
                    "Workload {} is not dispatch's, had quota and was held up at check {check}",
                    workload.name
                );
                return Verdict::fail(because, [late.seq]);
            }
        }
    }
    Verdict::pass_if_seen(seen, "Workload of anybody else at the check")
}

/// When a Workload could have been passed, and was not.
fn waiting(workload: &Trail, check: &str) -> Vec<Span> {
    let mut spans = Spans::default();
    for version in workload.versions() {
        let pending = case::check_state(version, check) == Some(&CheckState::Pending);
        let may = version.workload().is_some_and(|it| case::may_act(it).is_ok());
        spans.tell(pending && may && !version.is_deletion(), version.at, version.seq);
    }
    spans.done()
}

/// The first version of a `TrainJob` of dispatch's that names the Workload as prebuilt.
fn names_it<'a>(case: &Case<'a>, workload: &Trail) -> Option<&'a Version> {
    let names = |version: &&Version| {
        let labels = version.trainjob().and_then(|it| it.metadata.labels.as_ref());
        labels.and_then(|all| all.get(names::PREBUILT_WORKLOAD)) == Some(&workload.name)
    };
    case.objects.iter().find_map(|family| family.trainjob.versions().iter().find(names))
}

/// Whether a Workload without an owner became Ready while one of dispatch's named it.
fn prebuilt_for(case: &Case<'_>, workload: &Trail) -> Option<Verdict> {
    let named = names_it(case, workload)?;
    let readies = workload.changes().filter(|(_, after)| after.order > named.order);
    let ready = |version: &Version| {
        case.checks
            .iter()
            .any(|check| case::check_state(version, check) == Some(&CheckState::Ready))
    };
    let (_, version) = { readies }.find(|(before, after)| !ready(before) && ready(after))?;
    let because = format!(
        "Workload {} has no owner, a TrainJob of dispatch's names it as prebuilt, and it became \
         Ready",
        workload.name
    );
    Some(Verdict::fail(because, [named.seq, version.seq]))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::history::told::{CHECK, NAME, Told, UID};
    use crate::history::{History, SubjectChange};
    use crate::rules::tests::assert_verdict;

    fn foreign(state: &str, owner: &serde_json::Value) -> Told {
        let mut told = Told::kueue();
        told.create(
            Kind::Workload,
            json!({"metadata": {"name": "foreign", "namespace": "ns", "uid": "uid-foreign",
                "labels": {names::MANAGED: "true"}, "ownerReferences": owner},
                "status": {
                    "conditions": [{"type": "QuotaReserved", "status": "True"}],
                    "admissionChecks": [{"name": CHECK, "state": state, "message": ""}]}}),
        );
        told
    }

    fn by_a_job() -> serde_json::Value {
        json!([{"kind": "Job", "name": "j", "uid": "uid-j", "controller": true}])
    }

    pub(super) fn held_up() -> History {
        foreign("Pending", &by_a_job()).seconds(11).history()
    }

    fn passed(told: &mut Told) -> History {
        told.change(Kind::Workload, "foreign", |it| {
            it["status"]["admissionChecks"][0]["state"] = json!("Ready");
        })
        .seconds(60)
        .history()
    }

    fn prebuilt() -> Told {
        let mut told = foreign("Pending", &json!([]));
        told.starts().trainjob(|it| {
            it["metadata"]["labels"] = json!({names::PREBUILT_WORKLOAD: "foreign"});
        });
        told
    }

    #[rstest]
    #[case::passed(passed(&mut foreign("Pending", &by_a_job())), "pass")]
    #[case::passed_without_an_owner(passed(&mut foreign("Pending", &json!([]))), "pass")]
    #[case::held_up(held_up(), "fail: Workload foreign is not dispatch's")]
    #[case::not_held_up_for_long(
        foreign("Pending", &by_a_job()).seconds(9).history(), "pass")]
    #[case::nobody_serves(
        foreign("Pending", &by_a_job()).controller(SubjectChange::Killed).seconds(60).history(),
        "pass")]
    #[case::prebuilt_waits(prebuilt().seconds(60).history(), "n/a")]
    #[case::prebuilt_is_passed(passed(&mut prebuilt()), "names it as prebuilt, and it became Ready")]
    #[case::of_dispatch(
        foreign("Pending", &json!([{"kind": "TrainJob", "name": NAME, "uid": UID,
            "controller": true}])).create_trainjob().seconds(60).history(),
        "n/a: there was no Workload of anybody else")]
    fn what_is_not_dispatchs_passes(#[case] history: History, #[case] expected: &str) {
        assert_verdict("RG-02", &history, expected);
    }
}
