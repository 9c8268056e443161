//! The contract's decision, one step after the other.

use dispatch_contract::AdmissionCount;
use dispatch_contract::resources::{CheckState, TrainJob, Workload};
use dispatch_kubernetes::quiescence::{Remainder, remainder, remainder_below};
use dispatch_kubernetes::raise::{
    NotTakenOver, RaisedFor, check_answer, check_taken_over, next, replicated_jobs,
};
use dispatch_kubernetes::runtime::{self, RuntimeState};
use dispatch_kubernetes::{ended, identity};

use super::{Decide, Decision, Standstill, WaitReason};
use crate::raise::{Raise, Raised};
use crate::snapshot::{Object, Owner, Snapshot};

/// How often in a row an object is healed (EX-05).
pub(crate) const HEALED_AT_MOST: i32 = 3;

/// How many pods the reason for healing names.
const PODS_NAMED: usize = 10;

/// The contract's decision.
#[derive(Clone, Copy, Debug, Default)]
pub struct Contract;

impl Decide for Contract {
    fn decide(&self, snapshot: &Snapshot) -> Decision {
        let workload = &snapshot.workload.object;
        if snapshot.checks.is_empty() {
            return Decision::NotOurs;
        }
        if let Some(how) = unsealed_end(snapshot) {
            return Decision::MarkEnded { how };
        }
        if workload.metadata.deletion_timestamp.is_some() || workload.is("Finished") {
            return Decision::Nothing(Standstill::Over);
        }
        if !workload.is("QuotaReserved") && !workload.is("Admitted") {
            let banked = snapshot.has_own(&CheckState::Ready);
            return if banked { Decision::Unbank } else { Decision::Nothing(Standstill::NoQuota) };
        }
        if !workload.is_active() {
            return Decision::Nothing(Standstill::Over);
        }
        if workload.is("Evicted") {
            return Decision::Nothing(Standstill::Evicting);
        }
        if workload.is("Admitted") {
            return admitted(snapshot);
        }
        pending(snapshot)
    }
}

/// How the object ended, where it is not marked and suspended yet (CA-07).
fn unsealed_end(snapshot: &Snapshot) -> Option<String> {
    let trainjob = &snapshot.object()?.trainjob.object;
    if ended::is_sealed(trainjob) || trainjob.metadata.deletion_timestamp.is_some() {
        return None;
    }
    ended::how(trainjob, Some(&snapshot.workload.object))
}

/// An admitted Workload is left alone, unless its object failed, or violates its identity (EX-05).
fn admitted(snapshot: &Snapshot) -> Decision {
    let undecided =
        snapshot.own_checks().all(|c| matches!(c.state, CheckState::Pending | CheckState::Ready));
    if let Some(how) = snapshot.object().and_then(sealed_failure).filter(|_| undecided) {
        return Decision::Reject { how: how.to_owned() };
    }
    let violation = snapshot.object().and_then(violation);
    match violation {
        Some(message) if undecided && healed(snapshot) < HEALED_AT_MOST => {
            Decision::Heal { message }
        }
        _ => Decision::Nothing(Standstill::Admitted),
    }
}

/// That the object failed and is sealed. An object that is complete is not started again by Trainer,
/// with or without its `JobSet`.
fn sealed_failure(object: &Object) -> Option<&str> {
    let trainjob = &object.trainjob.object;
    trainjob.ended_mark().filter(|how| *how == ended::FAILED && ended::is_sealed(trainjob))
}

/// What is wrong with an admitted object: its gate, or a live pod's number.
fn violation(object: &Object) -> Option<String> {
    let trainjob = &object.trainjob.object;
    if trainjob.gates().has_dispatch() {
        return Some("admitted while the TrainJob carries dispatch's gate".to_owned());
    }
    if !trainjob.is_opened() {
        return Some("admitted, and the TrainJob was never opened".to_owned());
    }
    let pods = identity::misidentified(trainjob, object.owned.owned_through(trainjob));
    if pods.is_empty() {
        return None;
    }
    let mut text: Vec<String> =
        pods.iter().take(PODS_NAMED).map(|pod| identity::describe(trainjob, pod)).collect();
    if let Some(more) = pods.len().checked_sub(PODS_NAMED).filter(|more| *more > 0) {
        text.push(format!("and {more} pods more"));
    }
    Some(text.join("; "))
}

/// How often in a row Kueue evicted the Workload since this controller asked for it. Kueue itself
/// counts: it keeps the count over an eviction by Retry, and drops it at any other.
fn healed(snapshot: &Snapshot) -> i32 {
    snapshot.own_checks().filter_map(|check| check.retry_count).max().unwrap_or_default()
}

/// Quota is reserved, and nothing stands against a decision (RG-01).
fn pending(snapshot: &Snapshot) -> Decision {
    let decided = |state: &CheckState| !matches!(state, CheckState::Pending | CheckState::Ready);
    if !snapshot.has_own(&CheckState::Pending) || snapshot.own_checks().any(|c| decided(&c.state)) {
        return Decision::Nothing(Standstill::Decided);
    }
    match &snapshot.owner {
        Owner::Foreign => Decision::PassThrough,
        Owner::NotRead => {
            let why = "its owner was not read".to_owned();
            Decision::Wait(WaitReason::OwnerUnreadable { why })
        }
        Owner::Unreadable { why } => {
            Decision::Wait(WaitReason::OwnerUnreadable { why: why.clone() })
        }
        Owner::Prebuilt { trainjob } => {
            Decision::Wait(WaitReason::Prebuilt { trainjob: trainjob.clone() })
        }
        Owner::Indirect { trainjob, through } => Decision::Wait(WaitReason::Indirect {
            trainjob: trainjob.clone(),
            through: through.clone(),
        }),
        Owner::Dispatch(object) => match (reason_to_wait(snapshot, object), &snapshot.raised) {
            (Some(reason), _) => Decision::Wait(with_pods(reason, object)),
            (None, None) => raise(&snapshot.workload.object, object),
            (None, Some(raised)) => approve(object, raised),
        },
    }
}

