//! RG-03: whose a Workload is.
//!
//! # What it says
//! A Workload is dispatch's when a controller owner above it, matched by UID, is a `TrainJob` with
//! dispatch's name or its runtime patch; labels never matter. An owner that cannot be read is not
//! waved through, and a Workload of dispatch's that the `TrainJob` does not own directly is never
//! made Ready.
//!
//! # Why it matters
//! A label can be removed, and then Kueue makes a second Workload, owned by the `JobSet`: Ready on
//! it starts the object past its gate. A foreign job that is taken for dispatch's is changed, and
//! held up.
//!
//! # How it is judged
//! That an owner could not be read is known from the requests of the replica that wrote Ready: the last
//! time that it asked for the `TrainJob`, it was not told.
//!
//! # A history that breaks it
//! The Workload that the object's `JobSet` owns becomes Ready.

use dispatch_contract::names;

use crate::history::{Ending, Exchange, Kind, Role, Version};
use crate::rules::case::{self, Case, Claim};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const RG_03: Judge = Judge {
    rule: "RG-03",
    reads: &[Kind::Workload, Kind::TrainJob],
    brings_about: &["RG-02", "RG-05", "SG-02", "EX-01"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::through_the_jobset,
};

fn judge(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    for claimed in &case.workloads {
        let workload = claimed.workload;
        let ready = case.readies_of(workload).into_iter().next();
        seen |= ready.is_some();
        let why = match (claimed.claim, &ready) {
            (Claim::ThroughAnother { by }, Some(_)) => {
                format!("it is owned by {} {}, not by the TrainJob itself", by.kind, by.name)
            }
            (Claim::Unread, Some(_)) => {
                "its owner is a TrainJob with dispatch's name that nobody saw".to_owned()
            }
            _ => continue,
        };
        let seq = ready.map(|ready| ready.version.seq);
        let because = format!("Workload {} became Ready though {why}", workload.name);
        return Verdict::fail(because, seq);
    }
    if let Some(broken) = unread(case) {
        return broken;
    }
    if let Some(broken) = changed_foreign(case) {
        return broken;
    }
    Verdict::pass_if_seen(seen, "Workload that became Ready")
}

/// A Workload of dispatch's that became Ready by a replica that had tried to read its owner last, and
/// had not been told.
fn unread(case: &Case<'_>) -> Option<Verdict> {
    let told = |exchange: &Exchange| {
        let answered = exchange.ended.as_ref().is_some_and(|it| it.end.ending == Ending::Answered);
        answered && exchange.status().is_some_and(|status| (200..300).contains(&status))
    };
    let all = case.objects.iter().chain(&case.probes);
    let readies = all.flat_map(|family| family.readies.iter().map(move |it| (family, it)));
    { readies }.find_map(|(family, ready)| {
        let by = ready.by?;
        let reads = case.requests.of(Role::Controller).filter(|it| {
            let request = &it.request;
            let of_owner = request.kind() == Some(Kind::TrainJob)
                && request.name.as_deref() == Some(&family.trainjob.name);
            of_owner && request.from == by && request.verb == "get" && it.seq < ready.version.seq
        });
        let last = reads.last().filter(|it| !told(it))?;
        let because = format!(
            "Workload {} became Ready though its owner, the TrainJob {}, could not be read",
            ready.workload.name, family.trainjob.name
        );
        Some(Verdict::fail(because, [last.seq, ready.version.seq]))
    })
}

/// A `TrainJob` that is not dispatch's, and was given a count or dispatch's patch.
fn changed_foreign(case: &Case<'_>) -> Option<Verdict> {
    let foreign = case.history.of_kind(Kind::TrainJob).filter(|trail| !case::is_dispatch(trail));
    let marked = |version: &&Version| {
        let Some(trainjob) = version.trainjob() else { return false };
        trainjob.annotation(names::RAISED_FOR).is_some() || trainjob.dispatch_patch().is_some()
    };
    foreign.into_iter().find_map(|trail| {
        let version = trail.versions().iter().find(marked)?;
        let because = format!("TrainJob {} is not dispatch's, and A was raised in it", trail.name);
        Some(Verdict::fail(because, [version.seq]))
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::history::History;
    use crate::history::told::{ADAPTER, CHECK, CONTROLLER, NAME, Told, ask};
    use crate::rules::tests::assert_verdict;

    const OTHER: &str = "dj-01k0000000000000000000000b-s1";

    fn second_workload(owner: &Value) -> Told {
        let mut told = Told::kueue();
        told.starts().create(
            Kind::Workload,
            json!({"metadata": {"name": "second", "namespace": "ns", "uid": "uid-second",
                "ownerReferences": [owner]},
                "status": {
                    "conditions": [{"type": "QuotaReserved", "status": "True"}],
                    "admissionChecks": [{"name": CHECK, "state": "Pending", "message": ""}]}}),
        );
        told
    }

    fn ready(told: &mut Told) -> History {
        told.change(Kind::Workload, "second", |it| {
            it["status"]["admissionChecks"][0]["state"] = json!("Ready");
        })
        .history()
    }

    fn owner(kind: &str, name: &str, uid: &str) -> Value {
        json!({"kind": kind, "name": name, "uid": uid, "controller": true})
    }

    pub(super) fn through_the_jobset() -> History {
        ready(&mut second_workload(&owner("JobSet", "o", "uid-jobset")))
    }

    fn foreign_trainjob(patches: &Value) -> History {
        let mut told = Told::kueue();
        let mut object = json!({"metadata": {"name": "foreign", "namespace": "ns", "uid": "f",
            "labels": {names::MANAGED: "true"}}, "spec": {"suspend": true}});
        told.create(Kind::TrainJob, object.clone());
        object["spec"]["runtimePatches"] = patches.clone();
        told.change(Kind::TrainJob, "foreign", |it| *it = object).history()
    }

    /// Ready by a replica that asks for the owner, and is answered so.
    fn asked(answer: impl FnOnce(&mut Told)) -> History {
        let mut told = Told::kueue();
        told.waits_by(ADAPTER).reads(CONTROLLER, Kind::Workload, "workload");
        told.request(ask(CONTROLLER, "get", Kind::TrainJob, NAME));
        answer(&mut told);
        told.sets_by(CONTROLLER, "Ready").history()
    }

    #[rstest]
    #[case::by_the_rules(Told::kueue().runs().history(), "pass")]
    #[case::its_owner_is_read(asked(|told| { told.sent().answered(); }), "pass")]
    #[case::its_owner_is_refused(
        asked(|told| { told.refused_instead(403); }), "could not be read")]
    #[case::its_owner_is_asked_for_in_vain(
        asked(|told| { told.sent().answer_lost(); }), "could not be read")]
    #[case::its_owner_is_read_in_the_end(
        asked(|told| {
            told.refused_instead(500).reads(CONTROLLER, Kind::TrainJob, NAME);
        }),
        "pass")]
    #[case::through_the_jobset(through_the_jobset(), "it is owned by JobSet")]
    #[case::through_the_jobset_and_pending(
        second_workload(&owner("JobSet", "o", "uid-jobset")).history(), "n/a")]
    #[case::owner_of_dispatchs_name_unseen(
        ready(&mut second_workload(&owner("TrainJob", OTHER, "unseen"))), "that nobody saw")]
    #[case::foreign_owner_unseen(
        ready(&mut second_workload(&owner("TrainJob", "mine", "unseen"))), "pass")]
    #[case::a_raise_in_a_foreign_one(
        foreign_trainjob(&json!([{"manager": names::RUNTIME_PATCH_MANAGER}])),
        "TrainJob foreign is not dispatch's")]
    #[case::kueues_patch_in_a_foreign_one(
        foreign_trainjob(&json!([{"manager": names::KUEUE_RUNTIME_PATCH_MANAGER}])), "n/a")]
    fn a_workload_is_dispatchs_by_its_owner(#[case] history: History, #[case] expected: &str) {
        assert_verdict("RG-03", &history, expected);
    }
}
