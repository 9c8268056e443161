//! RG-06: a stale write is refused.
//!
//! # What it says
//! Every decision comes from one read of the Workload, and every write carries the resourceVersion of
//! its read: the version that a write names was delivered to that replica before. That of a Ready
//! fulfils RG-01, RG-03 and RG-12; that of a raise was suspended.
//!
//! # Why it matters
//! A leader that stalls between its read and its write goes on with what it knew. Without a version
//! its Ready is taken, and lets an execution start that nobody raised for.
//!
//! # How it is judged
//! By the requests of the controller's replicas: updates and patches of Workloads and `TrainJobs`,
//! whatever became of them. A version is delivered by an event of a watch, by an answer, or in a list.
//! The start gate (RG-12) is in the `TrainJob`: it has to be open at some time from that version of the
//! Workload to the write.
//!
//! # A history that breaks it
//! The check is set Ready by a patch of the Workload's status that carries no resourceVersion.

use std::collections::HashMap;

use dispatch_contract::AdmissionCount;
use dispatch_contract::resources::{CheckState, TrainJob};

use crate::history::{Asks, Exchange, Kind, Role, Trail, Version};
use crate::rules::case::{self, Case, Claim, Claimed, Family};
use crate::rules::requests::Carried;
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const RG_06: Judge = Judge {
    rule: "RG-06",
    reads: &[Kind::Workload, Kind::TrainJob],
    brings_about: &["RG-01", "RG-05", "RG-17", "EX-01", "EX-02", "EX-03"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::without_a_version,
};

fn judge(case: &Case<'_>) -> Verdict {
    if !case.requests.are_logged(Role::Controller) {
        return Verdict::not_applicable("no request of the controller's was recorded");
    }
    let known = Known::of(case);
    let mut open = None;
    let mut seen = false;
    for (exchange, kind) in case.requests.changes(Role::Controller) {
        if !matches!(kind, Kind::Workload | Kind::TrainJob) {
            continue;
        }
        seen = true;
        match known.check(case, exchange, kind) {
            Ok(()) => {}
            Err(Flaw::Broken { why, seen, echoes }) => {
                let because = format!("{} {why}", said(exchange, kind));
                return Verdict::echo(because, seen.into_iter().chain([exchange.seq]), echoes);
            }
            Err(Flaw::Unknown(why)) => open = Some(format!("{} {why}", said(exchange, kind))),
        }
    }
    match open {
        Some(why) => Verdict::inconclusive(why),
        None => Verdict::pass_if_seen(seen, "write of the controller's"),
    }
}

/// What stands against a write.
enum Flaw {
    /// It breaks the rule, as these events show too.
    Broken { why: String, seen: Option<u64>, echoes: &'static [&'static str] },
    /// It cannot be said.
    Unknown(String),
}

fn broken(why: impl Into<String>, seen: Option<&Version>) -> Flaw {
    Flaw::Broken { why: why.into(), seen: seen.map(|version| version.seq), echoes: &[] }
}

fn said(exchange: &Exchange, kind: Kind) -> String {
    let request = &exchange.request;
    let name = request.name.as_deref().unwrap_or_default();
    format!("the {} of {kind} {name} by {}", request.verb, request.from)
}

/// Whose Workloads are, by their UID.
struct Known<'c, 'a> {
    claims: HashMap<&'a str, &'c Claimed<'a>>,
    families: HashMap<&'a str, &'c Family<'a>>,
}

impl<'c, 'a> Known<'c, 'a> {
    fn of(case: &'c Case<'a>) -> Self {
        let all = case.objects.iter().chain(&case.probes);
        let families = all.flat_map(|family| family.workloads.iter().map(move |it| (*it, family)));
        Self {
            claims: case.workloads.iter().map(|it| (it.workload.uid.as_str(), it)).collect(),
            families: families.map(|(workload, family)| (workload.uid.as_str(), family)).collect(),
        }
    }

