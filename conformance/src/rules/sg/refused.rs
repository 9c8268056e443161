//! SG-06: a refused object never runs.
//!
//! # What it says
//! Where `Start` refuses what it created, the object is stopped and none of its pods ever runs. The
//! refusal names each field, with the value that was written and the value that was found.
//!
//! # Why it matters
//! The caller was told that there is no object. One that is left behind holds quota at best, and
//! runs at worst.
//!
//! # A history that breaks it
//! `Start` creates the object, is refused, and the `TrainJob` is there until the end.

use dispatch_contract::ErrorKind;
use serde_json::Value;

use crate::history::{Call, EndedBy, Kind, Verb};
use crate::rules::case::{Case, Family};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const SG_06: Judge = Judge {
    rule: "SG-06",
    reads: &[Kind::TrainJob, Kind::Pod],
    brings_about: &["SG-02"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::left_behind,
};

/// The greatest length of a text that a message has to have whole.
const SAID: usize = 64;

fn judge(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    for call in case.calls(Verb::Start).filter(|call| is_refusal(call)) {
        if let Some(unnamed) = unnamed(case, call) {
            let because =
                format!("Start refused an object, and its message does not name {unnamed}");
            return Verdict::fail(because, call.events());
        }
        for family in created_by(case, call) {
            seen = true;
            let name = &family.trainjob.name;
            let answer = call.answered.as_ref().map(|answered| answered.seq);
            if let Some(pod) = family.pods.first() {
                let because = format!("{name} was refused, and its pod {} came", pod.name);
                let pod = pod.first().map(|version| version.seq);
                return Verdict::fail(because, answer.into_iter().chain(pod));
            }
            let stands = family.trainjob.now().filter(|version| {
                let trainjob = version.trainjob();
                trainjob.is_some_and(|it| it.metadata.deletion_timestamp.is_none())
            });
            let finished = case.history.end().is_some_and(|end| end.why == EndedBy::Finished);
            match stands {
                Some(version) if finished => {
                    let because = format!("{name} was refused, and not deleted");
                    return Verdict::fail(because, answer.into_iter().chain([version.seq]));
                }
                Some(_) => {
                    let why = format!("the run broke off before {name} could be stopped");
                    return Verdict::inconclusive(why);
                }
                None => {}
            }
        }
    }
    Verdict::pass_if_seen(seen, "object that was created and refused")
}

/// A field that was not as it had been written, for which Start refused the object, and which its
/// message does not name, or not with both values.
fn unnamed(case: &Case<'_>, call: &Call) -> Option<String> {
    let error = call.failed()?;
    if !error.rules.iter().any(|rule| rule == "SG-03") {
        return None;
    }
    let says = |value: &Option<Value>| match value {
        Some(Value::String(text)) => text.len() > SAID || error.message.contains(text.as_str()),
        Some(Value::Number(number)) => error.message.contains(&number.to_string()),
        _ => true,
    };
    let all = super::read_back::differences(case, call);
    let missing = all
        .into_iter()
        .find(|it| !(error.message.contains(&it.leaf) && says(&it.written) && says(&it.found)))?;
    Some(missing.to_string())
}

fn is_refusal(call: &Call) -> bool {
    call.failed()
        .is_some_and(|error| matches!(error.kind, ErrorKind::Refused | ErrorKind::Deadline))
}

/// The objects that a call created: those of its name that were not there before it.
fn created_by<'c>(case: &'c Case<'_>, call: &'c Call) -> impl Iterator<Item = &'c Family<'c>> {
    let during = |order: u64| {
        call.invoked_order.is_some_and(|invoked| invoked < order)
            && call.answered_order().is_some_and(|answered| order <= answered)
    };
    case.objects.iter().filter(move |family| {
        call.name() == Some(&family.trainjob.name) && during(family.trainjob.created())
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::history::History;
    use crate::history::told::{ADAPTER, NAME, Told};
    use crate::rules::sg::read_back::tests::created;
    use crate::rules::tests::assert_verdict;

    fn refused(kind: ErrorKind) -> Told {
        let mut told = Told::kueue();
        told.calls_with(Verb::Start, json!({"name": NAME})).create_trainjob().fails(kind);
        told
    }

    pub(super) fn left_behind() -> History {
        refused(ErrorKind::Refused).history()
    }

    /// A label was changed, and the refusal says this.
    fn said(message: &str) -> History {
        let mut told = created(|it| it["metadata"]["labels"]["team"] = json!("blue"));
        told.reads(ADAPTER, Kind::TrainJob, NAME).delete(Kind::TrainJob, NAME);
        told.fails_by(ErrorKind::Refused, message, &["SG-03", "SG-06"]).history()
    }

    #[rstest]
    #[case::the_field_is_named(said("label team: written a, found blue"), "pass")]
    #[case::the_field_is_not_named(
        said("a label: a, not blue"),
        "does not name metadata.labels[team]"
    )]
    #[case::a_value_is_not_named(said("the label team is another one: a"), "does not name")]
    #[case::stopped(
        refused(ErrorKind::Refused).delete(Kind::TrainJob, NAME).history(), "pass")]
    #[case::being_deleted(
        refused(ErrorKind::Deadline)
            .trainjob(|it| it["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"))
            .history(),
        "pass")]
    #[case::accepted(Told::kueue().starts().history(), "n/a")]
    #[case::refused_before_anything_was_created(
        Told::kueue().starts().calls_with(Verb::Start, json!({"name": NAME}))
            .fails(ErrorKind::Refused).history(),
        "n/a")]
    #[case::left_behind(left_behind(), "was refused, and not deleted")]
    #[case::no_workload_in_time(refused(ErrorKind::Deadline).history(), "and not deleted")]
    #[case::its_pod_came(
        refused(ErrorKind::Refused).create_jobset().pod("p", "0").delete(Kind::TrainJob, NAME)
            .history(),
        "its pod p came")]
    fn a_refused_object_never_runs(#[case] history: History, #[case] expected: &str) {
        assert_verdict("SG-06", &history, expected);
    }
}
