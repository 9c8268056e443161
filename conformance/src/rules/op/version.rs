//! OP-03: every write carries the version that it was decided from.
//!
//! # What it says
//! Every write of the adapter to an object that exists carries the resourceVersion of the read it was
//! decided from; on a conflict it reads again and decides again.
//!
//! # Why it matters
//! Between the read and the write an administrator adds a gate, or somebody holds the object. A write
//! without the version undoes that, or lets an object go that was closed again.
//!
//! # How it is judged
//! By the adapter's updates and patches of objects that are recorded, whatever became of them. Deletes
//! are CA-03's. A version is delivered by an event of a watch, by an answer, or in a list. After a
//! conflict the same version may be sent again only if a read in between brought it again; where two
//! calls overlap, nobody can tell whose the writes are.
//!
//! # A history that breaks it
//! `Open` patches the `TrainJob` without a resourceVersion.

use std::collections::HashMap;

use crate::history::{Ending, Exchange, Kind, Role, Version};
use crate::rules::case::Case;
use crate::rules::requests::Carried;
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const OP_03: Judge = Judge {
    rule: "OP-03",
    reads: &[Kind::TrainJob, Kind::Workload, Kind::TrainingRuntime],
    brings_about: &["OP-01", "OP-10", "CA-01", "CA-02"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::without_a_version,
};

fn judge(case: &Case<'_>) -> Verdict {
    if !case.requests.are_logged(Role::Adapter) {
        return Verdict::not_applicable("no request of the adapter's was recorded");
    }
    let mut refused: HashMap<(Kind, &str), &Exchange> = HashMap::new();
    let mut unrecorded = None;
    let mut seen = false;
    for (exchange, kind) in case.requests.changes(Role::Adapter) {
        if matches!(kind, Kind::Event | Kind::Lease) {
            continue;
        }
        seen = true;
        let fail = |why: String, seqs: Vec<u64>| {
            let because = format!("{} {why}", said(exchange, kind));
            Verdict::fail(because, seqs.into_iter().chain([exchange.seq]))
        };
        let seq = |version: &Version| version.seq;
        match case.requests.carried(exchange, kind) {
            Carried::Nothing => return fail("carried no resourceVersion".to_owned(), Vec::new()),
            Carried::NeverDelivered(named, version) => {
                let why = format!("carried version {named}, which it had never read");
                return fail(why, version.map(seq).into_iter().collect());
            }
            Carried::NoBody => {
                unrecorded =
                    Some(format!("{} has a body that was not recorded", said(exchange, kind)));
            }
            Carried::Unrecorded(named) => {
                unrecorded = Some(format!(
                    "{} carried version {named}, which was not recorded",
                    said(exchange, kind)
                ));
            }
            Carried::Version(..) => {}
        }
        let object = (kind, exchange.request.name.as_deref().unwrap_or_default());
        if let Some(before) = refused.remove(&object)
            && sends_again(case, object, before, exchange)
        {
            let why = "was sent after a conflict, from the version that had been refused, and \
                       nothing was read in between";
            return fail(why.to_owned(), vec![before.seq]);
        }
        if is_conflict(exchange) {
            refused.insert(object, exchange);
        }
    }
    match unrecorded {
        Some(why) => Verdict::inconclusive(why),
        None => Verdict::pass_if_seen(seen, "write of the adapter's to an object that exists"),
    }
}

fn said(exchange: &Exchange, kind: Kind) -> String {
    let request = &exchange.request;
    let name = request.name.as_deref().unwrap_or_default();
    format!("the {} of {kind} {name} by {}", request.verb, request.from)
}

fn is_conflict(exchange: &Exchange) -> bool {
    let Some(ended) = &exchange.ended else { return false };
    let got = matches!(ended.end.ending, Ending::Answered | Ending::AnsweredInstead);
    let reason = ended.end.refused.as_ref().map(|refused| refused.reason.as_str());
    got && exchange.status() == Some(409) && reason != Some("AlreadyExists")
}

/// Whether one call sent a write again from the version that had been refused.
fn sends_again(case: &Case<'_>, object: (Kind, &str), before: &Exchange, after: &Exchange) -> bool {
    let call = |exchange| case.requests.call_of(exchange).map(|call| call.invoked.call);
    let told = before.ended.as_ref().map_or(u64::MAX, |ended| ended.seq);
    before.request.from == after.request.from
        && call(before).is_some()
        && call(before) == call(after)
        && before.request.precondition() == after.request.precondition()
        && told < after.seq
        && !case.requests.read_between(after.request.from, object, told, after.seq)
}

#[cfg(test)]
mod tests {
    use dispatch_contract::names;
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::history::told::{ADAPTER, NAME, Told, ask};
    use crate::history::{History, Request, Verb};
    use crate::rules::tests::assert_verdict;

    fn opening() -> Told {
        let mut told = Told::kueue();
        told.starts_by(ADAPTER).calls(Verb::Open).reads(ADAPTER, Kind::TrainJob, NAME);
        told
    }

    pub(super) fn without_a_version() -> History {
        let body = json!({"metadata": {"annotations": {names::OPENED: "true"}}});
        let request = ask(ADAPTER, "patch", Kind::TrainJob, NAME).with(body);
        opening().writes(request, |_| {}).answers(json!({})).history()
    }

    fn opened(told: &mut Told) -> History {
        told.opens_gate_by(ADAPTER).answers(json!({})).history()
    }

    fn update(told: &Told) -> Request {
        let body = told.body(Kind::TrainJob, NAME, json!({}));
        ask(ADAPTER, "patch", Kind::TrainJob, NAME).with(body)
    }

    /// An update that is refused since somebody wrote in between; what follows, with that update.
    fn conflict(follows: impl FnOnce(&mut Told, Request)) -> History {
        let mut told = opening();
        let stale = update(&told);
        told.trainjob(|it| it["metadata"]["labels"] = json!({"a": "b"}));
        told.request(stale.clone()).sent().refused(409, "Conflict", "it was modified");
        follows(&mut told, stale);
        told.history()
    }

    #[rstest]
    #[case::by_the_rules(opened(&mut opening()), "pass")]
    #[case::read_again_after_a_conflict(
        conflict(|told, _| {
            told.reads(ADAPTER, Kind::TrainJob, NAME).opens_gate_by(ADAPTER).answers(json!({}));
        }),
        "pass")]
    #[case::a_conflict_that_was_made_up(
        conflict(|told, stale| {
            told.reads(ADAPTER, Kind::TrainJob, NAME).request(stale).sent().answered();
        }),
        "pass")]
    #[case::another_call(
        conflict(|told, stale| {
            told.answers(json!({})).calls(Verb::Open).request(stale).sent()
                .refused(409, "Conflict", "it was modified");
        }),
        "pass")]
    #[case::two_calls_at_once(
        conflict(|told, stale| {
            told.calls(Verb::Open).request(stale).sent().refused(409, "Conflict", "x");
        }),
        "pass")]
    #[case::no_requests(Told::kueue().runs().history(), "n/a: no request of the adapter's")]
    #[case::no_writes(Told::kueue().starts_by(ADAPTER).history(), "n/a: there was no write")]
    #[case::without_a_version(without_a_version(), "by adapter carried no resourceVersion")]
    #[case::from_a_version_that_it_had_not_read(
        opened(opening().trainjob(|it| it["metadata"]["labels"] = json!({"a": "b"}))),
        "which it had never read")]
    #[case::sent_again_without_a_read(
        conflict(|told, stale| { told.request(stale).sent().refused(409, "Conflict", "x"); }),
        "and nothing was read in between")]
    fn a_write_carries_the_version_of_its_read(#[case] history: History, #[case] expected: &str) {
        assert_verdict("OP-03", &history, expected);
    }
}
