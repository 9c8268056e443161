//! OP-01 and OP-02: Open takes dispatch's gate away, and nothing else.
//!
//! # What they say
//! `Open` removes dispatch's entry alone; the others stay, in their order, and the same update sets
//! the opened mark (OP-01). Where dispatch's entry was the last one, the annotation's key is deleted,
//! never left empty or blank (OP-02).
//!
//! # Why it matters
//! An administrator's gate is not dispatch's to lift. A blank value keeps the object gated for ever,
//! with no gate to be named. Without the mark nobody can tell an opened object from one whose
//! annotation was deleted.
//!
//! # How it is judged
//! A change of the gates while an `Open` for the object is under way is that call's.
//!
//! # A history that breaks them
//! Before `Open` the gates are `a.io/x` and dispatch's, and after it the annotation is gone.

use dispatch_contract::names;
use dispatch_contract::resources::TrainJob;

use crate::history::{Call, Kind, Trail, Verb, Version};
use crate::rules::case::{Case, Family};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const OP_01: Judge = Judge {
    rule: "OP-01",
    reads: &[Kind::TrainJob],
    brings_about: &["RG-12"],
    decide: removes_its_own_alone,
    #[cfg(test)]
    breaking: tests::others_lost,
};

pub(in crate::rules) const OP_02: Judge = Judge {
    rule: "OP-02",
    reads: &[Kind::TrainJob],
    brings_about: &[],
    decide: deletes_the_key,
    #[cfg(test)]
    breaking: tests::left_empty,
};

fn removes_its_own_alone(case: &Case<'_>) -> Verdict {
    let verdict = judge(case, |before, after| {
        let (was, is) = (others(before), others(after));
        if was != is {
            return Some(format!("changed others' gates from `{was}` to `{is}`"));
        }
        (!after.is_opened()).then(|| "did not set the opened mark in the same update".to_owned())
    });
    if verdict.is_fail() { verdict } else { left_closed(case).unwrap_or(verdict) }
}

fn others(trainjob: &TrainJob) -> String {
    trainjob.gates().others().collect::<Vec<_>>().join(",")
}

fn deletes_the_key(case: &Case<'_>) -> Verdict {
    judge(case, |before, after| {
        let last = before.gates().others().next().is_none();
        let value = after.annotation(names::ADMISSION_GATED_BY);
        let left = value.filter(|value| last && value.trim().trim_matches(',').is_empty());
        left.map(|value| format!("left the gate annotation with the value `{value}`"))
    })
}

/// Judges every change that took dispatch's gate away while an `Open` was under way.
fn judge(case: &Case<'_>, wrong: impl Fn(&TrainJob, &TrainJob) -> Option<String>) -> Verdict {
    if !case.is_kueue() {
        return Verdict::not_applicable("there is no gate annotation in plain mode");
    }
    let mut seen = false;
    for family in &case.objects {
        for (old, new) in family.trainjob.changes().filter(|(_, new)| !new.is_deletion()) {
            let (Some(before), Some(after)) = (old.trainjob(), new.trainjob()) else { continue };
            let removed = before.gates().has_dispatch() && !after.gates().has_dispatch();
            if !removed || !under_way(case, family.trainjob, new) {
                continue;
            }
            seen = true;
            if let Some(why) = wrong(before, after) {
                let because = format!("Open of {} {why}", family.trainjob.name);
                return Verdict::fail(because, [old.seq, new.seq]);
            }
        }
    }
    Verdict::pass_if_seen(seen, "Open that removed the gate")
}

/// An `Open` that succeeded and left the object closed.
fn left_closed(case: &Case<'_>) -> Option<Verdict> {
    let closed = |family: &Family<'_>, call: &Call| -> Option<Verdict> {
        call.ok()?;
        let answered = call.answered.as_ref()?;
        let version = family.trainjob.at(answered.order?)?;
        let trainjob = version.trainjob()?;
        let what = match () {
            () if trainjob.gates().has_dispatch() => "dispatch's gate was still there",
            () if !trainjob.is_opened() => "the opened mark was not there",
            () => return None,
        };
        let because = format!("Open of {} succeeded, and {what}", family.trainjob.name);
        Some(Verdict::fail(because, [version.seq, answered.seq]))
    };
    case.objects.iter().find_map(|family| {
        case.calls_for(Verb::Open, family.trainjob).find_map(|call| closed(family, call))
    })
}

fn under_way(case: &Case<'_>, trainjob: &Trail, version: &Version) -> bool {
    case.calls_for(Verb::Open, trainjob).any(|call| {
        call.invoked_order.is_none_or(|order| order < version.order)
            && call.answered_order().is_none_or(|order| version.order <= order)
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::history::History;
    use crate::history::told::Told;
    use crate::rules::tests::assert_verdict;

    /// The gates before Open, the gates after it (none where `None`), and whether it is marked.
    fn opens(before: &str, after: Option<&str>, marked: bool) -> History {
        let mut told = Told::kueue();
        told.starts().trainjob(|it| {
            it["metadata"]["annotations"][names::ADMISSION_GATED_BY] = json!(before);
        });
        told.calls(Verb::Open)
            .trainjob(|it| {
                let annotations = it["metadata"]["annotations"].as_object_mut().unwrap();
                annotations.remove(names::ADMISSION_GATED_BY);
                if let Some(after) = after {
                    annotations.insert(names::ADMISSION_GATED_BY.to_owned(), json!(after));
                }
                if marked {
                    annotations.insert(names::OPENED.to_owned(), json!("true"));
                }
            })
            .answers(json!({}))
            .history()
    }

    fn ours_and(others: &str) -> String {
        format!("{},{others}", names::GATE)
    }

    pub(super) fn others_lost() -> History {
        opens(&ours_and("a.io/x"), None, true)
    }

    pub(super) fn left_empty() -> History {
        opens(names::GATE, Some(""), true)
    }

    #[rstest]
    #[case::by_the_rules(Told::kueue().runs().history(), "pass")]
    #[case::others_stay(opens(&ours_and("a.io/x,b.io/y"), Some("a.io/x,b.io/y"), true), "pass")]
    #[case::never_opened(Told::kueue().starts().history(), "n/a")]
    #[case::plain(Told::plain().history(), "n/a")]
    #[case::others_lost(others_lost(), "changed others' gates from `a.io/x` to ``")]
    #[case::others_in_another_order(
        opens(&ours_and("a.io/x,b.io/y"), Some("b.io/y,a.io/x"), true), "changed others' gates")]
    #[case::without_the_mark(opens(names::GATE, None, false), "did not set the opened mark")]
    #[case::still_gated(
        Told::kueue().starts().calls(Verb::Open).answers(json!({})).history(),
        "succeeded, and dispatch's gate was still there")]
    #[case::removed_by_somebody_else(
        Told::kueue().starts().opens_gate().history(), "n/a")]
    fn open_removes_its_own_gate_alone(#[case] history: History, #[case] expected: &str) {
        assert_verdict("OP-01", &history, expected);
    }

    #[rstest]
    #[case::deleted(opens(names::GATE, None, true), "pass")]
    #[case::others_stay(opens(&ours_and("a.io/x"), Some("a.io/x"), true), "pass")]
    #[case::left_empty(left_empty(), "left the gate annotation with the value ``")]
    #[case::left_blank(opens(names::GATE, Some(" "), true), "with the value ` `")]
    fn the_last_gate_takes_its_key_with_it(#[case] history: History, #[case] expected: &str) {
        assert_verdict("OP-02", &history, expected);
    }
}
