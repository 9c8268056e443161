//! Expectations and witness against histories that are told by hand.

use rstest::rstest;
use serde_json::json;

use super::*;
use crate::history::told::Told;
use crate::history::{SubjectChange, Verb};
use crate::scenario::told::{expectation, scenario};

type Teller = for<'a> fn(&'a mut Told) -> &'a mut Told;

/// Gives a closure the type that a table of cases does not give it.
fn telling(tell: Teller) -> Teller {
    tell
}

fn judge(tell: Teller, text: &str) -> Finding {
    let mut told = Told::kueue();
    tell(&mut told);
    expectation(text).judge(&told.history())
}

const TWO_EXECUTIONS: Teller = |t| t.runs().is_preempted(1).reserves().goes(2);
const LINGERING: Teller = |t| {
    t.runs().evicts().suspends().pod_terminates("pod-1").unreserves().reserves();
    t.pod_goes("pod-1").goes(2)
};

#[rstest]
#[case::never(telling(Told::starts), "{ never: { pod-of: train } }")]
#[case::never_before(
    telling(Told::runs),
    "{ never: { pod-of: train }, before: { called: open, for: train } }"
)]
#[case::never_after(
    telling(|t| t.runs().pod_ends("pod-1", "Failed").ends("Failed")),
    "{ never: { pod-of: train }, after: { ended: train, as: Failed } }"
)]
#[case::always(telling(|t| t), "{ always: { admission-check: active }, after: { admission-check: active } }")]
#[case::always_between(
    LINGERING,
    "{ always: { workload: train, check: Pending }, \
       between: [ { workload: train, evicted: true }, { gone: pods-of train } ] }"
)]
#[case::finally(telling(|t| t.runs().pod_goes("pod-1")), "{ finally: { gone: pods-of train } }")]
#[case::no_execution(
    telling(Told::starts),
    "{ executions: { of: train, count: 0, identity: increasing } }"
)]
#[case::one_execution(
    telling(Told::runs),
    "{ executions: { of: train, count: 1, identity: increasing } }"
)]
#[case::two_executions(
    TWO_EXECUTIONS,
    "{ executions: { of: train, count: 2, identity: increasing } }"
)]
#[case::count(TWO_EXECUTIONS, "{ count: { of: train, A: 2 } }")]
#[case::count_of_at_least(telling(|t| t.waits().goes(7)), "{ count: { of: train, A: 2+ } }")]
#[case::never_outdated_with_a_raise_between(
    LINGERING,
    "{ never: { together: [ { trainjob: train, suspended: false }, { pod-of: train, A: outdated } ] } }"
)]
fn an_expectation_holds(#[case] tell: Teller, #[case] text: &str) {
    assert_eq!(judge(tell, text), Finding::Held);
}

