//! OP-04: an administrator's gate is reported.
//!
//! # What it says
//! Where others' gates are left after `Open`, or a value that has no entries, `Status` says that an
//! administrator holds the object, and names the gates.
//!
//! # Why it matters
//! Dispatch opened the object and it does not start: without the name nobody knows whom to ask.
//!
//! # How it is judged
//! Only where the object was in that state from the call to its answer, with the same gates, and no
//! state that comes before it (CA-04) applied.
//!
//! # A history that breaks it
//! The gate `a.io/x` is left, and `Status` names no gate.

use std::collections::BTreeSet;

use dispatch_contract::State;

use crate::history::{Kind, Version};
use crate::rules::ca::status::{answers, state_during};
use crate::rules::case::{Case, Family};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const OP_04: Judge = Judge {
    rule: "OP-04",
    reads: &[Kind::TrainJob, Kind::Workload],
    brings_about: &["CA-04"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::not_named,
};

fn judge(case: &Case<'_>) -> Verdict {
    if !case.is_kueue() {
        return Verdict::not_applicable("there is no gate annotation in plain mode");
    }
    let mut seen = false;
    for family in &case.objects {
        for (call, answer, orders) in answers(case, family) {
            if state_during(case, family, orders) != Some("held-by-administrator") {
                continue;
            }
            let Some(gates) = others_during(family, orders) else { continue };
            seen = true;
            let wrong = match &answer.state {
                State::HeldByAdministrator { gates: named } => {
                    let named: BTreeSet<&str> = named.iter().map(String::as_str).collect();
                    (named != gates).then(|| format!("named {}", list(&named)))
                }
                other => Some(format!("said {}", other.name())),
            };
            if let Some(wrong) = wrong {
                let because = format!(
                    "others' gates were left on {}, {}, and Status {wrong}",
                    family.trainjob.name,
                    list(&gates)
                );
                return Verdict::fail(because, call.events());
            }
        }
    }
    Verdict::pass_if_seen(seen, "Status of an object that others' gates hold")
}

/// Others' gates, if they were the same throughout.
fn others_during<'a>(family: &Family<'a>, (from, to): (u64, u64)) -> Option<BTreeSet<&'a str>> {
    let others = |version: &'a Version| -> Option<BTreeSet<&'a str>> {
        Some(version.trainjob()?.gates().others().collect())
    };
    let gates = others(family.trainjob.at(from)?)?;
    let mut later = family.trainjob.between(from, to).iter();
    later.all(|version| others(version).as_ref() == Some(&gates)).then_some(gates)
}

fn list(gates: &BTreeSet<&str>) -> String {
    if gates.is_empty() {
        return "none by name".to_owned();
    }
    gates.iter().copied().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use dispatch_contract::names;
    use rstest::rstest;
    use serde_json::{Value, json};

    use crate::history::told::Told;
    use crate::history::{History, Verb};
    use crate::rules::tests::assert_verdict;

    fn left(value: &str) -> Told {
        let mut told = Told::kueue();
        told.starts().opens();
        told.trainjob(|it| {
            it["metadata"]["annotations"][names::ADMISSION_GATED_BY] = json!(value);
        });
        told
    }

    fn says(value: &str, state: &Value) -> History {
        left(value).calls(Verb::Status).answers(json!({"state": state})).history()
    }

    fn held(gates: &[&str]) -> Value {
        json!({"held-by-administrator": {"gates": gates}})
    }

    pub(super) fn not_named() -> History {
        says("a.io/x", &held(&[]))
    }

    #[rstest]
    #[case::named(says("a.io/x,b.io/y", &held(&["a.io/x", "b.io/y"])), "pass")]
    #[case::a_blank_value_has_no_names(says(" ", &held(&[])), "pass")]
    #[case::none_left(Told::kueue().starts().opens().calls(Verb::Status)
        .answers(json!({"state": {"queued": {"reason": ""}}})).history(), "n/a")]
    #[case::closed_by_dispatch_too(
        Told::kueue().starts().trainjob(|it| {
            let gates = format!("a.io/x,{}", names::GATE);
            it["metadata"]["annotations"][names::ADMISSION_GATED_BY] = json!(gates);
        }).calls(Verb::Status).answers(json!({"state": "gated"})).history(),
        "n/a")]
    #[case::lifted_meanwhile(
        left("a.io/x").calls(Verb::Status).trainjob(|it| {
            it["metadata"]["annotations"].as_object_mut().unwrap()
                .remove(names::ADMISSION_GATED_BY);
        }).answers(json!({"state": {"queued": {"reason": ""}}})).history(),
        "n/a")]
    #[case::plain(Told::plain().history(), "n/a")]
    #[case::not_named(not_named(), "a.io/x, and Status named none by name")]
    #[case::one_of_two(says("a.io/x,b.io/y", &held(&["a.io/x"])), "and Status named a.io/x")]
    #[case::another_state(
        says("a.io/x", &json!({"queued": {"reason": ""}})), "and Status said queued")]
    #[case::a_blank_value_is_not_seen(
        says(" ", &json!({"queued": {"reason": ""}})), "none by name, and Status said queued")]
    fn others_gates_are_named(#[case] history: History, #[case] expected: &str) {
        assert_verdict("OP-04", &history, expected);
    }
}
