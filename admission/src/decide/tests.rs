//! The decision over every combination of what can be read, held against a second statement of the
//! rules: each kind of decision by the conditions under which it is due.

use std::collections::BTreeMap;

use rstest::rstest;

use super::{Contract, Decide, Decision};
use crate::snapshot::Owner;

mod facts;
use facts::{Check, Ended, Facts, Gate, JobSetIs, Jobs, OwnerIs, Pods, Runtime};

/// The kind of decision that the rules ask for.
fn due(facts: &Facts) -> &'static str {
    let own = facts.check != Check::NotOurs;
    let dispatch = facts.owner == OwnerIs::Dispatch;
    let over = facts.finished || facts.deleted;
    let sealed = facts.ended == Ended::Marked && facts.suspended;
    let mark_ended = own && dispatch && facts.ended != Ended::No && !sealed;

    let banked = facts.check == Check::Ready && !facts.quota && !facts.admitted && !over;
    let runs = facts.admitted && !facts.evicted && facts.active && !over;
    let violated = facts.gate == Gate::Ours || !facts.opened || facts.pods == Pods::OtherNumber;
    let undecided = matches!(facts.check, Check::Pending | Check::Ready);
    let reject = runs && dispatch && sealed && undecided;
    let heal = runs && dispatch && violated && undecided && facts.retries < 3;

    let asks = facts.check == Check::Pending
        && facts.quota
        && !facts.admitted
        && !facts.evicted
        && facts.active
        && !over;
    let may_run = dispatch
        && facts.gate != Gate::Ours
        && facts.opened
        && facts.ended == Ended::No
        && !facts.held
        && facts.runtime == Runtime::Same
        && facts.kueue_patch
        && facts.retries < 3;
    let quiet = facts.suspended
        && facts.jobset != JobSetIs::Running
        && facts.jobs == Jobs::AtRest
        && matches!(facts.pods, Pods::None | Pods::Over);
    let strange = facts.jobset == JobSetIs::Stranger;
    let shows = facts.jobset == JobSetIs::ShowsA;

    match () {
        () if !own => "not-ours",
        () if mark_ended => "mark-ended",
        () if banked => "unbank",
        () if reject => "reject",
        () if heal => "heal",
        () if asks && facts.owner == OwnerIs::Foreign => "pass-through",
        () if asks && may_run && !facts.raised && quiet && !strange => "raise",
        () if asks && may_run && facts.raised && quiet && shows => "approve",
        () if asks && may_run && facts.raised && !shows && !strange => "await-takeover",
        () if asks => "wait",
        () => "nothing",
    }
}

fn assert_due(facts: &Facts) -> Decision {
    let snapshot = facts.snapshot();
    let decision = Contract.decide(&snapshot);
    assert_eq!(decision.name(), due(facts), "{decision:?} from {facts:?}");
    if let Decision::Wait(reason) = &decision {
        let message = reason.to_string();
        let living = !matches!(facts.pods, Pods::None | Pods::Over);
        if living && facts.owner == OwnerIs::Dispatch && facts.jobset != JobSetIs::Stranger {
            assert!(message.contains("the pod p ("), "{message}");
        }
        assert!(!message.trim().is_empty() && message.len() <= 32_768, "{message}");
    }
    decision
}

/// Every combination of a Workload's state, for objects in a few telling states.
#[rstest]
fn whatever_state_the_workload_is_in(
    #[values(Check::NotOurs, Check::Pending, Check::Ready, Check::Retry, Check::Rejected)]
    check: Check,
    #[values(
        OwnerIs::NotRead,
        OwnerIs::Foreign,
        OwnerIs::Prebuilt,
        OwnerIs::Unreadable,
        OwnerIs::Indirect,
        OwnerIs::Dispatch
    )]
    owner: OwnerIs,
) {
    let quiet = Facts { check, owner, ..Facts::default() };
    let objects = [
        quiet,
        Facts { gate: Gate::Ours, opened: false, ..quiet },
        Facts { pods: Pods::OtherNumber, ..quiet },
        Facts { pods: Pods::OtherNumber, retries: 3, ..quiet },
        Facts { pods: Pods::Strange, ..quiet },
        Facts { pods: Pods::Terminating, ..quiet },
        Facts { ended: Ended::Condition, ..quiet },
        Facts { ended: Ended::Marked, ..quiet },
        Facts { suspended: false, jobset: JobSetIs::Running, pods: Pods::OwnNumber, ..quiet },
        Facts { raised: true, ..quiet },
    ];
    let mut seen = BTreeMap::new();
    for object in objects {
        for states in 0..64_u8 {
            let on = |bit: u8| states & (1 << bit) != 0;
            let facts = Facts {
                quota: on(0),
                admitted: on(1),
                evicted: on(2),
                finished: on(3),
                active: on(4),
                deleted: on(5),
                ..object
            };
            *seen.entry(assert_due(&facts).name()).or_insert(0) += 1;
        }
    }
    if check == Check::Pending && owner == OwnerIs::Dispatch {
        for kind in ["raise", "approve", "wait", "heal", "reject", "mark-ended", "nothing"] {
            assert!(seen.contains_key(kind), "no {kind} in {seen:?}");
        }
    }
}