    fn check(&self, case: &Case<'a>, exchange: &Exchange, kind: Kind) -> Result<(), Flaw> {
        let (trail, version) = match case.requests.carried(exchange, kind) {
            Carried::Nothing => return Err(broken("carried no resourceVersion", None)),
            Carried::NoBody => {
                return Err(Flaw::Unknown("has a body that was not recorded".to_owned()));
            }
            Carried::NeverDelivered(named, version) => {
                let why = format!("carried version {named}, which was never delivered to it");
                return Err(broken(why, version));
            }
            // Such as an object that was there before the record began.
            Carried::Unrecorded(named) => {
                let why = format!("carried version {named}, which was not recorded");
                return Err(Flaw::Unknown(why));
            }
            Carried::Version(trail, version) => (trail, version),
        };
        let asks = Asks::of(&exchange.request);
        let wrong = match kind {
            Kind::Workload => self.wrong_ready(case, exchange, (trail, version), &asks),
            _ => wrong_raise(version, &asks).map(|why| (why.to_owned(), &["RG-04"][..])),
        };
        match wrong {
            Some((why, echoes)) => {
                let why = format!("carried version {}, in which {why}", version.order);
                Err(Flaw::Broken { why, seen: Some(version.seq), echoes })
            }
            None => Ok(()),
        }
    }

    /// What stands against a Ready that was decided from this version, and the rules that say so too.
    fn wrong_ready(
        &self,
        case: &Case<'a>,
        exchange: &Exchange,
        (trail, version): (&'a Trail, &'a Version),
        asks: &Asks,
    ) -> Option<(String, &'static [&'static str])> {
        let sets = |check: &&String| case.checks.contains(check.as_str());
        let ready = asks.checks.iter().filter(|(_, state)| state == "Ready").map(|(name, _)| name);
        let check = ready
            .filter(sets)
            .find(|check| case::check_state(version, check) != Some(&CheckState::Ready))?;
        if exchange.request.subresource.as_deref() != Some("status") {
            return None;
        }
        if case::check_state(version, check) != Some(&CheckState::Pending) {
            return Some((format!("the check {check} was not Pending (RG-01)"), &["RG-01"]));
        }
        if let Some(Err(against)) = version.workload().map(case::may_act) {
            return Some((format!("{against} (RG-01)"), &["RG-01", "RG-08"]));
        }
        match self.claims.get(trail.uid.as_str()).map(|claimed| claimed.claim) {
            Some(Claim::ThroughAnother { by }) => {
                let why = format!("it is owned by {} {} (RG-03)", by.kind, by.name);
                return Some((why, &["RG-03"]));
            }
            Some(Claim::Unread) => {
                let why = "its owner has dispatch's name, and nobody saw it (RG-03)".to_owned();
                return Some((why, &["RG-03"]));
            }
            _ => {}
        }
        let family = self.families.get(trail.uid.as_str())?;
        // It may have been nobody's then.
        if !case::is_owned(case.history, version, &family.trainjob.uid) {
            return None;
        }
        let until = case.requests.latest(exchange.seq).max(version.order);
        let was_open = |version: &Version| version.trainjob().is_some_and(is_open);
        let first = family.trainjob.at(version.order).into_iter();
        let mut since = first.chain(family.trainjob.between(version.order, until));
        let closed = || {
            let why = format!("its TrainJob {} was not open (RG-12)", family.trainjob.name);
            (why, &["RG-12"][..])
        };
        (!since.any(was_open)).then(closed)
    }
}

fn is_open(trainjob: &TrainJob) -> bool {
    trainjob.is_opened() && !trainjob.gates().has_dispatch()
}

/// What stands against a raise that was decided from this version.
fn wrong_raise(version: &Version, asks: &Asks) -> Option<&'static str> {
    let to: AdmissionCount = asks.count.as_ref()?.parse().ok()?;
    let rises = case::count(version).is_none_or(|from| from < to);
    let runs = version.trainjob().is_some_and(|trainjob| !trainjob.is_suspended());
    (rises && runs).then_some("it was not suspended, and A was raised")
}

