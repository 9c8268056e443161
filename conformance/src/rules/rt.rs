//! RT-01 and RT-02: the rights of the subjects.
//!
//! # What they say
//! Adapter and controller work with exactly the RBAC that they ship (RT-01). Without a right there is a
//! clear error that names verb and resource (RT-02).
//!
//! # Why they matter
//! Rights that are missing show on somebody's cluster, in the middle of a call. An error that names the
//! right is one line in a manifest.
//!
//! # How they are judged
//! By the answers that RBAC refused: a webhook that refuses is told by its message. What a fault answered
//! in its place speaks for RT-02 alone. A call in which a write was refused, or whose last request was,
//! has to fail as forbidden.
//!
//! # A history that breaks them
//! The API server refuses a list of pods. `Open` is refused the right to patch, and succeeds.

use dispatch_contract::ErrorKind;

use crate::history::{Call, Ending, Exchange, Kind, Role};
use crate::rules::case::Case;
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const RT_01: Judge = Judge {
    rule: "RT-01",
    reads: &[],
    brings_about: &["RT-02"],
    decide: has_its_rights,
    #[cfg(test)]
    breaking: tests::lacks_a_right,
};

pub(in crate::rules) const RT_02: Judge = Judge {
    rule: "RT-02",
    reads: &[],
    brings_about: &[],
    decide: names_the_right,
    #[cfg(test)]
    breaking: tests::succeeds,
};

/// What the names of `ServiceAccounts` begin with.
const ACCOUNT: &str = "system:serviceaccount:";

fn has_its_rights(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    let mut stranger = None;
    for role in [Role::Adapter, Role::Controller] {
        for exchange in case.requests.of(role) {
            seen = true;
            let user = exchange.request.user.as_deref();
            stranger = stranger.or(user.filter(|user| !user.starts_with(ACCOUNT)));
            if let (Some(message), true) = (refused_by_rbac(exchange), was_refused(exchange)) {
                let because = format!("{} lacks a right: {message}", exchange.request.from);
                return Verdict::fail(because, [exchange.seq]);
            }
        }
    }
    match stranger {
        Some(user) => Verdict::inconclusive(format!(
            "a subject worked as {user}, and not as its ServiceAccount, whose rights are those it ships"
        )),
        None => Verdict::pass_if_seen(seen, "request of a subject in the record"),
    }
}

/// The message by which RBAC refused a request.
fn refused_by_rbac(exchange: &Exchange) -> Option<&str> {
    let ended = exchange.ended.as_ref().filter(|_| exchange.status() == Some(403))?;
    let message = ended.end.refused.as_ref()?.message.as_str();
    let cannot = message.contains("User \"") && message.contains("\" cannot ");
    (cannot && !message.contains("admission webhook")).then_some(message)
}

/// Whether the API server itself refused it.
fn was_refused(exchange: &Exchange) -> bool {
    let ending = exchange.ended.as_ref().map(|ended| ended.end.ending);
    exchange.sent.is_some()
        && matches!(ending, Some(Ending::Answered | Ending::AnswerLost | Ending::GivenUp))
}

fn names_the_right(case: &Case<'_>) -> Verdict {
    if !case.requests.are_logged(Role::Adapter) {
        return Verdict::not_applicable("no request of the adapter's was recorded");
    }
    let mut seen = false;
    for call in case.history.calls().iter().filter(|call| case.requests.is_alone(call)) {
        let own = || case.requests.during(call);
        // What a call tells its caller of: a write, or the request after which it could not go on.
        let is_told = |exchange: &&Exchange| {
            let last = own().next_back().is_some_and(|last| last.seq == exchange.seq);
            let matters =
                !matches!(exchange.request.kind(), None | Some(Kind::Event | Kind::Lease));
            is_forbidden(exchange) && ((exchange.request.is_write() && matters) || last)
        };
        let Some(refused) = own().find(is_told) else { continue };
        seen = true;
        if let Some(wrong) = wrong(call, refused) {
            let verb = call.invoked.verb.as_str();
            let request = &refused.request;
            let because = format!(
                "the adapter may not {} {}, and {verb} {wrong}",
                request.verb, request.resource
            );
            return Verdict::fail(because, call.events().chain([refused.seq]));
        }
    }
    Verdict::pass_if_seen(seen, "call that was stopped by a right that is missing")
}

/// Whether the adapter was told that it may not, by RBAC or by a fault in its place.
fn is_forbidden(exchange: &Exchange) -> bool {
    let ending = exchange.ended.as_ref().map(|ended| ended.end.ending);
    let in_place = ending == Some(Ending::AnsweredInstead) && exchange.status() == Some(403);
    in_place || (ending == Some(Ending::Answered) && refused_by_rbac(exchange).is_some())
}

