//! Faults: what is done to the requests of subjects and of components.

use std::time::Duration;

use serde_json::Value;

use crate::proxy::{
    self, AtRandom, Effect, Pattern, Refusal, Sets, Signal, Times, WatchFault, When,
};
use crate::run::error::StepError;
use crate::run::names::JobNames;
use crate::run::stage::Stage;
use crate::scenario::{
    Fault, FaultEffect, FaultName, FaultTimes, Mark, RefusedAs, RequestPattern, Setting,
};

/// How much later a slow request is sent on: long for an API server, short for a time limit.
const SLOW: Duration = Duration::from_millis(400);

/// By how much it is slow `at-random` at most: about as long as a job takes to be evicted and raised
/// again, and shorter than any time limit.
const SLOWEST: Duration = Duration::from_secs(2);

/// How many requests `thrice` means.
const THRICE: u32 = 3;

/// Places a fault; it waits for its requests when this returns.
pub(super) fn place(stage: &mut Stage<'_>, fault: &Fault) -> Result<(), StepError> {
    let placed = proxy::Fault {
        name: fault.name.as_str().to_owned(),
        at: pattern(&fault.at, &stage.job_names),
        effect: effect(&fault.effect, || seed(stage, &fault.name)),
        times: match fault.times {
            FaultTimes::Once => Times::Once,
            FaultTimes::Thrice => Times::Times(THRICE),
            FaultTimes::Always => Times::Always,
            FaultTimes::OncePerKind => Times::OncePerKind,
        },
    };
    let taps: Vec<_> = stage.taps.of(fault.at.from).collect();
    if taps.is_empty() {
        let why = "the requests of this party do not pass the proxy on this cluster";
        return Err(StepError::failed(why));
    }
    let placed = taps.into_iter().map(|tap| tap.place(placed.clone())).collect();
    stage.faults.insert(fault.name.clone(), placed);
    Ok(())
}

/// What the times of a fault are drawn from. The history begins with the namespace, which no other
/// scenario has.
fn seed(stage: &Stage<'_>, fault: &FaultName) -> String {
    format!("{}/{fault}", stage.names.namespace())
}

/// What the fault holds goes on. In a case without the fault there is nothing to do.
pub(super) fn go_on(stage: &mut Stage<'_>, fault: &FaultName) {
    for placed in stage.faults.remove(fault).into_iter().flatten() {
        placed.release();
    }
}

/// Places the fault of the case that is played; nothing in the reference run.
pub(super) fn in_turn(stage: &mut Stage<'_>) -> Result<(), StepError> {
    match stage.case.and_then(|case| case.fault.as_ref()) {
        Some(fault) => place(stage, fault),
        None => Ok(()),
    }
}

/// The pattern as the proxy has it, with the names that jobs have in the cluster.
pub(in crate::run) fn pattern(at: &RequestPattern, names: &JobNames) -> Pattern {
    Pattern {
        verbs: at.verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        resource: at.resource.clone(),
        subresource: at.subresource.clone(),
        object: at.of.as_ref().and_then(|job| names.get(job.as_str())).cloned(),
        sets: at.sets.iter().map(sets).collect(),
        dry_run: at.dry_run,
        nth: at.nth,
        after: at.after.as_ref().map(|fault| fault.as_str().to_owned()),
    }
}

fn sets(setting: &Setting) -> Sets {
    match setting {
        Setting::Check(state) => Sets::Check(state.clone()),
        Setting::Condition(type_) => Sets::Condition(type_.clone()),
        Setting::Count(count) => Sets::Count(count.clone()),
        Setting::PodCount(count) => Sets::PodCount(count.clone()),
        Setting::Suspended(suspended) => Sets::Suspend(*suspended),
        Setting::Active(active) => Sets::Active(*active),
        Setting::Mark(Mark::Opened) => Sets::Opened,
        Setting::Mark(Mark::Held) => Sets::Held,
        Setting::Mark(Mark::Ended) => Sets::Ended,
    }
}

fn effect(effect: &FaultEffect, seed: impl Fn() -> String) -> Effect {
    let when = |when: &crate::scenario::When| match when {
        crate::scenario::When::Before => When::Before,
        crate::scenario::When::After => When::After,
    };
    match effect {
        FaultEffect::HoldBack => Effect::Hold,
        FaultEffect::Stall => Effect::Stall,
        FaultEffect::Slow => Effect::Delay(SLOW),
        FaultEffect::SlowAtRandom => {
            Effect::DelayAtRandom(AtRandom { most: SLOWEST, seed: seed() })
        }
        FaultEffect::Answer(refused) => Effect::Answer(refusal(*refused)),
        FaultEffect::LoseRequest => Effect::LoseRequest,
        FaultEffect::LoseAnswer => Effect::LoseAnswer,
        FaultEffect::Kill(at) => Effect::Signal(Signal::Kill, when(at)),
        FaultEffect::Freeze(at) => Effect::Signal(Signal::Freeze, when(at)),
        FaultEffect::Change(merge) => Effect::Change(Value::clone(merge)),
        FaultEffect::Silence => Effect::Watch(WatchFault::Silence),
        FaultEffect::Cut => Effect::Watch(WatchFault::Cut),
        FaultEffect::Expire => Effect::Watch(WatchFault::Expire),
    }
}

fn refusal(refused: RefusedAs) -> Refusal {
    match refused {
        RefusedAs::Conflict => Refusal::Conflict,
        RefusedAs::TooManyRequests => Refusal::TooManyRequests,
        RefusedAs::InternalError => Refusal::InternalError,
        RefusedAs::ServiceUnavailable => Refusal::ServiceUnavailable,
        RefusedAs::Timeout => Refusal::Timeout,
        RefusedAs::Forbidden => Refusal::Forbidden,
    }
}
