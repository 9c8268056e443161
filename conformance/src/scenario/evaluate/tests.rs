//! Facts against histories that are told by hand.

use dispatch_contract::ErrorKind;
use rstest::rstest;
use serde_json::json;

use super::*;
use crate::history::told::{CHECK, NAME, Told, UID, set_check, set_condition};
use crate::scenario::told::fact;

type Teller = for<'a> fn(&'a mut Told) -> &'a mut Told;

/// Gives a closure the type that a table of cases does not give it.
fn telling(tell: Teller) -> Teller {
    tell
}

fn now(tell: Teller, text: &str) -> Truth {
    let mut told = Told::kueue();
    tell(&mut told);
    fact(text).is_so(&told.history())
}

#[rstest]
#[case::gated(
    telling(Told::starts),
    "{ workload: train, gated: true, quota-reserved: false, check: Pending }"
)]
#[case::no_longer_gated(telling(|t| t.starts().opens()), "{ workload: train, gated: false, quota-reserved: false }")]
#[case::quota(telling(Told::waits), "{ workload: train, quota-reserved: true, admitted: false }")]
#[case::ready(telling(|t| t.waits().sets("Ready")), "{ workload: train, check: Ready }")]
#[case::admitted(telling(Told::runs), "{ workload: train, admitted: true, evicted: false }")]
#[case::evicted(telling(|t| t.runs().evicts()), "{ workload: train, evicted: true, quota-reserved: true, check: Pending }")]
#[case::finished(
    telling(|t| t.runs().workload(|it| set_condition(it, "Finished", "True", "Failed"))),
    "{ workload: train, finished: true }"
)]
#[case::not_finished(telling(Told::runs), "{ workload: train, finished: false }")]
#[case::closed(
    telling(Told::starts),
    "{ trainjob: train, suspended: true, opened: false, ended-mark: false, A: 0 }"
)]
#[case::opened(telling(|t| t.starts().opens()), "{ trainjob: train, opened: true }")]
#[case::raised(telling(Told::runs), "{ trainjob: train, suspended: false, A: 1 }")]
#[case::marked(telling(|t| t.runs().ends("Failed").marks_ended()), "{ trainjob: train, ended-mark: true, suspended: true }")]
#[case::first_jobset(telling(Told::starts), "{ jobset: train, nth: 1, suspended: true }")]
#[case::running(telling(Told::runs), "{ running: train, execution: 1, A: 1 }")]
#[case::second_execution(telling(|t| t.runs().is_preempted(1).reserves().goes(2)), "{ running: train, execution: 2, A: 2 }")]
#[case::pod(telling(Told::runs), "{ pod-of: train, terminating: false, A: 1 }")]
#[case::count_that_was_skipped_to(telling(|t| t.waits().goes(7)), "{ trainjob: train, A: 2+ }")]
#[case::count_of_at_least_itself(telling(Told::runs), "{ running: train, execution: 1, A: 1+ }")]
#[case::pod_of_at_least(telling(|t| t.waits().goes(7)), "{ pod-of: train, A: 2+ }")]
#[case::outdated_pod(telling(|t| t.runs().raises(2)), "{ pod-of: train, A: outdated }")]
#[case::running_outdated(telling(|t| t.runs().raises(9)), "{ running: train, A: outdated }")]
#[case::one_pod_is_outdated(
    telling(|t| t.runs().pod_terminates("pod-1").raises(2).pod("pod-2", "2")),
    "{ together: [ { pod-of: train, terminating: true, A: outdated }, \
                   { pod-of: train, terminating: false, A: 2+ } ] }"
)]
#[case::terminating_pod(telling(|t| t.runs().pod_terminates("pod-1")), "{ pod-of: train, terminating: true }")]
#[case::pods_never_there(telling(Told::starts), "{ gone: pods-of train }")]
#[case::pods_ended(telling(|t| t.runs().pod_ends("pod-1", "Failed")), "{ gone: pods-of train }")]
#[case::jobset_without_active_jobs(telling(Told::starts), "{ jobset: train, active: false }")]
#[case::jobset_with_an_active_job(
    telling(|t| t.starts().change(Kind::JobSet, NAME, |it| {
        it["status"]["replicatedJobsStatus"] = json!([{"name": "node", "active": 1}]);
    })),
    "{ jobset: train, active: true }"
)]
#[case::jobset_deleted(telling(|t| t.starts().delete(Kind::JobSet, NAME)), "{ gone: jobset-of train }")]
#[case::trainjob_deleted(telling(|t| t.starts().delete(Kind::TrainJob, NAME)), "{ gone: trainjob-of train }")]
#[case::failed(telling(|t| t.runs().ends("Failed")), "{ ended: train, as: Failed }")]
#[case::complete(telling(|t| t.runs().ends("Complete")), "{ ended: train, as: Succeeded }")]
#[case::called(telling(|t| t.starts().calls(Verb::Open)), "{ called: open, for: train }")]
#[case::stopped(telling(|t| t.controller(SubjectChange::Stopped)), "{ controller: 0, is: stopped }")]
#[case::killed(telling(|t| t.controller(SubjectChange::Killed)), "{ controller: 0, is: stopped }")]
#[case::started(telling(|t| t.controller(SubjectChange::Stopped).controller(SubjectChange::Started)), "{ controller: 0, is: started }")]
#[case::frozen(telling(|t| t.controller(SubjectChange::Frozen)), "{ controller: 0, is: frozen }")]
#[case::thawed(telling(|t| t.controller(SubjectChange::Frozen).controller(SubjectChange::Thawed)), "{ controller: 0, is: started }")]
#[case::held(telling(|t| t.runs().holds("a")), "{ trainjob: train, held: true }")]
#[case::not_held(telling(Told::runs), "{ trainjob: train, held: false }")]
#[case::deactivated(telling(|t| t.runs().holds("a")), "{ workload: train, active: false }")]
#[case::active(telling(Told::runs), "{ workload: train, active: true }")]
#[case::adapter_killed(telling(|t| t.adapter(SubjectChange::Killed)), "{ adapter: stopped }")]
#[case::another_process(telling(|t| t.adapter(SubjectChange::Killed)), "{ controller: 0, is: started }")]
#[case::check_active(telling(|t| t), "{ admission-check: active }")]
#[case::check_inactive(telling(|t| t.change(Kind::AdmissionCheck, CHECK, |it| it["status"] = json!({}))), "{ admission-check: inactive }")]
#[case::proved(telling(|t| t.calls(Verb::Preflight).answers(json!({"observeOnly": false}))), "{ preflight: proved }")]
#[case::leak(telling(|t| t.calls(Verb::Preflight).answers(json!({"observeOnly": true}))), "{ preflight: observe-only }")]
#[case::another_checks_state(
    telling(|t| t.waits().workload(|it| {
        it["status"]["admissionChecks"].as_array_mut().unwrap()
            .push(json!({"name": "other", "state": "Ready", "message": ""}));
    })),
    "{ workload: train, check: Pending, foreign-check: Ready }"
)]
#[case::the_jobsets_workload(
    telling(|t| t.starts().create(Kind::Workload, json!({
        "metadata": {"name": "second", "namespace": "ns", "uid": "uid-second", "ownerReferences": [
            {"kind": "JobSet", "name": NAME, "uid": "uid-jobset", "controller": true}]},
        "status": {"conditions": [{"type": "QuotaReserved", "status": "True"}]}}))),
    "{ workload: train, of: jobset, quota-reserved: true }"
)]
#[case::message_names_the_pod(
    telling(|t| t.runs().workload(|it| set_check(it, "Pending", "waiting for pod-1"))),
    "{ workload: train, names: pods-of train }"
)]
#[case::message_has_the_word(
    telling(|t| t.starts().workload(|it| set_check(it, "Pending", "its TrainingRuntime was edited"))),
    "{ workload: train, says: runtime }"
)]
#[case::together(
    telling(Told::runs),
    "{ together: [ { running: train }, { trainjob: train, A: 1 } ] }"
)]
#[case::probe(
    telling(|t| t.starts().trainjob(|it| it["metadata"]["labels"] = json!({})).create(Kind::TrainJob, json!({
        "metadata": {"name": "p", "uid": "uid-p", "labels": {names::PROBE: "true"}}}))),
    "{ trainjob: probe }"
)]
fn a_fact_is_true(#[case] tell: Teller, #[case] text: &str) {
    assert_eq!(now(tell, text), Truth::True);
}

