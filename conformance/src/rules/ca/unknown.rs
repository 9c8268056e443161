//! CA-05: an unknown outcome is said to be one.
//!
//! # What it says
//! A request that may or may not have been applied, for a time limit or a cut connection, is an unknown
//! outcome: safe to repeat, and repeated after a fresh read.
//!
//! # Why it matters
//! Who takes a lost answer for a refusal tells its caller that nothing was done, and the object runs.
//! Who takes it for a success tells of an object that is not there.
//!
//! # How it is judged
//! By the adapter's writes whose answer it did not get. A later write to the same object, in the same
//! call, needs a read in between. A call that ends without such a read has to answer `unknown`. Where
//! two calls overlap, nobody can tell whose the writes are.
//!
//! # A history that breaks it
//! The answer to Open's update is lost, and the update is sent again at once.

use std::collections::HashMap;

use crate::history::{Call, CallOutcome, Ending, Exchange, Kind, Role, Verb};
use crate::rules::case::Case;
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const CA_05: Judge = Judge {
    rule: "CA-05",
    reads: &[],
    brings_about: &["SG-07", "OP-03"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::repeated_at_once,
};

fn judge(case: &Case<'_>) -> Verdict {
    if !case.requests.are_logged(Role::Adapter) {
        return Verdict::not_applicable("no request of the adapter's was recorded");
    }
    let mut lost: HashMap<(u64, Kind, &str), Lost<'_>> = HashMap::new();
    let mut seen = false;
    for exchange in case.requests.of(Role::Adapter).filter(|it| is_write(it)) {
        let Some(call) = case.requests.call_of(exchange) else { continue };
        let (Some(kind), Some(name)) = (exchange.request.kind(), exchange.request.name.as_deref())
        else {
            continue;
        };
        let object = (call.invoked.call, kind, name);
        if let Some(before) = lost.remove(&object)
            && before.since < exchange.seq
            && !was_read(case, &before, exchange.seq)
        {
            let because = format!(
                "{} was answered with nothing, and the adapter sent a {} of the same object without \
                 reading it first",
                said(before.exchange, kind),
                exchange.request.verb
            );
            return Verdict::fail(because, [before.exchange.seq, exchange.seq]);
        }
        if let Some(since) = lost_at(exchange) {
            seen = true;
            lost.insert(object, Lost { exchange, since, call });
        }
    }
    let mut left: Vec<_> = lost.into_iter().collect();
    left.sort_by_key(|(_, lost)| lost.exchange.seq);
    for ((_, kind, _), lost) in left {
        if let Some(broken) = answered_as_known(case, &lost, kind) {
            return broken;
        }
    }
    Verdict::pass_if_seen(seen, "write of the adapter's whose answer was lost")
}

/// A write whose answer the adapter did not get.
struct Lost<'a> {
    exchange: &'a Exchange,
    /// The event as of which the adapter could know.
    since: u64,
    call: &'a Call,
}

fn is_write(exchange: &Exchange) -> bool {
    let request = &exchange.request;
    let verbs = ["create", "update", "patch", "delete"];
    verbs.contains(&request.verb.as_str()) && !request.is_dry_run()
}

fn said(exchange: &Exchange, kind: Kind) -> String {
    let request = &exchange.request;
    let name = request.name.as_deref().unwrap_or_default();
    format!("the {} of {kind} {name}", request.verb)
}

/// When the adapter was left without an answer that says whether the write was applied.
fn lost_at(exchange: &Exchange) -> Option<u64> {
    let ended = exchange.ended.as_ref()?;
    let lost = match ended.end.ending {
        Ending::AnswerLost | Ending::RequestLost | Ending::GivenUp | Ending::Unreachable => true,
        Ending::Answered | Ending::AnsweredInstead => exchange.status() == Some(504),
        Ending::Cut => false,
    };
    lost.then_some(ended.seq)
}

/// Whether the object was read after the answer was lost and before an event.
fn was_read(case: &Case<'_>, lost: &Lost<'_>, before: u64) -> bool {
    let request = &lost.exchange.request;
    let (Some(kind), Some(name)) = (request.kind(), request.name.as_deref()) else { return true };
    case.requests.read_between(request.from, (kind, name), lost.since, before)
}

