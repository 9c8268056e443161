//! PF-03: preflight reports the readmission gate.
//!
//! # What it says
//! Preflight reports `ReadmissionGate`: yes; or no, with the reason that plain mode needs none.
//!
//! # Why it matters
//! Whether a job that is preempted comes back under a new identity is what the operator has to know of a
//! cluster before anything is started there.
//!
//! # How it is judged
//! With Kueue a gate that is proved is one that is there; where preflight proves nothing, it may also be
//! missing, for a reason that is said. In plain mode there is none.
//!
//! # A history that breaks it
//! Preflight finds the gates proved, and says that there is no readmission gate.

use dispatch_contract::{PreflightAnswer, ReadmissionGate};
use serde::Deserialize;

use crate::history::Verb;
use crate::rules::case::Case;
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const PF_03: Judge = Judge {
    rule: "PF-03",
    reads: &[],
    brings_about: &[],
    decide: judge,
    #[cfg(test)]
    breaking: tests::proved_without_a_gate,
};

fn judge(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    for call in case.calls(Verb::Preflight) {
        let Some(answer) = call.ok() else { continue };
        seen = true;
        let wrong = match PreflightAnswer::deserialize(answer) {
            Err(error) => Some(format!("cannot be read: {error}")),
            Ok(answer) => match (&answer.readmission_gate, case.is_kueue()) {
                (ReadmissionGate::No(reason), _) if reason.trim().is_empty() => {
                    Some("says that there is no readmission gate, and not why".to_owned())
                }
                (ReadmissionGate::No(reason), true) if !answer.observe_only => {
                    Some(format!("finds the gates proved, and no readmission gate: {reason}"))
                }
                (ReadmissionGate::Yes, false) => {
                    Some("says that there is a readmission gate in plain mode".to_owned())
                }
                _ => None,
            },
        };
        if let Some(wrong) = wrong {
            return Verdict::fail(format!("the answer of preflight {wrong}"), call.events());
        }
    }
    Verdict::pass_if_seen(seen, "preflight that was answered")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use crate::history::History;
    use crate::history::told::Told;
    use crate::rules::tests::assert_verdict;

    fn answers(mut told: Told, observe_only: bool, gate: Value) -> History {
        let mut answer = json!({"observeOnly": observe_only, "reasons": []});
        answer["readmissionGate"] = gate;
        told.preflight().answers(answer).history()
    }

    fn no(reason: &str) -> Value {
        json!({"no": reason})
    }

    pub(super) fn proved_without_a_gate() -> History {
        answers(Told::kueue(), false, no("nobody serves the check"))
    }

    #[rstest]
    #[case::yes(answers(Told::kueue(), false, json!("yes")), "pass")]
    #[case::unproved_and_none(answers(Told::kueue(), true, no("nobody serves")), "pass")]
    #[case::plain(answers(Told::plain(), false, no("plain mode needs none")), "pass")]
    #[case::no_preflight(Told::kueue().starts().history(), "n/a")]
    #[case::proved_without_a_gate(proved_without_a_gate(), "proved, and no readmission gate")]
    #[case::without_a_reason(answers(Told::kueue(), true, no(" ")), "and not why")]
    #[case::plain_and_yes(answers(Told::plain(), false, json!("yes")), "gate in plain mode")]
    #[case::nothing_is_said(
        Told::kueue().preflight().answers(json!({"observeOnly": false, "reasons": []})).history(),
        "cannot be read")]
    fn preflight_reports_the_readmission_gate(#[case] history: History, #[case] expected: &str) {
        assert_verdict("PF-03", &history, expected);
    }
}