#[rstest]
#[case::nothing_happened(telling(|t| t), "{ workload: train }")]
#[case::not_started(telling(|t| t), "{ trainjob: train }")]
#[case::one_attribute_differs(
    telling(Told::starts),
    "{ workload: train, gated: true, check: Ready }"
)]
#[case::no_check_listed(telling(|t| t.create_trainjob().create_workload()), "{ workload: train, check: Pending }")]
#[case::count_is_there(telling(Told::starts), "{ trainjob: train, A: absent }")]
#[case::empty_count_is_not_absent(
    telling(|t| t.starts().trainjob(|it| it["metadata"]["annotations"][names::ADMISSION_COUNT] = json!(""))),
    "{ trainjob: train, A: absent }"
)]
#[case::unreadable_count_is_no_number(
    telling(|t| t.starts().trainjob(|it| it["metadata"]["annotations"][names::ADMISSION_COUNT] = json!("01"))),
    "{ trainjob: train, A: 1 }"
)]
#[case::unreadable_count_is_not_at_least_0(
    telling(|t| t.starts().trainjob(|it| it["metadata"]["annotations"][names::ADMISSION_COUNT] = json!("01"))),
    "{ trainjob: train, A: 0+ }"
)]
#[case::absent_count_is_not_at_least_0(
    telling(|t| t.starts().trainjob(|it| it["metadata"]["annotations"] = json!({}))),
    "{ trainjob: train, A: 0+ }"
)]
#[case::less_than_at_least(telling(Told::runs), "{ trainjob: train, A: 2+ }")]
#[case::pod_of_the_count_is_not_outdated(telling(Told::runs), "{ pod-of: train, A: outdated }")]
#[case::unreadable_pod_is_not_outdated(
    telling(|t| t.starts().raises(2).pod("pod-1", "x")),
    "{ pod-of: train, A: outdated }"
)]
#[case::not_outdated_without_a_count(
    telling(|t| t.runs().trainjob(|it| it["metadata"]["annotations"] = json!({}))),
    "{ pod-of: train, A: outdated }"
)]
#[case::not_outdated_without_a_trainjob(
    telling(|t| t.runs().delete(Kind::TrainJob, NAME)),
    "{ pod-of: train, A: outdated }"
)]
#[case::all_pods_must_be_outdated(
    telling(|t| t.runs().raises(2).pod("pod-2", "2")),
    "{ running: train, A: outdated }"
)]
#[case::no_second_jobset(telling(Told::starts), "{ jobset: train, nth: 2 }")]
#[case::terminating_does_not_run(telling(|t| t.runs().pod_terminates("pod-1")), "{ running: train }")]
#[case::all_pods_must_run(telling(|t| t.runs().pod("pod-x", "1").pod_ends("pod-x", "Pending")), "{ running: train }")]
#[case::other_execution(telling(Told::runs), "{ running: train, execution: 2 }")]
#[case::other_count(telling(Told::runs), "{ running: train, A: 2 }")]
#[case::terminating_pod_is_left(telling(|t| t.runs().pod_terminates("pod-1")), "{ gone: pods-of train }")]
#[case::ended_otherwise(telling(|t| t.runs().ends("Failed")), "{ ended: train, as: Succeeded }")]
#[case::other_call(telling(Told::starts), "{ called: open, for: train }")]
#[case::controller_runs(telling(|t| t), "{ controller: 0, is: stopped }")]
#[case::no_preflight_yet(telling(|t| t), "{ preflight: proved }")]
#[case::preflight_failed(telling(|t| t.calls(Verb::Preflight).fails(ErrorKind::Unavailable)), "{ preflight: proved }")]
#[case::one_of_the_two(
    telling(Told::starts),
    "{ together: [ { running: train }, { trainjob: train } ] }"
)]
#[case::message_without_pods(
    telling(|t| t.starts().workload(|it| set_check(it, "Pending", "waiting"))),
    "{ workload: train, names: pods-of train }"
)]
#[case::message_without_the_word(
    telling(|t| t.starts().workload(|it| set_check(it, "Pending", "waiting"))),
    "{ workload: train, says: runtime }"
)]
#[case::message_names_one_of_two(
    telling(|t| t.runs().pod("pod-x", "1").workload(|it| set_check(it, "Pending", "waiting for pod-1"))),
    "{ workload: train, names: pods-of train }"
)]
fn a_fact_is_false(#[case] tell: Teller, #[case] text: &str) {
    assert_eq!(now(tell, text), Truth::False);
}

