//! PF-06: the check is there, served, and stands before every flavor.
//!
//! # What it says
//! In Kueue mode preflight proves that the `AdmissionCheck` exists, names this controller and is
//! Active, and that the `ClusterQueue` lists it for all flavors; each failure has its own reason.
//!
//! # Why it matters
//! A queue without the check, or with it for one flavor only, admits jobs past the readmission gate.
//!
//! # How it is judged
//! What did not hold at any time during the call cannot have been proved; what held throughout
//! cannot be a reason.
//!
//! # A history that breaks it
//! The `ClusterQueue` does not list the check, and preflight says that the gate is proved.

use dispatch_contract::resources::{AdmissionCheck, ClusterQueue, Conditions};
use serde::Deserialize;

use super::{Preflight, preflights};
use crate::history::{Kind, Trail, Version};
use crate::rules::case::Case;
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const PF_06: Judge = Judge {
    rule: "PF-06",
    reads: &[Kind::AdmissionCheck, Kind::ClusterQueue],
    brings_about: &["SG-05", "RG-05"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::not_listed_and_proved,
};

fn judge(case: &Case<'_>) -> Verdict {
    if !case.is_kueue() {
        return Verdict::not_applicable("there is no AdmissionCheck in plain mode");
    }
    let preflights = preflights(case);
    for preflight in &preflights {
        let faults = faults(case, preflight);
        let lasting = |(_, lasts): &&(&str, bool)| *lasts;
        let named = preflight.answer.reasons.iter().any(|reason| reason.rule == "PF-06");
        match faults.iter().find(lasting) {
            Some((fault, _)) if preflight.proved() => {
                let because = format!("preflight found the gate proved, though {fault}");
                return Verdict::fail(because, preflight.events());
            }
            Some((fault, _)) if !named => {
                let because = format!("{fault}, and preflight does not say so");
                return Verdict::fail(because, preflight.events());
            }
            None if named && faults.is_empty() => {
                let because = "preflight says that the check is not served, and it was throughout";
                return Verdict::fail(because, preflight.events());
            }
            _ => {}
        }
    }
    Verdict::pass_if_seen(!preflights.is_empty(), "preflight")
}

/// What has to hold of a state of an object; `None` where it is not there.
type Test<'t> = Box<dyn Fn(Option<&Version>) -> bool + 't>;

/// What stood against it during the call, and whether that lasted throughout.
fn faults(case: &Case<'_>, preflight: &Preflight<'_>) -> Vec<(&'static str, bool)> {
    let name = case.begin.admission_check.as_deref().unwrap_or_default();
    let queue = case.begin.cluster_queue.as_deref().unwrap_or_default();
    let of = |kind: Kind, name: &str| case.history.of_kind(kind).rfind(|trail| trail.name == name);
    let check = of(Kind::AdmissionCheck, name);
    let queue = of(Kind::ClusterQueue, queue);
    let check_is = |test: fn(&Case<'_>, &AdmissionCheck) -> bool| -> Test<'_> {
        Box::new(move |version| {
            let raw = version.and_then(|version| case.history.raw(version));
            let check = raw.and_then(|raw| AdmissionCheck::deserialize(raw).ok());
            check.is_none_or(|check| test(case, &check))
        })
    };
    let is_there: Test<'_> = Box::new(|version| version.is_some());
    let is_listed: Test<'_> = Box::new(|version| {
        let raw = version.and_then(|version| case.history.raw(version));
        let queue = raw.and_then(|raw| ClusterQueue::deserialize(raw).ok());
        queue.is_none_or(|queue| lists(&queue, name))
    });
    let named = |case: &Case<'_>, check: &AdmissionCheck| {
        case.begin.controller_name.as_deref() == Some(check.spec.controller_name.as_str())
    };
    let active = |_: &Case<'_>, check: &AdmissionCheck| {
        check.status.as_ref().is_some_and(|status| status.conditions.is_true("Active"))
    };
    let tests = [
        (check, is_there, "the AdmissionCheck does not exist"),
        (check, check_is(named), "the AdmissionCheck names another controller"),
        (check, check_is(active), "the AdmissionCheck is not Active"),
        (queue, is_listed, "the ClusterQueue does not list the check for all flavors"),
    ];
    tests
        .iter()
        .filter_map(|(trail, holds, fault)| {
            let states = during(*trail, preflight.orders);
            let held = states.iter().filter(|state| holds(**state)).count();
            (held < states.len()).then_some((*fault, held == 0))
        })
        .collect()
}

