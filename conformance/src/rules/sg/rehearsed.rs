//! SG-08: Start is rehearsed.
//!
//! # What it says
//! Before creating, `Start` sends the same create as a dry run, and refuses if the answer differs in what
//! the read-back compares. An object with Kueue's prebuilt-workload label or its elastic annotation is
//! refused.
//!
//! # Why it matters
//! What a webhook does to the object shows before there is one: nothing has to be stopped that may have
//! started already. With a prebuilt Workload Kueue starts the object past its gate.
//!
//! # How it is judged
//! By the creates that the adapter sent during a call of `Start`, where no other call overlaps. The answer
//! to a dry run is not recorded; it differs for certain where a fault changed the body.
//!
//! # A history that breaks it
//! `Start` creates the object without a dry run.

use dispatch_contract::names;
use serde_json::Value;

use super::compare::compare;
use crate::history::{Call, Ending, Exchange, Kind, Role, Verb};
use crate::rules::case::Case;
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const SG_08: Judge = Judge {
    rule: "SG-08",
    reads: &[Kind::TrainJob],
    brings_about: &["SG-03", "SG-02"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::not_rehearsed,
};

fn judge(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    let mut open = None;
    for call in case.calls(Verb::Start).filter(|call| case.requests.is_alone(call)) {
        let creates: Vec<_> = case.requests.during(call).filter(|it| is_create(it)).collect();
        let for_good = |it: &&&Exchange| !it.request.is_dry_run() && it.sent.is_some();
        let showed = creates.iter().any(|it| it.request.is_dry_run() && shows_another(it));
        seen |= showed && call.failed().is_some() && creates.iter().find(for_good).is_none();
        for create in creates.iter().filter(for_good) {
            seen = true;
            let name = create.request.name.as_deref().unwrap_or_default();
            let Some(body) = &create.request.body else {
                open = Some(format!("the body of the create of {name} was not recorded"));
                continue;
            };
            let earlier =
                creates.iter().filter(|it| it.request.is_dry_run() && it.seq < create.seq);
            if let Some(wrong) = unrehearsed(body, earlier.copied()) {
                let because = format!("Start created {name}, {wrong}");
                return Verdict::fail(because, call.events().chain([create.seq]));
            }
        }
    }
    for call in case.calls(Verb::Start) {
        if let Some((key, seq)) = accepted(case, call) {
            let because = format!("Start succeeded, and the object carried {key}");
            return Verdict::fail(because, call.events().chain([seq]));
        }
    }
    match open {
        Some(why) => Verdict::inconclusive(why),
        None if case.requests.are_logged(Role::Adapter) => {
            Verdict::pass_if_seen(seen, "create of an object")
        }
        None => Verdict::not_applicable("no request of the adapter's was recorded"),
    }
}

/// Whether the answer to a dry run certainly differed from what was tried.
fn shows_another(dry: &Exchange) -> bool {
    let changed = dry.sent.as_ref().and_then(|sent| sent.sent.changed_body.as_ref());
    let tried = dry.request.body.as_ref().zip(changed);
    tried.is_some_and(|(body, changed)| !compare(body, changed).differences.is_empty())
}

fn is_create(exchange: &Exchange) -> bool {
    let request = &exchange.request;
    request.from.role == Role::Adapter
        && request.verb == "create"
        && request.kind() == Some(Kind::TrainJob)
}

/// What is wrong with the dry runs before a create.
fn unrehearsed<'e>(body: &Value, dry: impl Iterator<Item = &'e Exchange>) -> Option<String> {
    let dry: Vec<_> = dry.collect();
    if dry.is_empty() {
        return Some("and had not tried it by a dry run".to_owned());
    }
    let same: Vec<_> = dry.iter().filter(|it| it.request.body.as_ref() == Some(body)).collect();
    if same.is_empty() {
        return Some("and had tried another object by its dry run".to_owned());
    }
    let got = |it: &&&&Exchange| {
        let ended = it.ended.as_ref().map(|ended| ended.end.ending);
        let success = it.status().is_some_and(|status| (200..300).contains(&status));
        success && ended == Some(Ending::Answered)
    };
    let Some(tried) = same.iter().rfind(got) else {
        return Some("and its dry run had not succeeded".to_owned());
    };
    let changed = tried.sent.as_ref()?.sent.changed_body.as_ref()?;
    let differences = compare(body, changed).differences;
    let difference = differences.first()?;
    Some(format!("and its dry run had shown another object: {difference}"))
}

