//! An object with a wrong identity, through time (EX-05).

use std::collections::BTreeMap;

use dispatch_contract::resources::{CheckState, Conditions, TrainJob, Workload};
use dispatch_contract::{StatusAnswer, names};
use jiff::Timestamp;
use serde::Deserialize;

use super::identity::carried;
use crate::history::{Kind, Trail, Verb, Version};
use crate::rules::case::{self, Case, Family};
use crate::rules::span::WINDOW;
use crate::rules::writer::{self, Author};

/// How often in a row the controller tries.
pub(super) const TRIES: usize = 3;

/// The reason of an eviction that a Retry asked for.
const BY_CHECK: &str = "AdmissionCheck";

/// An object and a Workload of it after one version of anything that matters.
pub(super) struct Moment<'a> {
    /// The version.
    pub(super) version: &'a Version,
    /// Whether it is admitted with a wrong identity, and nothing was done about that.
    pub(super) wrong: bool,
    /// How many Retries in a row there were, this one included.
    pub(super) row: usize,
    /// What the controller did to the check in this version.
    pub(super) what: Option<What>,
}

/// What the controller did to its check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// It set it to Retry.
    Retry {
        /// Whether something was wrong with the object since it was admitted.
        due: bool,
    },
    /// It set it to Ready.
    Ready,
}

#[derive(Default)]
struct State<'a> {
    trainjob: Option<&'a TrainJob>,
    workload: Option<&'a Workload>,
    live: BTreeMap<&'a str, Option<&'a str>>,
}

impl<'a> State<'a> {
    /// A Workload counts from the version on that is `owned` by the object.
    fn take(&mut self, trail: &'a Trail, version: &'a Version, owned: bool) {
        let there = !version.is_deletion();
        match trail.kind {
            Kind::TrainJob => self.trainjob = version.trainjob().filter(|_| there),
            Kind::Workload => self.workload = version.workload().filter(|_| there && owned),
            _ if trail.lives_at(version.order) => {
                self.live.insert(&trail.uid, carried(trail));
            }
            _ => {
                self.live.remove(trail.uid.as_str());
            }
        }
    }

    fn is_admitted(&self) -> bool {
        self.workload.is_some_and(|it| it.is("Admitted") && !it.is("Evicted"))
    }

    fn has_wrong_identity(&self) -> bool {
        self.trainjob.is_some_and(|trainjob| {
            let count = trainjob.annotation(names::ADMISSION_COUNT);
            trainjob.end().is_none()
                && (self.live.values().any(|carried| *carried != count)
                    || trainjob.gates().has_dispatch()
                    || !trainjob.is_opened())
        })
    }

    fn check(&self, check: &str) -> Option<&'a CheckState> {
        self.workload?.check(check).map(|check| &check.state)
    }

    /// Why it is being evicted.
    fn evicted_for(&self) -> Option<&'a str> {
        let condition = self.workload?.conditions().find("Evicted")?;
        (condition.status == "True").then_some(condition.reason.as_str())
    }
}

/// Every moment of an object and one of its Workloads, in the order of the store.
pub(super) fn moments<'a>(
    case: &Case<'a>,
    family: &Family<'a>,
    workload: &'a Trail,
    check: &str,
) -> Vec<Moment<'a>> {
    let trails = [family.trainjob, workload].into_iter().chain(family.pods.iter().copied());
    let mut state = State::default();
    let mut row = 0;
    let mut was_wrong = false;
    let mut healthy: Option<Timestamp> = None;
    let mut found = Vec::new();
    for (trail, version) in case::merged(trails) {
        let (before, admitted) = (state.check(check), state.is_admitted());
        let owned = case::is_owned(case.history, version, &family.trainjob.uid);
        state.take(trail, version, owned);
        if !admitted && state.is_admitted() {
            was_wrong = false;
        }
        let runs = state.is_admitted();
        let now = state.check(check);
        let wrong = runs && state.has_wrong_identity();
        let what = what(case, trail, version, (before, now), was_wrong || wrong);
        was_wrong |= wrong;
        if healthy.is_some_and(|since| since + WINDOW <= version.at)
            || state.evicted_for().is_some_and(|reason| reason != BY_CHECK)
        {
            row = 0;
        }
        healthy = if runs && !wrong { healthy.or(Some(version.at)) } else { None };
        row += usize::from(matches!(what, Some(What::Retry { .. })));
        let retried = now == Some(&CheckState::Retry);
        found.push(Moment { version, wrong: wrong && !retried, row, what });
    }
    found
}

fn what(
    case: &Case<'_>,
    trail: &Trail,
    version: &Version,
    (before, now): (Option<&CheckState>, Option<&CheckState>),
    due: bool,
) -> Option<What> {
    let is_ours = || writer::author(&case.requests, trail, version) != Author::Another;
    if trail.kind != Kind::Workload || before == now || !is_ours() {
        return None;
    }
    match now? {
        CheckState::Retry => Some(What::Retry { due }),
        CheckState::Ready => Some(What::Ready),
        _ => None,
    }
}

/// A `Status` that does not name a pod of another A than the count, with both numbers.
pub(super) fn unnamed(case: &Case<'_>, family: &Family<'_>) -> Option<(String, Vec<u64>)> {
    let calls = case.calls_for(Verb::Status, family.trainjob);
    calls.filter_map(|call| Some((call, call.orders()?))).find_map(|(call, (from, to))| {
        let answer = StatusAnswer::deserialize(call.ok()?).ok()?;
        let all = [family.trainjob].into_iter();
        let mut all = all.chain(family.workloads.iter().chain(&family.pods).copied());
        if all.any(|trail| !trail.between(from, to).is_empty()) {
            return None;
        }
        let admitted = |it: &&Trail| {
            let workload = it.at(from).and_then(Version::workload);
            workload.is_some_and(|it| it.is("Admitted") && !it.is("Evicted"))
        };
        if !family.workloads.iter().any(admitted) {
            return None;
        }
        let trainjob = family.trainjob.at(from)?.trainjob()?;
        // Of an object that ended, nothing is to be healed.
        if trainjob.end().is_some() || trainjob.ended_mark().is_some() {
            return None;
        }
        let count = trainjob.annotation(names::ADMISSION_COUNT);
        let pod = family.live_pods(from).find(|pod| carried(pod) != count)?;
        let numbers = [count, carried(pod)];
        let named = answer.violations.iter().any(|violation| {
            let message = &violation.message;
            let has = |text: Option<&str>| text.is_none_or(|text| message.contains(text));
            message.contains(&pod.name) && numbers.into_iter().all(has)
        });
        let because = format!(
            "{} was admitted, its pod {} carried {} and its count was {}, and Status did not name it",
            family.trainjob.name,
            pod.name,
            numbers[1].unwrap_or("nothing"),
            numbers[0].unwrap_or("absent")
        );
        (!named).then(|| (because, call.events().chain(pod.first().map(|it| it.seq)).collect()))
    })
}
