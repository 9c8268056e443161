//! SG-01: Start creates the object closed.
//!
//! # What it says
//! The first version of the object is closed: in Kueue mode it carries dispatch's gate and is
//! suspended, in plain mode it is suspended.
//!
//! # Why it matters
//! An object that is created and closed afterwards runs in between, and Kueue lets no gate be added
//! to an object that exists.
//!
//! # A history that breaks it
//! The first version of the `TrainJob` has no gate, and the second one has it.

use crate::history::Kind;
use crate::rules::case::Case;
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const SG_01: Judge = Judge {
    rule: "SG-01",
    reads: &[],
    brings_about: &["SG-02", "SG-05"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::gated_afterwards,
};

fn judge(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    for family in case.objects.iter().chain(&case.probes) {
        let Some(first) = family.trainjob.first() else { continue };
        let Some(trainjob) = first.trainjob() else { continue };
        let name = &family.trainjob.name;
        // Any change of the specification raises the generation.
        if trainjob.metadata.generation.is_some_and(|generation| generation > 1) {
            return Verdict::inconclusive(format!("the creation of {name} was not recorded"));
        }
        seen = true;
        let lacks = match () {
            () if !trainjob.is_suspended() => "suspend",
            () if case.is_kueue() && !trainjob.gates().has_dispatch() => "dispatch's gate",
            () => continue,
        };
        return Verdict::fail(format!("{name} was created without {lacks}"), [first.seq]);
    }
    let missed = case.history.gaps().any(|(_, gap)| gap.kind == Some(Kind::TrainJob));
    if missed && !seen {
        return Verdict::inconclusive("the record of TrainJobs has a gap");
    }
    Verdict::pass_if_seen(seen, "object of dispatch's")
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

    fn object(suspend: bool, annotations: &Value, generation: u64) -> Value {
        json!({"metadata": {"name": NAME, "namespace": "ns", "uid": UID,
            "generation": generation, "annotations": annotations}, "spec": {"suspend": suspend}})
    }

    fn created(mut told: Told, object: Value) -> Told {
        told.create(Kind::TrainJob, object);
        told
    }

    fn gate() -> Value {
        json!({names::ADMISSION_GATED_BY: names::GATE})
    }

    pub(super) fn gated_afterwards() -> History {
        created(Told::kueue(), object(true, &json!({}), 1))
            .trainjob(|it| it["metadata"]["annotations"] = gate())
            .history()
    }

    #[rstest]
    #[case::by_the_rules(Told::kueue().starts().history(), "pass")]
    #[case::plain(created(Told::plain(), object(true, &json!({}), 1)).history(), "pass")]
    #[case::nothing_started(Told::kueue().history(), "n/a")]
    #[case::gated_afterwards(gated_afterwards(), "was created without dispatch's gate")]
    #[case::not_suspended(
        created(Told::kueue(), object(false, &gate(), 1)).history(), "without suspend")]
    #[case::plain_and_not_suspended(
        created(Told::plain(), object(false, &json!({}), 1)).history(), "without suspend")]
    #[case::seen_too_late(
        created(Told::kueue(), object(true, &json!({}), 2)).history(),
        "inconclusive: the creation of")]
    fn an_object_is_created_closed(#[case] history: History, #[case] expected: &str) {
        assert_verdict("SG-01", &history, expected);
    }
}