#[test]
fn an_object_that_cannot_be_read_leaves_it_open() {
    let tell: Teller = |t| t.starts().trainjob(|it| it["spec"] = json!("nonsense"));
    assert!(matches!(now(tell, "{ trainjob: train }"), Truth::CannotBeSaid(_)));
}

#[test]
fn a_trainjob_that_cannot_be_read_leaves_open_whether_its_pods_are_outdated() {
    let tell: Teller = |t| t.runs().trainjob(|it| it["spec"] = json!("nonsense"));
    assert!(matches!(now(tell, "{ pod-of: train, A: outdated }"), Truth::CannotBeSaid(_)));
    assert!(matches!(now(tell, "{ running: train, A: outdated }"), Truth::CannotBeSaid(_)));
    assert_eq!(now(tell, "{ running: train, A: 1+ }"), Truth::True);
}

#[test]
fn a_pod_is_outdated_at_the_points_where_its_trainjob_says_more() {
    let mut told = Told::kueue();
    let raised = told.runs().raises(2).events.last().cloned().unwrap();
    let history = told.pod_goes("pod-1").pod("pod-2", "2").history();
    let outdated = fact("{ pod-of: train, A: outdated }");
    let order = raised.order.unwrap();
    let at = |order| outdated.holds(&history, Point { order, event: u64::MAX });
    assert_eq!([at(order - 1), at(order)], [Truth::False, Truth::True]);
    assert_eq!(outdated.is_so(&history), Truth::False);
}

