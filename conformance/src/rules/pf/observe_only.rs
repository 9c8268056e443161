//! PF-02: without a proved gate, nothing is started.
//!
//! # What it says
//! After a preflight that did not prove the gate, `Start`, `Open` and `Release` are refused with the
//! reason; `Status`, `List`, `Stop` and `Hold` work.
//!
//! # Why it matters
//! An adapter on a cluster whose gate leaks must not start anything, and must still let people look
//! and stop.
//!
//! # A history that breaks it
//! Preflight answers observe-only, and `Start` succeeds.

use dispatch_contract::ErrorKind;

use super::{Preflight, preflights, was_restarted};
use crate::history::{Call, Verb};
use crate::rules::case::Case;
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const PF_02: Judge = Judge {
    rule: "PF-02",
    reads: &[],
    brings_about: &["SG-02", "SG-05"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::starts_all_the_same,
};

fn judge(case: &Case<'_>) -> Verdict {
    let preflights = preflights(case);
    let mut seen = false;
    for call in case.history.calls() {
        let answered = |seq: &u64| *seq < call.invoked_seq;
        let last = preflights
            .iter()
            .rev()
            .filter(|it| it.call.invoked.subject == call.invoked.subject)
            .find(|it| answered(&it.events()[1]));
        let Some(preflight) = last.filter(|preflight| !preflight.proved()) else { continue };
        // Without a controller an adapter that is open goes on (PF-04).
        if lacks_a_controller_alone(preflight) && was_proved(case, &preflights, preflight) {
            continue;
        }
        seen |= call.answered.is_some() && call.invoked.verb != Verb::Preflight;
        if let Some((what, seq)) = wrong(call) {
            let verb = call.invoked.verb.as_str();
            let because = format!("the adapter was observe-only, and {verb} {what}");
            return Verdict::fail(because, [preflight.events()[1], call.invoked_seq, seq]);
        }
    }
    if let Some(silent) = preflights.iter().find(|it| !it.proved() && it.answer.reasons.is_empty())
    {
        return Verdict::fail(
            "preflight made the adapter observe-only without a reason",
            silent.events(),
        );
    }
    Verdict::pass_if_seen(seen, "call to an adapter that was observe-only")
}

fn lacks_a_controller_alone(preflight: &Preflight<'_>) -> bool {
    preflight.answer.reasons.iter().all(|reason| reason.rule == "PF-04")
}

/// Whether an earlier preflight had proved the gate to the same process.
fn was_proved(case: &Case<'_>, all: &[Preflight<'_>], preflight: &Preflight<'_>) -> bool {
    all.iter().any(|it| {
        it.proved()
            && it.events()[1] < preflight.call.invoked_seq
            && it.call.invoked.subject == preflight.call.invoked.subject
            && !was_restarted(case, it.events()[1], preflight.call.invoked_seq)
    })
}

/// What a call did that an observe-only adapter does not do.
fn wrong(call: &Call) -> Option<(&'static str, u64)> {
    let seq = call.answered.as_ref()?.seq;
    let refusal = call.failed().map(|error| error.kind == ErrorKind::ObserveOnly);
    let starts = matches!(call.invoked.verb, Verb::Start | Verb::Open | Verb::Release);
    let silent = call.failed().is_some_and(|error| error.message.trim().is_empty());
    let what = match (starts, refusal) {
        (true, Some(true)) if silent => "was refused without the reason",
        (true, None) => "was not refused",
        (true, Some(false)) => "failed for another reason",
        (false, Some(true)) => "was refused",
        _ => return None,
    };
    Some((what, seq))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::history::told::Told;
    use crate::history::{History, SubjectChange};
    use crate::rules::tests::assert_verdict;

    fn refused() -> Told {
        let mut told = Told::kueue();
        told.preflight().refuses_because("PF-01");
        told
    }

    pub(super) fn starts_all_the_same() -> History {
        refused().starts().history()
    }

    #[rstest]
    #[case::refused(
        refused().calls(Verb::Start).fails(ErrorKind::ObserveOnly).history(), "pass")]
    #[case::status_works(refused().calls(Verb::Status).answers(json!({})).history(), "pass")]
    #[case::stop_may_fail_otherwise(
        refused().calls(Verb::Stop).fails(ErrorKind::Deadline).history(), "pass")]
    #[case::proved_later(refused().is_proved().starts().history(), "n/a")]
    #[case::without_a_controller_as_before(
        Told::kueue().is_proved().preflight().refuses_because("PF-04").starts().history(), "n/a")]
    #[case::without_a_controller_after_a_restart(
        Told::kueue().is_proved().adapter(SubjectChange::Started).preflight()
            .refuses_because("PF-04").starts().history(),
        "start was not refused")]
    #[case::without_a_controller(
        Told::kueue().preflight().refuses_because("PF-04").starts().history(),
        "start was not refused")]
    #[case::proved(Told::kueue().is_proved().starts().history(), "n/a")]
    #[case::starts_all_the_same(starts_all_the_same(), "start was not refused")]
    #[case::another_reason(
        refused().calls(Verb::Open).fails(ErrorKind::NotFound).history(),
        "open failed for another reason")]
    #[case::refused_without_the_reason(
        refused().calls(Verb::Open).fails_saying(ErrorKind::ObserveOnly, "").history(),
        "open was refused without the reason")]
    #[case::hold_is_refused(
        refused().calls(Verb::Hold).fails(ErrorKind::ObserveOnly).history(), "hold was refused")]
    #[case::without_a_reason(
        Told::kueue().preflight()
            .answers(json!({"observeOnly": true, "reasons": [], "readmissionGate": "yes"}))
            .history(),
        "without a reason")]
    fn an_unproved_adapter_only_observes(#[case] history: History, #[case] expected: &str) {
        assert_verdict("PF-02", &history, expected);
    }
}
