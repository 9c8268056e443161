//! OP-05: the `TrainJob` says whether the gate is open.
//!
//! # What it says
//! Whether dispatch's gate is open is read from the `TrainJob`, never from the Workload.
//!
//! # Why it matters
//! Kueue copies the gate to the Workload a reconcile later, and not at all while its feature gate is
//! off. Who reads the copy calls an object closed that is open, or open that is closed.
//!
//! # How it is judged
//! By what `Status` and `Open` answered while the two differed from the call to its answer.
//!
//! # A history that breaks it
//! The gate is gone from the `TrainJob`, the Workload still carries it, and `Status` says gated.

use crate::history::{Kind, Trail, Verb, Version};
use crate::rules::ca::status::{answers, state_during};
use crate::rules::case::{Case, Family};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const OP_05: Judge = Judge {
    rule: "OP-05",
    reads: &[Kind::TrainJob, Kind::Workload],
    brings_about: &["CA-04", "OP-01"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::by_the_copy,
};

fn judge(case: &Case<'_>) -> Verdict {
    if !case.is_kueue() {
        return Verdict::not_applicable("there is no gate annotation in plain mode");
    }
    let mut seen = false;
    for family in &case.objects {
        for (call, answer, orders) in answers(case, family) {
            let Some(closed) = while_they_differed(family, orders) else { continue };
            seen = true;
            let found = answer.state.name();
            let expected = state_during(case, family, orders);
            let wrong = match (closed, found) {
                (false, "gated") => true,
                // What comes before it in Status may apply all the same.
                (true, found) => expected == Some("gated") && found != "gated",
                _ => false,
            };
            if wrong {
                return fail(family, closed, &format!("Status said {found}"), call.events());
            }
        }
        for call in case.calls_for(Verb::Open, family.trainjob).filter(|it| it.ok().is_some()) {
            let Some(orders) = call.orders() else { continue };
            let stays = while_they_differed(family, orders) == Some(true);
            seen |= stays;
            if stays {
                return fail(family, true, "Open left the TrainJob so", call.events());
            }
        }
    }
    Verdict::pass_if_seen(seen, "answer while TrainJob and Workload differed in the gate")
}

fn fail(
    family: &Family<'_>,
    closed: bool,
    what: &str,
    events: impl Iterator<Item = u64>,
) -> Verdict {
    let name = &family.trainjob.name;
    let differed = if closed {
        format!("the TrainJob {name} carried dispatch's gate and its Workload did not")
    } else {
        format!("the Workload of {name} carried dispatch's gate and its TrainJob did not")
    };
    Verdict::fail(format!("{differed}, and {what}"), events)
}

/// Whether the `TrainJob` carried the gate throughout, while its Workload throughout said otherwise.
fn while_they_differed(family: &Family<'_>, (from, to): (u64, u64)) -> Option<bool> {
    let workload = family.workloads.iter().find(|workload| workload.at(from).is_some())?;
    let gate = |version: &Version| match (version.trainjob(), version.workload()) {
        (Some(trainjob), _) => Some(trainjob.gates().has_dispatch()),
        (_, Some(workload)) => Some(workload.gates().has_dispatch()),
        _ => None,
    };
    let throughout = |trail: &Trail| -> Option<bool> {
        let first = gate(trail.at(from)?)?;
        let mut later = trail.between(from, to).iter();
        later.all(|version| !version.is_deletion() && gate(version) == Some(first)).then_some(first)
    };
    let (closed, copy) = (throughout(family.trainjob)?, throughout(workload)?);
    (closed != copy).then_some(closed)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::history::History;
    use crate::history::told::Told;
    use crate::rules::tests::assert_verdict;

    fn says(told: &mut Told, state: &Value) -> History {
        told.calls(Verb::Status).answers(json!({"state": state})).history()
    }

    /// Kueue has not taken the gate from its copy yet.
    fn copy_lags() -> Told {
        let mut told = Told::kueue();
        told.starts().calls(Verb::Open).opens_gate().answers(json!({}));
        told
    }

    /// Kueue does not know the gate.
    fn no_copy() -> Told {
        let mut told = Told::kueue();
        told.starts().workload(|it| it["metadata"]["annotations"] = json!({}));
        told
    }

    fn queued() -> Value {
        json!({"queued": {"reason": ""}})
    }

    pub(super) fn by_the_copy() -> History {
        says(&mut copy_lags(), &json!("gated"))
    }

    #[rstest]
    #[case::open_whatever_the_copy_says(says(&mut copy_lags(), &queued()), "pass")]
    #[case::gated_whatever_the_copy_says(says(&mut no_copy(), &json!("gated")), "pass")]
    #[case::opened(
        no_copy().calls(Verb::Open).opens_gate().answers(json!({})).history(), "n/a")]
    #[case::they_agree(says(Told::kueue().starts(), &json!("gated")), "n/a")]
    #[case::no_workload(
        says(Told::kueue().calls_with(Verb::Start, json!({})).create_trainjob(), &json!("gated")),
        "n/a")]
    #[case::plain(Told::plain().history(), "n/a")]
    #[case::by_the_copy(by_the_copy(), "and its TrainJob did not, and Status said gated")]
    #[case::by_a_copy_that_is_not_there(
        says(&mut no_copy(), &queued()), "carried dispatch's gate and its Workload did not")]
    #[case::open_sees_no_gate(
        no_copy().calls(Verb::Open).answers(json!({})).history(), "and Open left the TrainJob so")]
    fn the_gate_is_read_from_the_trainjob(#[case] history: History, #[case] expected: &str) {
        assert_verdict("OP-05", &history, expected);
    }
}
