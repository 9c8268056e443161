//! Passes with parts that are played: what is read, decided and written, in which order.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

use dispatch_contract::resources::Workload;
use dispatch_kubernetes::quiescence::Remainder;
use dispatch_kubernetes::raise::{NotRaised, NotTakenOver, RaisedFor};
use dispatch_kubernetes::request::Request;
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use rstest::rstest;
use serde_json::json;

use super::*;
use crate::apply::Apply;
use crate::decide::Decide;
use crate::gather::Gather;
use crate::raise::Raise;
use crate::snapshot::{At, Object, Owner};

const TAKEOVER: Duration = Duration::from_secs(20);

/// The three parts, by a script; with what was done.
#[derive(Default)]
struct Played {
    decisions: Mutex<VecDeque<Decision>>,
    answers: Mutex<VecDeque<Result<Applied, RequestError>>>,
    jobsets: Mutex<Vec<JobSet>>,
    done: Mutex<Vec<String>>,
}

impl Played {
    fn note(&self, what: impl Into<String>) {
        self.done.lock().unwrap().push(what.into());
    }
}

fn snapshot() -> Snapshot {
    let workload: Workload = serde_json::from_value(
        json!({"metadata": {"name": "w", "uid": "u", "resourceVersion": "5"}}),
    )
    .unwrap();
    let trainjob = serde_json::from_value(
        json!({"metadata": {"name": "t", "uid": "t", "resourceVersion": "6"}}),
    )
    .unwrap();
    let trainjob = At::read(trainjob).unwrap();
    let object =
        Object { trainjob, runtime: None, owned: dispatch_kubernetes::owned::Owned::default() };
    Snapshot {
        workload: At::read(workload).unwrap(),
        checks: vec![],
        owner: Owner::Dispatch(Box::new(object)),
        raised: None,
    }
}

impl Gather for Played {
    fn may_concern(&self, _: &Workload) -> bool {
        true
    }

    fn gather<'a>(
        &'a self,
        _: &'a WorkloadKey,
    ) -> BoxFuture<'a, Result<Option<Snapshot>, GatherError>> {
        self.note("read");
        async { Ok(Some(snapshot())) }.boxed()
    }

    fn gather_again<'a>(
        &'a self,
        first: &'a Snapshot,
        _: &'a Raised,
    ) -> BoxFuture<'a, Result<Snapshot, GatherError>> {
        self.note("read again");
        async { Ok(first.clone()) }.boxed()
    }

    fn jobset_versions(&self, _: &Object) -> BoxStream<'static, JobSet> {
        stream::iter(std::mem::take(&mut *self.jobsets.lock().unwrap())).boxed()
    }

    fn last_warning<'a>(&'a self, _: &'a Object) -> BoxFuture<'a, Option<String>> {
        async { Some("refused".to_owned()) }.boxed()
    }
}

impl Decide for Played {
    fn decide(&self, _: &Snapshot) -> Decision {
        self.decisions.lock().unwrap().pop_front().expect("a decision for each read")
    }
}

impl Apply for Played {
    fn apply<'a>(
        &'a self,
        _: &'a Snapshot,
        decision: &'a Decision,
    ) -> BoxFuture<'a, Result<Applied, RequestError>> {
        self.note(decision.name());
        let answer = self.answers.lock().unwrap().pop_front().unwrap_or(Ok(match decision {
            Decision::Raise(_) => Applied::Raised { generation: 3 },
            _ => Applied::Written,
        }));
        async { answer }.boxed()
    }
}

fn a(count: u64) -> AdmissionCount {
    AdmissionCount::new(count).unwrap()
}

fn raise() -> Decision {
    let jobs = BTreeSet::from(["node".to_owned()]);
    Decision::Raise(Raise { to: a(2), jobs, raised_for: RaisedFor::default(), unreadable: vec![] })
}

fn not_yet() -> Decision {
    Decision::AwaitTakeover(NotTakenOver::NoJobSet)
}

/// A Job that was made just now waits for its controller.
fn settling() -> Decision {
    let job = Remainder::Job { name: "job".into(), why: "its controller has not acted" };
    Decision::Wait(WaitReason::Remainder(job))
}

fn approve() -> Decision {
    Decision::Approve { a: a(2), unreadable: vec![] }
}

fn jobset(count: &str) -> JobSet {
    serde_json::from_value(json!({"metadata": {"name": "t"}, "spec": {"replicatedJobs": [
        {"name": "node", "template": {"spec": {"template": {"metadata": {
            "annotations": {names::POD_ADMISSION: count}}}}}}]}}))
    .unwrap()
}

fn failed(outcome: Outcome) -> Result<Applied, RequestError> {
    let request = Request::new("patch", "x", "n/x");
    Err(RequestError { request, outcome, message: "still active".into() })
}

struct Play {
    decisions: Vec<Decision>,
    answers: Vec<Result<Applied, RequestError>>,
    jobsets: Vec<JobSet>,
}