/// What an accepted object carries that starts it by another way than its gate.
fn accepted(case: &Case<'_>, call: &Call) -> Option<(&'static str, u64)> {
    call.ok()?;
    let (uid, order) = (call.uid()?, call.answered_order()?);
    let version = case.history.object(uid)?.at(order)?;
    let metadata = &case.history.raw(version)?["metadata"];
    let carries = [
        ("labels", names::PREBUILT_WORKLOAD, "Kueue's label of a prebuilt Workload"),
        ("annotations", names::ELASTIC_JOB, "Kueue's annotation of an elastic job"),
    ];
    let (_, _, what) = carries.iter().find(|(part, key, _)| !metadata[part][key].is_null())?;
    Some((what, version.seq))
}

#[cfg(test)]
mod tests {
    use dispatch_contract::ErrorKind;
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::history::told::{ADAPTER, NAME, Told, UID, ask, start_input};
    use crate::history::{History, Request};
    use crate::rules::tests::assert_verdict;

    fn create() -> Request {
        ask(ADAPTER, "create", Kind::TrainJob, NAME).with(Told::created_body())
    }

    /// What is sent first, and then the create.
    fn after(first: impl FnOnce(&mut Told)) -> History {
        let mut told = Told::kueue();
        told.calls_with(Verb::Start, start_input());
        first(&mut told);
        told.request(create()).sent().create_trainjob().answered();
        told.answers(json!({"name": NAME, "uid": UID})).history()
    }

    pub(super) fn not_rehearsed() -> History {
        after(|_| {})
    }

    fn another() -> Request {
        let mut body = Told::created_body();
        body["spec"]["trainer"] = json!({"numNodes": 2});
        ask(ADAPTER, "create", Kind::TrainJob, NAME).with(body).dry()
    }

    fn changed() -> Value {
        let mut body = Told::created_body();
        body["metadata"]["annotations"] = json!({});
        body
    }

    fn prebuilt() -> History {
        let mut told = Told::kueue();
        told.calls_with(Verb::Start, start_input()).create_trainjob();
        told.trainjob(|it| it["metadata"]["labels"] = json!({names::PREBUILT_WORKLOAD: "w"}));
        told.answers(json!({"name": NAME, "uid": UID})).history()
    }

    #[rstest]
    #[case::by_the_rules(after(|it| { it.request(create().dry()).sent().answered(); }), "pass")]
    #[case::tried_twice(
        after(|it| {
            it.request(create().dry()).sent().answer_lost();
            it.request(create().dry()).sent().answered();
        }),
        "pass")]
    #[case::refused_beforehand(
        Told::kueue().calls_with(Verb::Start, start_input()).request(create().dry())
            .sent_as(Some(changed())).answered().fails(ErrorKind::Refused).history(),
        "pass")]
    #[case::no_requests(Told::kueue().starts().history(), "n/a: no request of the adapter's")]
    #[case::not_rehearsed(not_rehearsed(), "and had not tried it by a dry run")]
    #[case::rehearsed_afterwards(
        Told::kueue().calls_with(Verb::Start, start_input()).request(create()).sent()
            .create_trainjob().answered().request(create().dry()).sent().answered()
            .answers(json!({"name": NAME, "uid": UID})).history(),
        "and had not tried it by a dry run")]
    #[case::another_object(
        after(|it| { it.request(another()).sent().answered(); }), "had tried another object")]
    #[case::the_dry_run_was_refused(
        after(|it| { it.request(create().dry()).sent().refused(403, "Forbidden", "x"); }),
        "and its dry run had not succeeded")]
    #[case::its_answer_was_lost(
        after(|it| { it.request(create().dry()).sent().answer_lost(); }),
        "and its dry run had not succeeded")]
    #[case::its_answer_differed(
        after(|it| { it.request(create().dry()).sent_as(Some(changed())).answered(); }),
        "and its dry run had shown another object: metadata.annotations[")]
    #[case::prebuilt(prebuilt(), "carried Kueue's label of a prebuilt Workload")]
    fn a_create_is_tried_first(#[case] history: History, #[case] expected: &str) {
        assert_verdict("SG-08", &history, expected);
    }
}