#[cfg(test)]
mod tests {
    use dispatch_contract::names;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::history::told::{
        ADAPTER, CONTROLLER, NAME, SECOND, Told, ask, check_body, raise_body, set_check,
        set_condition,
    };
    use crate::history::{History, PatchKind, Request};
    use crate::rules::tests::assert_verdict;

    fn waiting() -> Told {
        let mut told = Told::kueue();
        told.waits_by(ADAPTER).looks(CONTROLLER);
        told
    }

    fn status(from: crate::history::Subject) -> Request {
        ask(from, "patch", Kind::Workload, "workload").on_status()
    }

    /// A write of Ready with this body.
    fn ready(told: &mut Told, body: Value) -> History {
        let request = status(CONTROLLER).with(body);
        told.writes(request, |it| set_check(it, "Ready", "A=1")).history()
    }

    pub(super) fn without_a_version() -> History {
        ready(&mut waiting(), check_body("Ready"))
    }

    /// Ready from the version that the Workload has before `change`, sent after it.
    fn stale(change: impl FnOnce(&mut Told)) -> History {
        let mut told = waiting();
        let body = told.body(Kind::Workload, "workload", check_body("Ready"));
        change(&mut told);
        told.request(status(CONTROLLER).with(body)).sent();
        told.refused(409, "Conflict", "the object has been modified").history()
    }

    /// Ready from a version of the Workload that was changed like this.
    fn from(change: impl FnOnce(&mut Value)) -> History {
        let mut told = waiting();
        told.workload(change).reads(CONTROLLER, Kind::Workload, "workload");
        told.sets_by(CONTROLLER, "Ready").history()
    }

    fn applied(body: Value) -> History {
        let mut request = status(CONTROLLER).with(body);
        request.patch = Some(PatchKind::Apply);
        let mut told = waiting();
        told.writes(request, |it| set_check(it, "Ready", "A=1")).history()
    }

    fn patched_by_json(told: &mut Told) -> History {
        let version = told.now_at(&(Kind::TrainJob, NAME.to_owned())).unwrap().to_string();
        let count = format!("/metadata/annotations/{}", names::ADMISSION_COUNT.replace('/', "~1"));
        let body = json!([
            {"op": "test", "path": "/metadata/resourceVersion", "value": version},
            {"op": "replace", "path": count, "value": "1"},
        ]);
        let mut request = ask(CONTROLLER, "patch", Kind::TrainJob, NAME).with(body);
        request.patch = Some(PatchKind::Json);
        told.writes(request, |it| crate::history::told::raise(it, 1)).history()
    }

    fn raise_while_it_runs() -> History {
        let mut told = waiting();
        told.trainjob(|it| it["spec"]["suspend"] = json!(false));
        told.reads(CONTROLLER, Kind::TrainJob, NAME).raises_by(CONTROLLER, 1).history()
    }

    fn open_since() -> History {
        let mut told = Told::kueue();
        told.starts_by(ADAPTER).reserves().reads(CONTROLLER, Kind::Workload, "workload");
        told.calls(crate::history::Verb::Open).opens_gate().answers(json!({}));
        told.reads(CONTROLLER, Kind::TrainJob, NAME);
        told.raises_by(CONTROLLER, 1).sets_by(CONTROLLER, "Ready").history()
    }