#[test]
fn a_call_comes_after_the_versions_of_the_revision_it_was_sent_at() {
    let mut told = Told::kueue();
    told.starts().pod("early", "0").calls(Verb::Open);
    let pod = told.events.iter().rfind(|event| matches!(event.what, What::Version(_))).cloned();
    let call = told.events.last().cloned();
    let (pod, call) = (pod.unwrap(), call.unwrap());
    assert_eq!(pod.order, call.order);
    let history = told.history();
    let called = fact("{ called: open, for: train }");
    assert_eq!(called.holds(&history, Point::of(&pod).unwrap()), Truth::False);
    assert_eq!(called.holds(&history, Point::of(&call).unwrap()), Truth::True);
    assert_eq!(fact("{ pod-of: train }").holds(&history, Point::of(&pod).unwrap()), Truth::True);
}

#[test]
fn a_plain_job_has_a_workload_and_pods() {
    let mut told = Told::kueue();
    told.tell(
        None,
        What::JobNamed(crate::history::JobNamed {
            job: "other".to_owned(),
            kind: Kind::Job,
            name: "other".to_owned(),
            uid: Some("uid-other".to_owned()),
            dispatch: false,
        }),
    );
    let owner = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "other",
        "uid": "uid-other", "controller": true}]);
    let metadata = |name: &str| json!({"name": name, "namespace": "ns", "uid": name, "ownerReferences": owner});
    told.create(Kind::Job, json!({"metadata": {"name": "other", "uid": "uid-other"}}));
    told.create(
        Kind::Workload,
        json!({"metadata": metadata("w"), "status": {"conditions":
            [{"type": "QuotaReserved", "status": "True"}]}}),
    );
    told.create(Kind::Pod, json!({"metadata": metadata("p"), "status": {"phase": "Running"}}));
    let history = told.history();
    assert_eq!(fact("{ running: other }").is_so(&history), Truth::True);
    assert_eq!(fact("{ pod-of: other, A: absent }").is_so(&history), Truth::True);
    assert_eq!(fact("{ workload: other, quota-reserved: true }").is_so(&history), Truth::True);
    assert_eq!(fact("{ running: train }").is_so(&history), Truth::False);
    assert_ne!(UID, "uid-other");
}
