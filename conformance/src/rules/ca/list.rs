//! CA-08: List.
//!
//! # What it says
//! `List` gives every object by RG-03 in the namespace, ended ones too, without probes: name, UID, state.
//!
//! # Why it matters
//! After a crash between the create and the record, `List` is how the object is found again.
//!
//! # How it is judged
//! What was there from the call to its answer has to be in it, what was there at no time may not. A
//! state is judged where it is certain (CA-04).
//!
//! # A history that breaks it
//! The object ended, and `List` does not give it.

use std::collections::BTreeMap;

use dispatch_contract::ListEntry;
use serde::Deserialize;

use super::status::state_during;
use crate::history::{Kind, Trail, Verb};
use crate::rules::case::{self, Case};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const CA_08: Judge = Judge {
    rule: "CA-08",
    reads: &[Kind::TrainJob, Kind::Workload, Kind::Pod],
    brings_about: &[],
    decide: judge,
    #[cfg(test)]
    breaking: tests::left_out,
};

fn judge(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    for call in case.calls(Verb::List) {
        let (Some(answer), Some(orders)) = (call.ok(), call.orders()) else { continue };
        seen = true;
        let wrong = match Vec::<ListEntry>::deserialize(answer) {
            Ok(entries) => wrong(case, &entries, orders),
            Err(error) => Some(format!("cannot be read: {error}")),
        };
        if let Some(wrong) = wrong {
            return Verdict::fail(format!("the answer of List {wrong}"), call.events());
        }
    }
    Verdict::pass_if_seen(seen, "List that was answered")
}

fn wrong(case: &Case<'_>, entries: &[ListEntry], orders: (u64, u64)) -> Option<String> {
    let mut listed = BTreeMap::new();
    for entry in entries {
        if listed.insert(entry.uid.as_str(), entry).is_some() {
            return Some(format!("has {} twice", entry.name));
        }
    }
    let (from, to) = orders;
    for family in &case.objects {
        let trail = family.trainjob;
        let stays = trail.at(from).is_some() && trail.at(to).is_some();
        let Some(entry) = listed.remove(trail.uid.as_str()) else {
            // By RG-03, and whatever a later version has.
            if stays && case::is_dispatch(trail) {
                return Some(format!("lacks {}, of UID {}", trail.name, trail.uid));
            }
            continue;
        };
        if !was_there(trail, orders) {
            return Some(format!("has {}, which was not there", trail.name));
        }
        if entry.name != trail.name {
            return Some(format!("calls {} {}", trail.name, entry.name));
        }
        let expected = state_during(case, family, orders);
        let found = entry.state.name();
        if let Some(expected) = expected.filter(|expected| *expected != found) {
            return Some(format!("says {found} of {} while it was {expected}", trail.name));
        }
    }
    let (_, entry) = listed.into_iter().next()?;
    let known = case.history.object(&entry.uid);
    let what = match known {
        Some(trail) if trail.kind == Kind::TrainJob => "is no object of dispatch's",
        _ => "is no TrainJob of the namespace",
    };
    Some(format!("has {}, which {what}", entry.name))
}

fn was_there(trail: &Trail, (from, to): (u64, u64)) -> bool {
    trail.at(from).is_some() || !trail.between(from, to).is_empty()
}

#[cfg(test)]
mod tests {
    use dispatch_contract::names;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::history::History;
    use crate::history::told::{NAME, Told, UID};
    use crate::rules::tests::assert_verdict;

    fn listing(told: &mut Told) -> &mut Told {
        told.calls_with(Verb::List, json!({}))
    }

    fn lists(told: &mut Told, entries: &Value) -> History {
        listing(told).answers(entries.clone()).history()
    }

    fn entry(name: &str, uid: &str, state: &Value) -> Value {
        json!({"name": name, "uid": uid, "state": state})
    }

    fn gated() -> Value {
        json!([entry(NAME, UID, &json!("gated"))])
    }

    fn ended() -> Told {
        let mut told = Told::kueue();
        told.runs().pod_goes("pod-1").ends("Failed").marks_ended();
        told
    }

    pub(super) fn left_out() -> History {
        lists(&mut ended(), &json!([]))
    }

    fn foreign() -> Told {
        let mut told = Told::kueue();
        told.create(
            Kind::TrainJob,
            json!({"metadata": {"name": "foreign", "namespace": "ns", "uid": "f",
                "labels": {names::MANAGED: "true"}}, "spec": {"suspend": true}}),
        );
        told
    }

    fn probe() -> Told {
        let mut told = Told::kueue();
        told.create(
            Kind::TrainJob,
            json!({"metadata": {"name": "probe", "namespace": "ns", "uid": "p",
                "labels": {names::PROBE: "true"}}, "spec": {"suspend": true,
                "runtimePatches": [{"manager": names::RUNTIME_PATCH_MANAGER}]}}),
        );
        told
    }

    #[rstest]
    #[case::one(lists(Told::kueue().starts(), &gated()), "pass")]
    #[case::none(lists(&mut foreign(), &json!([])), "pass")]
    #[case::an_ended_one(
        lists(&mut ended(), &json!([entry(NAME, UID,
            &json!({"ended": {"how": "Failed", "opened": true, "podsLeft": []}}))])),
        "pass")]
    #[case::created_meanwhile(
        listing(&mut Told::kueue()).create_trainjob().answers(gated()).history(), "pass")]
    #[case::created_meanwhile_and_not_seen(
        listing(&mut Told::kueue()).create_trainjob().answers(json!([])).history(), "pass")]
    #[case::no_list(Told::kueue().starts().history(), "n/a")]
    #[case::left_out(left_out(), "lacks dj-01k0000000000000000000000a-s1, of UID uid-train")]
    #[case::a_probe(
        lists(&mut probe(), &json!([entry("probe", "p", &json!("gated"))])),
        "has probe, which is no object of dispatch's")]
    #[case::a_foreign_one(
        lists(&mut foreign(), &json!([entry("foreign", "f", &json!("gated"))])),
        "has foreign, which is no object of dispatch's")]
    #[case::one_that_never_was(
        lists(&mut Told::kueue(), &gated()), "which is no TrainJob of the namespace")]
    #[case::one_that_is_gone(
        lists(Told::kueue().starts().delete(Kind::TrainJob, NAME), &gated()),
        "which was not there")]
    #[case::twice(
        lists(Told::kueue().starts(), &json!([gated()[0], gated()[0]])), "twice")]
    #[case::another_state(
        lists(Told::kueue().starts(), &json!([entry(NAME, UID, &json!("not-found"))])),
        "says not-found of")]
    #[case::no_list_at_all(lists(Told::kueue().starts(), &json!({})), "cannot be read")]
    fn list_gives_every_object(#[case] history: History, #[case] expected: &str) {
        assert_verdict("CA-08", &history, expected);
    }
}