fn lists(queue: &ClusterQueue, check: &str) -> bool {
    let strategy = queue.spec.admission_checks_strategy.as_ref();
    strategy.is_some_and(|strategy| {
        let mut rules = strategy.admission_checks.iter();
        rules.any(|rule| rule.name == check && rule.on_flavors.is_empty())
    })
}

/// The states of an object from one order to another.
fn during(trail: Option<&Trail>, (from, to): (u64, u64)) -> Vec<Option<&Version>> {
    let Some(trail) = trail else { return vec![None] };
    let later = trail.versions().iter().filter(|it| from < it.order && it.order <= to);
    let later = later.map(|version| (!version.is_deletion()).then_some(version));
    [trail.at(from)].into_iter().chain(later).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::history::History;
    use crate::history::told::{CHECK, Told, set_condition};
    use crate::rules::tests::assert_verdict;

    fn queue(strategy: Value) -> Told {
        let mut told = Told::kueue();
        told.change(Kind::ClusterQueue, "cq", |it| {
            it["spec"]["admissionChecksStrategy"] = strategy;
        });
        told
    }

    fn check(change: impl FnOnce(&mut Value)) -> Told {
        let mut told = Told::kueue();
        told.change(Kind::AdmissionCheck, CHECK, change);
        told
    }

    fn inactive() -> Told {
        check(|it| set_condition(it, "Active", "False", "x"))
    }

    fn gone() -> Told {
        let mut told = Told::kueue();
        told.delete(Kind::AdmissionCheck, CHECK);
        told
    }

    pub(super) fn not_listed_and_proved() -> History {
        queue(json!({"admissionChecks": []})).is_proved().history()
    }

    #[rstest]
    #[case::by_the_rules(Told::kueue().is_proved().history(), "pass")]
    #[case::no_preflight(Told::kueue().history(), "n/a")]
    #[case::plain(Told::plain().history(), "n/a")]
    #[case::not_listed(not_listed_and_proved(), "does not list the check for all flavors")]
    #[case::listed_for_one_flavor(
        queue(json!({"admissionChecks": [{"name": CHECK, "onFlavors": ["gpu"]}]})).is_proved()
            .history(),
        "does not list the check for all flavors")]
    #[case::not_listed_and_refused(
        queue(json!({})).preflight().refuses_because("PF-06").history(), "pass")]
    #[case::inactive(inactive().is_proved().history(), "the AdmissionCheck is not Active")]
    #[case::inactive_and_refused(
        inactive().preflight().refuses_because("PF-06").history(), "pass")]
    #[case::refused_for_another_reason(
        inactive().preflight().refuses_because("PF-04").history(), "preflight does not say so")]
    #[case::gone(gone().is_proved().history(), "the AdmissionCheck does not exist")]
    #[case::of_another_controller(
        check(|it| it["spec"]["controllerName"] = json!("x.io/y")).is_proved().history(),
        "names another controller")]
    #[case::refused_without_need(
        Told::kueue().preflight().refuses_because("PF-06").history(), "it was throughout")]
    #[case::active_in_the_meantime(
        inactive().preflight()
            .change(Kind::AdmissionCheck, CHECK, |it| set_condition(it, "Active", "True", "x"))
            .probe().proves().history(),
        "pass")]
    fn the_check_is_served(#[case] history: History, #[case] expected: &str) {
        assert_verdict("PF-06", &history, expected);
    }
}
