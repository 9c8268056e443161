use dispatch_contract::{AdmissionCount, ErrorKind, ExecutionIdentity, Violation};
use insta::assert_snapshot;

use super::*;

const NAME: &str = "dj-01arz3ndektsv4rrffq69g5fav-s1";

fn pod(name: &str, terminating: bool) -> PodOfObject {
    PodOfObject {
        name: name.to_owned(),
        uid: format!("uid-of-{name}"),
        phase: "Running".to_owned(),
        terminating,
        node: Some("node-1".to_owned()),
        admission: Some("2".to_owned()),
    }
}

fn status_text(state: State) -> String {
    let answer = StatusAnswer { state, admission: AdmissionCount::new(2), violations: Vec::new() };
    text(&Answer::Status(NAME.to_owned(), answer))
}

#[test]
fn start_says_what_is_next() {
    let answer = StartAnswer {
        name: NAME.to_owned(),
        uid: "u".to_owned(),
        warnings: vec!["the job node lacks podReplacementPolicy: Failed".to_owned()],
    };
    assert_snapshot!(text(&Answer::Start(answer)), @r"
    dj-01arz3ndektsv4rrffq69g5fav-s1 is created, closed
      uid   u
      next  dispatch-adapter open dj-01arz3ndektsv4rrffq69g5fav-s1 --uid u
      warning: the job node lacks podReplacementPolicy: Failed
    ");
}

#[test]
fn a_running_object_shows_its_identity_and_pods() {
    let identity = ExecutionIdentity { admission: AdmissionCount::new(2).unwrap(), restarts: 0 };
    let state = State::Running {
        identity: Some(identity),
        pods: vec![pod("p-0", false), pod("p-1", true)],
    };
    assert_snapshot!(status_text(state), @r"
    dj-01arz3ndektsv4rrffq69g5fav-s1 is running, A=2
      R: (2, 0)
      pod: p-0, Running on node-1, A=2
      pod: p-1, Terminating on node-1, A=2
    ");
}

#[test]
fn an_object_at_the_check_shows_what_is_waited_for_and_a_silent_controller() {
    let state = State::WaitingAtCheck {
        check: "dispatch".to_owned(),
        check_state: "Pending".to_owned(),
        message: "waits for the pod p-0 (Terminating)".to_owned(),
        controller_silent_since: "2026-01-01T00:00:00Z".parse().ok(),
    };
    assert_snapshot!(status_text(state), @r"
    dj-01arz3ndektsv4rrffq69g5fav-s1 is waiting-at-check, A=2
      check: dispatch is Pending
      message: waits for the pod p-0 (Terminating)
      controller: its Lease has not been renewed since 2026-01-01T00:00:00Z
    ");
}

#[test]
fn an_ended_object_shows_how_and_violations_follow() {
    let answer = StatusAnswer {
        state: State::Ended {
            how: "Failed".to_owned(),
            opened: true,
            pods_left: vec![pod("p-0", true)],
        },
        admission: None,
        violations: vec![Violation { rule: "EX-04".to_owned(), message: "two JobSets".to_owned() }],
    };
    assert_snapshot!(text(&Answer::Status(NAME.to_owned(), answer)), @r"
    dj-01arz3ndektsv4rrffq69g5fav-s1 is ended, A=unreadable
      how: Failed
      was opened: yes
      pod left: p-0, Terminating on node-1, A=2
      violation of EX-04: two JobSets
    ");
}

#[test]
fn the_other_states_are_a_line_or_two() {
    let states = [
        State::NotFound,
        State::Gated,
        State::HeldByAdministrator { gates: vec!["a.io/x".to_owned()] },
        State::HeldByAdministrator { gates: Vec::new() },
        State::Starting { refused_by: Some("the runtime was edited".to_owned()) },
        State::Queued { reason: "insufficient quota".to_owned() },
    ];
    let text: String = states.into_iter().map(status_text).collect();
    assert_snapshot!(text.replace(NAME, "NAME"), @r"
    NAME is not-found
    NAME is gated, A=2
    NAME is held-by-administrator, A=2
      gates: a.io/x
    NAME is held-by-administrator, A=2
      gates: none that has a name; the annotation has a blank value
    NAME is starting, A=2
      refused by: the runtime was edited
    NAME is queued, A=2
      reason: insufficient quota
    ");
}

#[test]
fn the_calls_that_change_an_object_say_what_became_of_it() {
    let name = || NAME.to_owned();
    let left = "the Workload w was deactivated by somebody else".to_owned();
    let answers = [
        Answer::Open(name()),
        Answer::Hold(name()),
        Answer::Release(name(), ReleaseAnswer { released: true, not_resumed: None }),
        Answer::Release(name(), ReleaseAnswer { released: true, not_resumed: Some(left) }),
        Answer::Release(name(), ReleaseAnswer { released: false, not_resumed: None }),
        Answer::Stop(name(), StopAnswer { deleted: true }),
        Answer::Stop(name(), StopAnswer { deleted: false }),
    ];
    let text: String = answers.iter().map(text).collect();
    assert_snapshot!(text.replace(NAME, "NAME"), @r"
    NAME is open
    NAME is held
    NAME is released
    NAME is released
      it does not go on: the Workload w was deactivated by somebody else
    NAME: nothing was released
    NAME is stopped; nothing of it is left
    NAME was gone already; nothing of it is left
    ");
}

#[test]
fn a_list_is_a_table() {
    let entry = |name: &str, state| ListEntry { name: name.to_owned(), uid: "u".to_owned(), state };
    let entries = vec![entry("dj-a-s1", State::Gated), entry("dj-bc-s12", State::GateGone)];
    assert_snapshot!(text(&Answer::List(entries)), @r"
    dj-a-s1    u  gated
    dj-bc-s12  u  gate-gone
    ");
    assert_snapshot!(text(&Answer::List(Vec::new())), @"no objects");
}

#[test]
fn preflight_says_why_nothing_may_be_started() {
    let answer = PreflightAnswer {
        observe_only: true,
        reasons: vec![Violation {
            rule: "PF-01".to_owned(),
            message: "the gate leaks: the closed probe got quota".to_owned(),
        }],
        readmission_gate: ReadmissionGate::Yes,
        warnings: vec!["the ResourceFlavor gpu uses a topology".to_owned()],
    };
    let answer = Answer::Preflight(answer);
    assert!(answer.is_failure());
    assert_snapshot!(text(&answer), @r"
    observe-only: Start, Open and Release are refused
      PF-01: the gate leaks: the closed probe got quota
      readmission gate: yes
      warning: the ResourceFlavor gpu uses a topology
    ");
}

#[test]
fn an_error_names_its_kind_and_its_rules() {
    let error = CallError {
        kind: ErrorKind::Refused,
        message: "TrainJob n/t is not what was written".to_owned(),
        rules: vec!["SG-03".to_owned(), "SG-06".to_owned()],
    };
    assert_snapshot!(
        error_text(&error),
        @"error: refused: TrainJob n/t is not what was written (SG-03, SG-06)"
    );
}

#[test]
fn answers_in_json_are_those_of_the_driver_protocol() {
    let answer = Answer::Stop(NAME.to_owned(), StopAnswer { deleted: true });
    assert_snapshot!(json(&answer), @r#"{"deleted":true}"#);
    assert_snapshot!(json(&Answer::Open(NAME.to_owned())), @"{}");
    let answer = Answer::Status(
        NAME.to_owned(),
        StatusAnswer {
            state: State::Gated,
            admission: Some(AdmissionCount::ZERO),
            violations: Vec::new(),
        },
    );
    assert_snapshot!(json(&answer), @r#"{"admission":"0","state":"gated"}"#);
}