/// Every combination of an object's state, for a Workload that asks for a decision.
#[rstest]
fn whatever_state_the_object_is_in(
    #[values(
        JobSetIs::Absent,
        JobSetIs::ShowsA,
        JobSetIs::ShowsOld,
        JobSetIs::Running,
        JobSetIs::Stranger
    )]
    jobset: JobSetIs,
    #[values(false, true)] raised: bool,
    #[values(Ended::No, Ended::Condition, Ended::Marked)] ended: Ended,
) {
    let pods = [Pods::None, Pods::Over, Pods::Terminating, Pods::OwnNumber, Pods::OtherNumber];
    let mut seen = BTreeMap::new();
    for gate in [Gate::None, Gate::Ours, Gate::Others] {
        for runtime in [Runtime::Same, Runtime::Differs] {
            for jobs in [Jobs::AtRest, Jobs::Terminating] {
                for pods in pods {
                    for marks in 0..16_u8 {
                        let on = |bit: u8| marks & (1 << bit) != 0;
                        let facts = Facts {
                            gate,
                            runtime,
                            jobset,
                            raised,
                            ended,
                            jobs,
                            pods,
                            opened: on(0),
                            held: on(1),
                            kueue_patch: on(2),
                            suspended: on(3),
                            retries: 2,
                            ..Facts::default()
                        };
                        *seen.entry(assert_due(&facts).name()).or_insert(0) += 1;
                    }
                }
            }
        }
    }
    assert!(seen.values().sum::<u32>() == 960, "{seen:?}");
}

#[test]
fn the_reasons_to_wait_are_said() {
    let base = Facts::default();
    let said = |facts: Facts| match assert_due(&facts) {
        Decision::Wait(reason) => reason.to_string(),
        other => panic!("{other:?}"),
    };
    let table = [
        (Facts { gate: Gate::Ours, ..base }, "waiting to be opened: the TrainJob carries"),
        (Facts { opened: false, ..base }, "waiting to be opened: the gate is gone"),
        (Facts { ended: Ended::Marked, ..base }, "ended (Failed); it never runs again"),
        (Facts { held: true, ..base }, "held by dispatch"),
        (Facts { runtime: Runtime::Differs, ..base }, "waiting: ClusterTrainingRuntime r is not"),
        (Facts { runtime: Runtime::Missing, ..base }, "waiting: ClusterTrainingRuntime r is not"),
        (Facts { kueue_patch: false, ..base }, "waiting: the TrainJob lacks Kueue's"),
        (Facts { retries: 3, ..base }, "stopped 3 times in a row"),
        (Facts { jobs: Jobs::NotSuspended, ..base }, "waiting for the previous execution: the Job"),
        (
            Facts { pods: Pods::Terminating, ..base },
            "waiting for the previous execution: the pod p (Terminating)",
        ),
        (Facts { owner: OwnerIs::Indirect, ..base }, "never made Ready: this Workload belongs to"),
        (Facts { owner: OwnerIs::Prebuilt, ..base }, "waiting: the TrainJob t of dispatch's names"),
        (Facts { owner: OwnerIs::Unreadable, ..base }, "not decided: gone"),
        (Facts { jobset: JobSetIs::Stranger, ..base }, "waiting: the JobSet of this name"),
    ];
    for (facts, expected) in table {
        let said = said(facts);
        assert!(said.starts_with(expected), "`{said}` does not begin with `{expected}`");
    }
}

/// The eviction would not end it, and what runs is healthy.
#[test]
fn a_strangers_pod_evicts_nothing_and_is_waited_for_before_the_next_execution() {
    let running =
        Facts { admitted: true, suspended: false, jobset: JobSetIs::Running, ..Facts::default() };
    assert_eq!(assert_due(&Facts { pods: Pods::Strange, ..running }).name(), "nothing");
    assert_eq!(assert_due(&Facts { pods: Pods::OtherNumber, ..running }).name(), "heal");
    assert_eq!(assert_due(&Facts { pods: Pods::Strange, ..Facts::default() }).name(), "wait");
}

/// Trainer never runs a complete object again; its Workload is Kueue's to finish.
#[test]
fn the_check_of_a_complete_object_is_left_to_kueue() {
    let mut snapshot =
        Facts { admitted: true, ended: Ended::Marked, ..Facts::default() }.snapshot();
    assert_eq!(Contract.decide(&snapshot).name(), "reject");
    let Owner::Dispatch(object) = &mut snapshot.owner else { panic!("not dispatch's") };
    let annotations = object.trainjob.object.metadata.annotations.as_mut().unwrap();
    annotations.insert(dispatch_contract::names::ENDED.to_owned(), "Complete".to_owned());
    assert_eq!(Contract.decide(&snapshot).name(), "nothing");
}

/// What of a raise to `to`, which made the `TrainJob` of this generation, is decided later.
fn later(to: u64, generation: i64) -> Decision {
    let mut snapshot = Facts { raised: true, ..Facts::default() }.snapshot();
    let raised = snapshot.raised.as_mut().unwrap();
    raised.raise.to = dispatch_contract::AdmissionCount::new(to).unwrap();
    raised.generation = generation;
    Contract.decide(&snapshot)
}

#[test]
fn another_replicas_higher_number_will_do() {
    assert_eq!(later(facts::COUNT - 1, facts::GENERATION - 1).name(), "approve");
    assert_eq!(later(facts::COUNT - 3, facts::GENERATION - 3).name(), "approve");
}

/// Unsuspended and suspended again, the object may have run with the number that was raised for
/// the next execution; the Workload does not show it.
#[rstest]
#[case::since_this_raise(0, 2)]
#[case::since_another_replicas_raise(1, 3)]
#[case::only_once(0, 1)]
#[case::count_alone(1, 0)]
#[case::an_older_version(0, -1)]
fn a_trainjob_that_was_changed_after_the_raise_is_raised_again(
    #[case] raises: u64,
    #[case] changes: i64,
) {
    let decision = later(facts::COUNT - raises, facts::GENERATION - changes);
    assert_eq!(decision, Decision::Wait(super::WaitReason::TrainJobChanged));
}

#[test]
fn a_count_that_fell_after_the_raise_is_no_ready() {
    assert_eq!(later(facts::COUNT + 1, facts::GENERATION).name(), "wait");
}