/// What is wrong with the outcome of a call that lacked a right.
fn wrong(call: &Call, refused: &Exchange) -> Option<String> {
    let Some(error) = call.failed() else {
        return call.ok().map(|_| "succeeded".to_owned());
    };
    if error.kind != ErrorKind::Forbidden {
        return Some(format!("failed as {}", error.kind));
    }
    let request = &refused.request;
    let names = error.message.contains(&request.verb)
        && error.message.contains(request.resource.trim_end_matches('s'));
    (!names).then(|| "did not name verb and resource".to_owned())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::history::told::{ADAPTER, CONTROLLER, NAME, Told, ask};
    use crate::history::{History, Verb};
    use crate::rules::tests::assert_verdict;

    const RBAC: &str = "pods is forbidden: User \"system:serviceaccount:ns:controller\" cannot list \
                        resource \"pods\" in API group \"\" in the namespace \"ns\"";
    const WEBHOOK: &str =
        "admission webhook \"v.x.io\" denied the request: User \"a\" cannot do that";

    fn refused(message: &str) -> Told {
        let mut told = Told::kueue();
        told.request(ask(CONTROLLER, "list", Kind::Pod, "")).sent();
        told.refused(403, "Forbidden", message);
        told
    }

    pub(super) fn lacks_a_right() -> History {
        refused(RBAC).history()
    }

    fn as_user(user: &str) -> History {
        let mut request = ask(CONTROLLER, "get", Kind::TrainJob, NAME);
        request.user = Some(user.to_owned());
        Told::kueue().starts().request(request).sent().answered().history()
    }

    #[rstest]
    #[case::by_the_rules(Told::kueue().waits_by(ADAPTER).goes_by(CONTROLLER, 1).history(), "pass")]
    #[case::as_its_account(as_user("system:serviceaccount:ns:controller"), "pass")]
    #[case::a_webhook_refuses(refused(WEBHOOK).history(), "pass")]
    #[case::a_fault_refuses(in_place().history(), "pass")]
    #[case::no_requests(Told::kueue().runs().history(), "n/a")]
    #[case::as_somebody_else(as_user("admin"), "inconclusive: a subject worked as admin")]
    #[case::lacks_a_right(lacks_a_right(), "controller-0 lacks a right: pods is forbidden")]
    fn subjects_work_with_the_rights_they_ship(#[case] history: History, #[case] expected: &str) {
        assert_verdict("RT-01", &history, expected);
    }

    /// Open, whose patch is refused; its answer is to come.
    fn open() -> Told {
        let mut told = Told::kueue();
        told.starts_by(ADAPTER).calls(Verb::Open).reads(ADAPTER, Kind::TrainJob, NAME);
        told.request(ask(ADAPTER, "patch", Kind::TrainJob, NAME).with(json!({}))).sent();
        told.refused(403, "Forbidden", &RBAC.replace("pods", "trainjobs").replace("list", "patch"));
        told
    }

    /// The same, by a fault.
    fn in_place() -> Told {
        let mut told = Told::kueue();
        told.starts_by(ADAPTER).calls(Verb::Open);
        told.request(ask(ADAPTER, "get", Kind::TrainJob, NAME)).refused_instead(403);
        told
    }

    pub(super) fn succeeds() -> History {
        open().answers(json!({})).history()
    }

    fn aside() -> History {
        let mut told = Told::kueue();
        told.starts_by(ADAPTER).calls(Verb::Status);
        told.request(ask(ADAPTER, "list", Kind::Event, "")).sent().refused(403, "Forbidden", RBAC);
        told.reads(ADAPTER, Kind::TrainJob, NAME).answers(json!({"state": "gated"})).history()
    }

    #[rstest]
    #[case::named(
        open().fails_saying(ErrorKind::Forbidden, "patch trainjobs: not allowed").history(), "pass")]
    #[case::named_by_a_fault(
        in_place().fails_saying(ErrorKind::Forbidden, "get trainjobs n/x").history(), "pass")]
    #[case::what_it_can_do_without(aside(), "n/a")]
    #[case::nothing_is_missing(Told::kueue().starts_by(ADAPTER).history(), "n/a")]
    #[case::succeeds(succeeds(), "the adapter may not patch trainjobs, and open succeeded")]
    #[case::another_kind(
        open().fails(ErrorKind::Unavailable).history(), "and open failed as unavailable")]
    #[case::not_named(
        open().fails(ErrorKind::Forbidden).history(), "did not name verb and resource")]
    fn a_right_that_is_missing_is_named(#[case] history: History, #[case] expected: &str) {
        assert_verdict("RT-02", &history, expected);
    }
}