    #[rstest]
    #[case::by_the_rules(Told::kueue().waits_by(ADAPTER).goes_by(CONTROLLER, 1).history(), "pass")]
    #[case::from_a_watch(
        Told::kueue().watches(CONTROLLER, Kind::Workload).waits()
            .delivered(CONTROLLER, Kind::Workload, "workload").sets_by(CONTROLLER, "Pending")
            .history(),
        "pass")]
    #[case::from_a_list(
        Told::kueue().waits().lists(CONTROLLER, Kind::Workload).sets_by(CONTROLLER, "Pending")
            .history(),
        "pass")]
    #[case::from_the_answer_to_its_own_write(
        waiting().sets_by(CONTROLLER, "Pending").sets_by(CONTROLLER, "Ready").history(), "pass")]
    #[case::a_stale_one_is_refused(stale(|told| { told.evicts(); }), "pass")]
    #[case::a_test_of_a_json_patch(patched_by_json(&mut waiting()), "pass")]
    #[case::opened_since_the_workload_was_read(open_since(), "pass")]
    #[case::no_requests(Told::kueue().runs().history(), "n/a: no request of the controller's")]
    #[case::no_writes(waiting().history(), "n/a: there was no write of the controller's")]
    #[case::a_dry_run_is_no_write(
        waiting().request(status(CONTROLLER).with(check_body("Ready")).dry()).sent().answered()
            .history(),
        "n/a: there was no write")]
    #[case::without_a_version(without_a_version(), "carried no resourceVersion")]
    #[case::an_apply_without_a_version(applied(check_body("Ready")), "carried no resourceVersion")]
    #[case::a_raise_without_a_version(
        waiting().writes(ask(CONTROLLER, "patch", Kind::TrainJob, NAME).with(raise_body(1)), |it|
            crate::history::told::raise(it, 1)).history(),
        "the patch of TrainJob dj-01k0000000000000000000000a-s1 by controller-0 carried no")]
    #[case::never_delivered(
        Told::kueue().waits().sets_by(CONTROLLER, "Ready").history(),
        "which was never delivered to it")]
    #[case::delivered_to_another_replica(
        Told::kueue().waits().looks(CONTROLLER).sets_by(SECOND, "Ready").history(),
        "by controller-1 carried version")]
    #[case::delivered_later(
        Told::kueue().waits().sets_by(CONTROLLER, "Pending").looks(CONTROLLER).history(),
        "which was never delivered to it")]
    #[case::the_answer_was_lost(
        Told::kueue().waits().request(ask(CONTROLLER, "get", Kind::Workload, "workload")).sent()
            .answer_lost().sets_by(CONTROLLER, "Pending").history(),
        "which was never delivered to it")]
    #[case::a_version_that_never_was(
        ready(&mut waiting(), json!({"metadata": {"resourceVersion": "7"}})),
        "carried version 7, which was never delivered")]
    #[case::evicted(
        from(|it| set_condition(it, "Evicted", "True", "x")), "it was being evicted (RG-01)")]
    #[case::not_pending(
        from(|it| set_check(it, "Retry", "x")), "was not Pending (RG-01)")]
    #[case::gated(
        Told::kueue().starts_by(ADAPTER).reserves().looks(CONTROLLER).raises_by(CONTROLLER, 1)
            .sets_by(CONTROLLER, "Ready").history(),
        "its TrainJob dj-01k0000000000000000000000a-s1 was not open (RG-12)")]
    #[case::a_raise_while_it_runs(raise_while_it_runs(), "it was not suspended, and A was raised")]
    fn a_write_carries_the_version_it_was_decided_from(
        #[case] history: History,
        #[case] expected: &str,
    ) {
        assert_verdict("RG-06", &history, expected);
    }

    #[test]
    fn a_version_that_the_record_lacks_leaves_it_open() {
        let mut told = waiting();
        told.sets_by(CONTROLLER, "Pending");
        let lost = told.events.iter().rposition(|event| {
            matches!(&event.what, crate::history::What::Version(it) if it.kind == Kind::Workload)
        });
        let before = told.events[..lost.unwrap()].iter().rposition(|event| {
            matches!(&event.what, crate::history::What::Version(it) if it.kind == Kind::Workload)
        });
        told.events.remove(before.unwrap());
        assert_verdict("RG-06", &told.history(), "inconclusive: the patch of Workload workload");
    }
}