/// Why the object may not run, whatever of it still runs.
fn reason_to_wait(snapshot: &Snapshot, object: &Object) -> Option<WaitReason> {
    let trainjob = &object.trainjob.object;
    if trainjob.metadata.deletion_timestamp.is_some() {
        return Some(WaitReason::BeingDeleted);
    }
    if trainjob.gates().has_dispatch() {
        return Some(WaitReason::Gated);
    }
    if !trainjob.is_opened() {
        return Some(WaitReason::NotOpened);
    }
    if let Some(how) = trainjob.ended_mark() {
        return Some(WaitReason::Ended { how: how.to_owned() });
    }
    if trainjob.hold_token().is_some() {
        return Some(WaitReason::Held);
    }
    if let Some(reason) = object.runtime.as_ref().and_then(|state| edited(trainjob, state)) {
        return Some(reason);
    }
    if !trainjob.has_kueue_patch() {
        return Some(WaitReason::NoKueuePatch);
    }
    let times = healed(snapshot);
    (times >= HEALED_AT_MOST).then_some(WaitReason::HealedTooOften { times })
}

/// Beside another reason, pods that live are named too (RG-04).
fn with_pods(reason: WaitReason, object: &Object) -> WaitReason {
    match remainder_below(&object.owned) {
        Some(remainder @ Remainder::Pods(_)) => {
            WaitReason::Besides { reason: Box::new(reason), remainder }
        }
        _ => reason,
    }
}

fn edited(trainjob: &TrainJob, state: &RuntimeState) -> Option<WaitReason> {
    let runtime = || runtime::describe(trainjob);
    match state {
        RuntimeState::Differs => Some(WaitReason::RuntimeDiffers { runtime: runtime() }),
        RuntimeState::Missing => Some(WaitReason::RuntimeMissing { runtime: runtime() }),
        RuntimeState::Same | RuntimeState::NotRecorded => None,
    }
}

/// A is raised once nothing of the previous execution may run (RG-04, RG-05, RG-13).
fn raise(workload: &Workload, object: &Object) -> Decision {
    let (trainjob, owned) = (&object.trainjob.object, &object.owned);
    let jobset = owned.jobset.as_ref();
    let strange = jobset.filter(|found| found.controller_uid() != Some(object.trainjob.uid()));
    if let Some(strange) = strange {
        let uid = strange.controller_uid().unwrap_or("none").to_owned();
        return Decision::Wait(WaitReason::OtherJobSet { owner: uid });
    }
    if let Some(remainder) = remainder(trainjob, owned) {
        return Decision::Wait(WaitReason::Remainder(remainder));
    }
    match next(trainjob, owned) {
        Err(error) => Decision::Wait(WaitReason::NoNext(error)),
        Ok(next) => Decision::Raise(Raise {
            to: next.to,
            jobs: replicated_jobs(trainjob, jobset),
            raised_for: RaisedFor {
                workload_uid: workload.metadata.uid.clone().unwrap_or_default(),
                jobset_uid: jobset
                    .and_then(|jobset| jobset.metadata.uid.clone())
                    .unwrap_or_default(),
            },
            unreadable: next.unreadable,
        }),
    }
}

/// Ready follows the raise once the `JobSet` carries what the `TrainJob` says, and nothing runs
/// (RG-17).
///
/// The number may be higher than the one of this pass: another replica may have raised it since. An
/// execution that passed the check with that number would have changed the Workload, and Ready
/// carries the Workload's version from before the raise. One that somebody started past the check
/// leaves no trace there, but in the `TrainJob`'s generation.
fn approve(object: &Object, raised: &Raised) -> Decision {
    let (trainjob, owned) = (&object.trainjob.object, &object.owned);
    let Raised { raise, generation } = raised;
    let Some(a) = object.count().filter(|count| *count >= raise.to) else {
        return Decision::Wait(WaitReason::CountChanged);
    };
    if let Err(error) = check_answer(trainjob, &raise.jobs, a) {
        return Decision::Wait(WaitReason::NotRaised(error));
    }
    if !is_raised_alone(*generation, raise.to, trainjob.metadata.generation, a) {
        return Decision::Wait(WaitReason::TrainJobChanged);
    }
    match check_taken_over(trainjob, owned.jobset.as_ref(), a) {
        Ok(()) => {}
        Err(NotTakenOver::OtherOwner { found }) => {
            return Decision::Wait(WaitReason::OtherJobSet { owner: found });
        }
        Err(why) => return Decision::AwaitTakeover(why),
    }
    match remainder(trainjob, owned) {
        Some(remainder) => Decision::Wait(WaitReason::Remainder(remainder)),
        None => Decision::Approve { a, unreadable: raise.unreadable.clone() },
    }
}

/// Whether nothing changed the specification of a `TrainJob` since a raise but further raises, each
/// of which adds one to the generation and to A. Whoever unsuspended and suspended it meanwhile may
/// have used the number.
fn is_raised_alone(
    then: i64,
    raised_to: AdmissionCount,
    now: Option<i64>,
    a: AdmissionCount,
) -> bool {
    let changes = now.unwrap_or_default().checked_sub(then).and_then(|it| u64::try_from(it).ok());
    changes.is_some() && changes == a.get().checked_sub(raised_to.get())
}