#[rstest]
#[case::never(telling(Told::runs), "{ never: { pod-of: train } }", "it was so")]
#[case::never_before(
    telling(|t| t.starts().pod("early", "0").opens()),
    "{ never: { pod-of: train }, before: { called: open, for: train } }",
    "it was so before that"
)]
#[case::never_after(
    telling(|t| t.runs().ends("Failed").pod("late", "1")),
    "{ never: { pod-of: train }, after: { ended: train, as: Failed } }",
    "it was so after that"
)]
#[case::always(
    telling(|t| t.controller(SubjectChange::Stopped)),
    "{ always: { controller: 0, is: started }, after: { admission-check: active } }",
    "it was not so after that"
)]
#[case::always_between(
    telling(|t| t.runs().evicts().suspends().pod_terminates("pod-1").unreserves().reserves()
        .sets("Ready").pod_goes("pod-1")),
    "{ always: { workload: train, check: Pending }, \
       between: [ { workload: train, evicted: true }, { gone: pods-of train } ] }",
    "it was not so between the two"
)]
#[case::finally(
    telling(Told::runs),
    "{ finally: { gone: pods-of train } }",
    "it is not so at the end"
)]
#[case::too_many(
    TWO_EXECUTIONS,
    "{ executions: { of: train, count: 1, identity: increasing } }",
    "it had 2 executions"
)]
#[case::too_few(
    telling(Told::runs),
    "{ executions: { of: train, count: 2, identity: increasing } }",
    "it had 1 executions"
)]
#[case::not_raised(
    telling(|t| t.runs().is_preempted(1).reserves().resumes()),
    "{ executions: { of: train, count: 2, identity: increasing } }",
    "A of its executions was 1, then 1"
)]
#[case::count(telling(Told::runs), "{ count: { of: train, A: 2 } }", "A is 1 at the end")]
#[case::count_too_low(telling(Told::runs), "{ count: { of: train, A: 2+ } }", "A is 1 at the end")]
#[case::outdated_beside_the_next_execution(
    telling(|t| t.runs().evicts().suspends().pod_terminates("pod-1").reserves().goes(5)),
    "{ never: { together: [ { trainjob: train, suspended: false }, { pod-of: train, A: outdated } ] } }",
    "it was so"
)]
fn an_expectation_is_broken(#[case] tell: Teller, #[case] text: &str, #[case] because: &str) {
    match judge(tell, text) {
        Finding::Broken { because: found, events } => {
            assert_eq!(found, because);
            assert!(!events.is_empty());
            assert!(events.is_sorted(), "{events:?}");
        }
        other => panic!("{other:?}"),
    }
}

#[rstest]
#[case::gap(telling(|t| t.starts().gap(Some(Kind::Pod))), "{ never: { pod-of: train } }")]
#[case::gap_in_everything(telling(|t| t.starts().gap(None)), "{ never: { pod-of: train } }")]
#[case::scope_that_never_began(
    telling(Told::starts),
    "{ never: { pod-of: train }, after: { running: train } }"
)]
#[case::scope_that_never_ended(
    telling(Told::starts),
    "{ never: { pod-of: train }, before: { called: open, for: train } }"
)]
#[case::gap_before_the_count(telling(|t| t.runs().gap(Some(Kind::TrainJob))), "{ count: { of: train, A: 1 } }")]
#[case::no_object(telling(|t| t), "{ executions: { of: train, count: 1, identity: increasing } }")]
fn the_history_does_not_tell(#[case] tell: Teller, #[case] text: &str) {
    assert!(matches!(judge(tell, text), Finding::CannotBeSaid { .. }));
}

#[test]
fn a_gap_of_another_kind_does_not_matter() {
    let tell: Teller = |t| t.starts().gap(Some(Kind::Lease));
    assert_eq!(judge(tell, "{ never: { pod-of: train } }"), Finding::Held);
}

#[test]
fn a_broken_expectation_outweighs_a_gap() {
    let tell: Teller = |t| t.runs().gap(Some(Kind::Pod));
    assert!(matches!(judge(tell, "{ never: { pod-of: train } }"), Finding::Broken { .. }));
}

#[test]
fn what_the_end_should_show_is_open_where_the_scenario_broke_off() {
    let mut told = Told::kueue();
    told.runs();
    let history: History = told.events.iter().cloned().collect();
    for text in ["{ count: { of: train, A: 1 } }", "{ finally: { running: train } }"] {
        assert!(matches!(expectation(text).judge(&history), Finding::CannotBeSaid { .. }));
    }
}

#[test]
fn a_witness_is_seen_where_it_was_first_so() {
    let mut told = Told::kueue();
    told.starts();
    let gated = told.events.len() as u64;
    told.calls(Verb::Open).answers(json!({})).opens();
    let witness = scenario("", "{ called: open, for: train }").witness.remove(0);
    assert_eq!(witness.find(&told.history()), Sighting::Seen { event: gated });
}

#[test]
fn a_witness_may_be_missing() {
    let mut told = Told::kueue();
    let witness = scenario("", "{ running: train }").witness.remove(0);
    let sighting = witness.find(&told.starts().history());
    assert_eq!(sighting, Sighting::NotSeen { why: "it was never so".to_owned() });
}
