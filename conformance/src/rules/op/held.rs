//! OP-10: Open leaves a hold.
//!
//! # What it says
//! `Open` of a held object opens its gate and leaves it held.
//!
//! # Why it matters
//! Who holds an object before it is opened wants it not to run when it is. Only `Release` ends a hold.
//!
//! # How it is judged
//! Only where no `Release` or `Hold` of the object was under way meanwhile. Where the adapter's requests
//! are recorded, what somebody else wrote is not blamed on `Open`.
//!
//! # A history that breaks it
//! The object is held, and after `Open` the hold mark is gone.

use dispatch_contract::resources::Workload;

use crate::history::{Call, Kind, Role, Verb, Version};
use crate::rules::answers::is_excused;
use crate::rules::case::{Case, Family};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const OP_10: Judge = Judge {
    rule: "OP-10",
    reads: &[Kind::TrainJob, Kind::Workload],
    brings_about: &["RG-16"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::releases,
};

fn judge(case: &Case<'_>) -> Verdict {
    if !case.is_kueue() {
        return Verdict::not_applicable("what Open does in plain mode is OP-06's");
    }
    let mut seen = false;
    for family in &case.objects {
        for call in case.calls_for(Verb::Open, family.trainjob) {
            let Some(orders) = call.orders() else { continue };
            if !is_closed_and_held(family, orders.0) || held_or_released(case, family, call) {
                continue;
            }
            seen |= call.ok().is_some() || call.failed().is_some();
            if let Some((wrong, seq)) = wrong(case, family, call, orders) {
                let because = format!("{} was held, and Open {wrong}", family.trainjob.name);
                return Verdict::fail(because, call.events().chain(seq));
            }
        }
    }
    Verdict::pass_if_seen(seen, "Open of a held object")
}

fn is_closed_and_held(family: &Family<'_>, order: u64) -> bool {
    let at = family.trainjob.at(order).and_then(Version::trainjob);
    at.is_some_and(|it| {
        let ended = it.end().is_some() || it.ended_mark().is_some();
        let going = it.metadata.deletion_timestamp.is_some();
        it.hold_token().is_some() && it.gates().has_dispatch() && !ended && !going
    })
}

/// Whether a call that may end the hold was under way beside this one.
fn held_or_released(case: &Case<'_>, family: &Family<'_>, open: &Call) -> bool {
    let until = |call: &Call| call.answered.as_ref().map_or(u64::MAX, |answered| answered.seq);
    let overlaps = |call: &Call| call.invoked_seq < until(open) && open.invoked_seq < until(call);
    [Verb::Release, Verb::Hold]
        .iter()
        .any(|verb| case.calls_for(*verb, family.trainjob).any(overlaps))
}

fn wrong(
    case: &Case<'_>,
    family: &Family<'_>,
    call: &Call,
    (from, to): (u64, u64),
) -> Option<(String, Option<u64>)> {
    if let Some(error) = call.failed() {
        return (!is_excused(call)).then(|| (format!("failed as {}", error.kind), None));
    }
    let token =
        |version: &Version| version.trainjob().and_then(|it| it.hold_token()).map(str::to_owned);
    let first = token(family.trainjob.at(from)?);
    let loses = |version: &&Version| !version.is_deletion() && token(version) != first;
    let mut later = family.trainjob.between(from, to).iter();
    if let Some(version) = later.find(loses)
        && is_the_adapters(case, Kind::TrainJob, version)
    {
        return Some(("did not leave the hold mark".to_owned(), Some(version.seq)));
    }
    let active = |version: &Version| version.workload().is_some_and(Workload::is_active);
    for workload in &family.workloads {
        let before = workload.at(from).is_some_and(|version| !active(version));
        let goes = workload.between(from, to).iter().find(|it| active(it));
        if let (true, Some(version)) = (before, goes)
            && is_the_adapters(case, Kind::Workload, version)
        {
            return Some(("activated its Workload".to_owned(), Some(version.seq)));
        }
    }
    call.ok()?;
    let opened = family.trainjob.at(to).and_then(Version::trainjob)?;
    let is_open = opened.is_opened() && !opened.gates().has_dispatch();
    (!is_open).then(|| ("succeeded, and did not open its gate".to_owned(), None))
}

/// Whether the adapter wrote a version; where its requests are not recorded, it is taken for that.
fn is_the_adapters(case: &Case<'_>, kind: Kind, version: &Version) -> bool {
    let by = case.requests.that_made(kind, version.order).map(|it| it.request.from.role);
    !case.requests.are_logged(Role::Adapter) || by == Some(Role::Adapter)
}

#[cfg(test)]
mod tests {
    use dispatch_contract::{ErrorKind, names};
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::history::History;
    use crate::history::told::{ADAPTER, NAME, Told, ask};
    use crate::rules::tests::assert_verdict;

    fn held() -> Told {
        let mut told = Told::kueue();
        told.starts().holds("a").calls(Verb::Open);
        told
    }

    fn unmark(trainjob: &mut Value) {
        trainjob["metadata"]["annotations"].as_object_mut().unwrap().remove(names::HELD);
    }

    pub(super) fn releases() -> History {
        held().opens_gate().trainjob(unmark).answers(json!({})).history()
    }

    /// An administrator takes the mark away while the adapter opens.
    fn by_somebody_else() -> History {
        let mut told = held();
        told.reads(ADAPTER, Kind::TrainJob, NAME).opens_gate_by(ADAPTER).trainjob(unmark);
        told.answers(json!({})).history()
    }

    fn by_a_request() -> History {
        let mut told = held();
        told.reads(ADAPTER, Kind::TrainJob, NAME).opens_gate_by(ADAPTER);
        let body = json!({"metadata": {"annotations": {names::HELD: null}}});
        let body = told.body(Kind::TrainJob, NAME, body);
        told.writes(ask(ADAPTER, "patch", Kind::TrainJob, NAME).with(body), unmark);
        told.answers(json!({})).history()
    }

    #[rstest]
    #[case::stays_held(held().opens_gate().answers(json!({})).history(), "pass")]
    #[case::the_cluster_is_away(held().fails(ErrorKind::Unavailable).history(), "pass")]
    #[case::not_held(Told::kueue().starts().opens().history(), "n/a")]
    #[case::open_already(
        Told::kueue().runs().holds("a").calls(Verb::Open).answers(json!({})).history(), "n/a")]
    #[case::released_meanwhile(
        held().calls(Verb::Release).opens_gate().trainjob(unmark).answers(json!({})).history(),
        "n/a")]
    #[case::released_by_somebody_else(by_somebody_else(), "pass")]
    #[case::plain(Told::plain().history(), "n/a")]
    #[case::releases(releases(), "did not leave the hold mark")]
    #[case::releases_by_a_request(by_a_request(), "did not leave the hold mark")]
    #[case::holds_by_another_token(
        held().opens_gate().marks_held("b").answers(json!({})).history(),
        "did not leave the hold mark")]
    #[case::activates(
        held().opens_gate().sets_active(true).answers(json!({})).history(),
        "activated its Workload")]
    #[case::does_not_open(held().answers(json!({})).history(), "did not open its gate")]
    #[case::fails(held().fails(ErrorKind::Refused).history(), "Open failed as refused")]
    fn open_leaves_the_hold(#[case] history: History, #[case] expected: &str) {
        assert_verdict("OP-10", &history, expected);
    }
}