async fn run(play: Play) -> (Result<Passed, PassError>, Vec<String>, Duration) {
    let played = Arc::new(Played {
        decisions: Mutex::new(play.decisions.into()),
        answers: Mutex::new(play.answers.into()),
        jobsets: Mutex::new(play.jobsets),
        done: Mutex::default(),
    });
    let parts = Parts { gather: played.clone(), decide: played.clone(), apply: played.clone() };
    let pass = Pass { parts, metrics: Metrics::new(), takeover: TAKEOVER };
    let began = Instant::now();
    let key = WorkloadKey { namespace: "n".into(), name: "w".into() };
    let passed = pass.run(&key).await;
    let done = played.done.lock().unwrap().clone();
    (passed, done, began.elapsed())
}

#[rstest]
#[case::ready_once_the_jobset_shows_a(
    vec![raise(), approve()], vec![], vec![jobset("1"), jobset("2")],
    &["read", "raise", "read again", "approve"], 0)]
#[case::a_later_number_is_worth_a_look(
    vec![raise(), approve()], vec![], vec![jobset("3")],
    &["read", "raise", "read again", "approve"], 0)]
#[case::the_live_read_decides_not_the_watch(
    vec![raise(), not_yet(), approve()], vec![], vec![jobset("2"), jobset("2")],
    &["read", "raise", "read again", "read again", "approve"], 0)]
#[case::a_job_that_was_just_made_is_waited_for(
    vec![raise(), settling(), settling(), approve()], vec![],
    vec![jobset("2"), jobset("2"), jobset("2")],
    &["read", "raise", "read again", "read again", "read again", "approve"], 0)]
#[case::a_job_that_settles_without_a_word_of_the_jobset_is_looked_at_again(
    vec![raise(), settling(), settling(), approve()], vec![], vec![jobset("2")],
    &["read", "raise", "read again", "read again", "read again", "approve"], 750)]
#[case::a_job_that_does_not_settle_is_said(
    vec![raise(), settling(), settling(), settling(), settling(), settling()], vec![],
    vec![jobset("2")],
    &["read", "raise", "read again", "read again", "read again", "read again", "read again", "wait"],
    3_000)]
#[case::trainer_too_late_is_said(
    vec![raise(), not_yet()], vec![], vec![jobset("1")],
    &["read", "raise", "read again", "wait"], 20_000)]
#[case::a_watch_that_says_nothing_is_not_believed(
    vec![raise(), approve()], vec![], vec![],
    &["read", "raise", "read again", "approve"], 20_000)]
#[case::something_came_in_between(
    vec![raise(), Decision::Wait(WaitReason::Held)], vec![], vec![jobset("2")],
    &["read", "raise", "read again", "wait"], 0)]
#[case::a_changed_trainjob_ends_the_pass(
    vec![raise()], vec![failed(Outcome::Conflict)], vec![],
    &["read", "raise"], 0)]
#[case::an_altered_raise_is_said(
    vec![raise()],
    vec![Ok(Applied::Altered(NotRaised::Count { expected: a(2), found: "1".into() }))],
    vec![jobset("2")],
    &["read", "raise", "wait"], 0)]
#[case::a_stale_ready_is_dropped(
    vec![raise(), approve()], vec![Ok(Applied::Raised { generation: 3 }), failed(Outcome::Conflict)],
    vec![jobset("2")],
    &["read", "raise", "read again", "approve"], 0)]
#[tokio::test(start_paused = true)]
async fn a_pass_raises_before_ready(
    #[case] decisions: Vec<Decision>,
    #[case] answers: Vec<Result<Applied, RequestError>>,
    #[case] jobsets: Vec<JobSet>,
    #[case] expected: &[&str],
    #[case] milliseconds: u128,
) {
    let (passed, done, took) = run(Play { decisions, answers, jobsets }).await;
    assert!(passed.is_ok(), "{passed:?}");
    assert_eq!(done, expected);
    assert_eq!(took.as_millis(), milliseconds);
}

#[rstest]
#[case::what_is_left_goes_by_itself(settling(), Passed::Remains)]
#[case::a_person_ends_a_hold(Decision::Wait(WaitReason::Held), Passed::Waiting)]
#[tokio::test(start_paused = true)]
async fn what_goes_by_itself_is_looked_at_again_without_an_event(
    #[case] decision: Decision,
    #[case] expected: Passed,
) {
    let play = Play { decisions: vec![decision], answers: vec![], jobsets: vec![] };
    assert_eq!(run(play).await.0.unwrap(), expected);
}

#[rstest]
#[case::refused_by_trainer(failed(Outcome::Denied), &["read", "raise", "wait"])]
#[case::of_unknown_outcome(failed(Outcome::Unknown), &["read", "raise"])]
#[case::without_the_right(failed(Outcome::Forbidden), &["read", "raise"])]
#[tokio::test(start_paused = true)]
async fn a_raise_that_fails_is_no_reason_for_ready(
    #[case] answer: Result<Applied, RequestError>,
    #[case] expected: &[&str],
) {
    let play = Play { decisions: vec![raise()], answers: vec![answer], jobsets: vec![jobset("2")] };
    let (passed, done, _) = run(play).await;
    assert!(passed.is_err(), "{passed:?}");
    assert_eq!(done, expected);
}