/// A call that answers as if it knew what became of a write.
fn answered_as_known(case: &Case<'_>, lost: &Lost<'_>, kind: Kind) -> Option<Verdict> {
    // What preflight does is undone, and its answer says something else.
    if lost.call.invoked.verb == Verb::Preflight {
        return None;
    }
    let answered = lost.call.answered.as_ref()?;
    let what = match &answered.outcome {
        CallOutcome::Ok(_) => "success".to_owned(),
        CallOutcome::Failed(error) => error.kind.to_string(),
        CallOutcome::Unknown(_) => return None,
    };
    if answered.seq < lost.since || was_read(case, lost, answered.seq) {
        return None;
    }
    let because = format!(
        "{} was answered with nothing, the adapter did not read the object again, and {} answered \
         {what}",
        said(lost.exchange, kind),
        lost.call.invoked.verb.as_str()
    );
    Some(Verdict::fail(because, [lost.exchange.seq, answered.seq]))
}

#[cfg(test)]
mod tests {
    use dispatch_contract::{ErrorKind, names};
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::history::told::{ADAPTER, NAME, Told, ask};
    use crate::history::{History, Request};
    use crate::rules::tests::assert_verdict;

    fn update(told: &Told) -> Request {
        let body = json!({"metadata": {"annotations": {names::OPENED: "true"}}});
        let body = told.body(Kind::TrainJob, NAME, body);
        ask(ADAPTER, "patch", Kind::TrainJob, NAME).with(body)
    }

    /// Open, whose update ends like this.
    fn ends(ending: Ending) -> Told {
        let mut told = Told::kueue();
        told.starts_by(ADAPTER).calls(Verb::Open).reads(ADAPTER, Kind::TrainJob, NAME);
        let request = update(&told);
        told.request(request).sent();
        match ending {
            Ending::AnswerLost => told.opens_gate().answer_lost(),
            ending => told.unanswered(ending),
        };
        told
    }

    fn again(told: &mut Told) -> &mut Told {
        let request = update(told);
        told.request(request).sent().answered()
    }

    pub(super) fn repeated_at_once() -> History {
        again(&mut ends(Ending::AnswerLost)).answers(json!({})).history()
    }

    fn timeout() -> Told {
        let mut told = Told::kueue();
        told.starts_by(ADAPTER).calls(Verb::Open).reads(ADAPTER, Kind::TrainJob, NAME);
        let request = update(&told);
        told.request(request).sent().refused(504, "Timeout", "it took too long");
        told
    }

    #[rstest]
    #[case::read_before_it_is_repeated(
        again(ends(Ending::AnswerLost).reads(ADAPTER, Kind::TrainJob, NAME)).answers(json!({}))
            .history(),
        "pass")]
    #[case::read_in_a_list(
        ends(Ending::RequestLost).lists(ADAPTER, Kind::TrainJob).answers(json!({})).history(),
        "pass")]
    #[case::it_is_seen_to_be_done(
        ends(Ending::AnswerLost).reads(ADAPTER, Kind::TrainJob, NAME).answers(json!({})).history(),
        "pass")]
    #[case::it_is_said(ends(Ending::GivenUp).fails(ErrorKind::Unknown).history(), "pass")]
    #[case::nothing_was_lost(
        Told::kueue().starts_by(ADAPTER).opens_by(ADAPTER).history(), "n/a: there was no write")]
    #[case::two_calls_at_once(
        again(ends(Ending::AnswerLost).calls(Verb::Hold)).answers(json!({})).history(), "n/a")]
    #[case::no_requests(Told::kueue().runs().history(), "n/a: no request of the adapter's")]
    #[case::repeated_at_once(repeated_at_once(), "without reading it first")]
    #[case::repeated_after_a_timeout(
        again(&mut timeout()).answers(json!({})).history(), "without reading it first")]
    #[case::taken_for_a_success(
        ends(Ending::AnswerLost).answers(json!({})).history(), "and open answered success")]
    #[case::taken_for_a_refusal(
        ends(Ending::Unreachable).fails(ErrorKind::Unavailable).history(),
        "and open answered unavailable")]
    fn a_lost_answer_is_no_answer(#[case] history: History, #[case] expected: &str) {
        assert_verdict("CA-05", &history, expected);
    }
}
