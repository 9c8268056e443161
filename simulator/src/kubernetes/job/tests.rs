use rstest::rstest;
use serde_json::json;

use super::pods::TRACKING;
use super::*;
use crate::testing::{at, body, verbs, view};

fn job(suspend: bool) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "a", "namespace": "n", "uid": "j", "generation": 1},
        "spec": {
            "suspend": suspend, "completionMode": "Indexed", "completions": 2, "parallelism": 2,
            "backoffLimit": 0, "podReplacementPolicy": "Failed",
            "template": {
                "metadata": {"annotations": {"admission": "1"}},
                "spec": {"containers": [{"name": "node"}], "restartPolicy": "Never"},
            },
        },
        "status": {"ready": 0, "terminating": 0},
    })
}

fn pod(index: i64, phase: &str) -> Value {
    json!({
        "metadata": {
            "name": format!("a-{index}-x"), "namespace": "n", "uid": format!("p{index}"),
            "finalizers": [TRACKING],
            "annotations": {"batch.kubernetes.io/job-completion-index": index.to_string()},
            "ownerReferences": [{"kind": "Job", "name": "a", "uid": "j", "controller": true}],
        },
        "status": {"phase": phase},
    })
}

fn going(mut pod: Value) -> Value {
    pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    pod["metadata"].as_object_mut().unwrap().remove("finalizers");
    pod
}

fn plan(job: Value, pods: Vec<Value>) -> Plan {
    let mut objects = vec![(JOB, job)];
    objects.extend(pods.into_iter().map(|it| (POD, it)));
    Jobs::default().reconcile(&view(&objects), &Key::new("n", "a"), at(0))
}

/// What the last update of the Job says.
fn status(plan: &Plan) -> Value {
    let last = verbs(plan).iter().rposition(|it| it == "update jobs/status").unwrap();
    body(plan, last)["status"].clone()
}

fn condition_types(status: &Value) -> Vec<String> {
    items(status, "/conditions").iter().map(|it| text(it, "/type").to_owned()).collect()
}

#[test]
fn a_suspended_job_has_no_pods() {
    let plan = plan(job(true), Vec::new());
    assert_eq!(verbs(&plan), ["update jobs/status", "create events"]);
    let status = status(&plan);
    assert_eq!(status["conditions"][0]["reason"], "JobSuspended");
    assert_eq!(status["startTime"], Value::Null);
}

#[test]
fn a_resumed_job_makes_its_pods_and_then_says_so() {
    let mut resumed = job(false);
    resumed["status"]["conditions"] =
        json!([{"type": "Suspended", "status": "True", "reason": "JobSuspended"}]);
    let plan = plan(resumed, Vec::new());
    let expected = ["create pods", "create pods", "update jobs/status", "create events"];
    assert_eq!(verbs(&plan), expected);
    let pod = body(&plan, 1);
    assert_eq!(pod["metadata"]["generateName"], "a-1-");
    assert_eq!(pod["metadata"]["annotations"]["admission"], "1");
    assert_eq!(pod["spec"]["hostname"], "a-1");
    assert_eq!(pod["spec"]["containers"][0]["env"][0]["name"], "JOB_COMPLETION_INDEX");
    let status = status(&plan);
    assert_eq!(status["active"], 2);
    assert_eq!(status["conditions"][0]["reason"], "JobResumed");
}

#[test]
fn suspension_deletes_the_pods_and_counts_them_as_terminating_at_once() {
    let plan = plan(job(true), vec![pod(0, "Running"), pod(1, "Pending")]);
    let removed = ["patch pods", "delete pods"];
    let expected: Vec<&str> =
        [&removed[..], &removed, &["update jobs/status", "create events"]].concat();
    assert_eq!(verbs(&plan), expected);
    let status = status(&plan);
    assert_eq!((&status["active"], &status["terminating"]), (&Value::Null, &json!(2)));
}

#[rstest]
#[case::replaced_when_they_have_ended("Failed", 0)]
#[case::replaced_at_once("TerminatingOrFailed", 2)]
fn pods_that_are_terminating_are_not_active(#[case] policy: &str, #[case] made: usize) {
    let mut resumed = job(false);
    resumed["spec"]["podReplacementPolicy"] = policy.into();
    resumed["spec"]["backoffLimit"] = 6.into();
    let plan = plan(resumed, vec![going(pod(0, "Running")), going(pod(1, "Running"))]);
    assert_eq!(verbs(&plan).iter().filter(|it| *it == "create pods").count(), made);
}

#[test]
fn a_job_completes_when_its_pods_have_succeeded() {
    let plan = plan(job(false), vec![pod(0, "Succeeded"), pod(1, "Succeeded")]);
    let expected =
        ["update jobs/status", "patch pods", "patch pods", "update jobs/status", "create events"];
    assert_eq!(verbs(&plan), expected);
    assert_eq!(condition_types(&body(&plan, 0)["status"]), ["SuccessCriteriaMet"]);
    let status = status(&plan);
    assert_eq!(condition_types(&status), ["SuccessCriteriaMet", "Complete"]);
    assert_eq!(status["completedIndexes"], "0,1");
    assert_eq!(status["succeeded"], 2);
    assert_eq!(status["completionTime"], seconds_now());
    assert!(plan.requests[3].follows);
}

fn seconds_now() -> String {
    crate::object::seconds(at(0))
}

#[test]
fn a_job_fails_only_when_its_pods_are_gone() {
    let first = plan(job(false), vec![pod(0, "Failed"), pod(1, "Running")]);
    let expected =
        ["delete pods", "update jobs/status", "patch pods", "patch pods", "update jobs/status"];
    assert_eq!(verbs(&first), expected);
    let mut failing = job(false);
    failing["status"] = status(&first);
    assert_eq!(condition_types(&failing["status"]), ["FailureTarget"]);
    assert_eq!(failing["status"]["failed"], 2);
    let left = going(pod(1, "Running"));
    let waiting = plan(failing.clone(), vec![left.clone()]);
    assert!(verbs(&waiting).is_empty());
    let ended = plan(failing, Vec::new());
    assert_eq!(condition_types(&status(&ended)), ["FailureTarget", "Failed"]);
}

#[test]
fn pods_are_not_made_twice_before_they_are_seen() {
    let made = job(false);
    let key = Key::of(&made);
    let first = view(&[(JOB, made.clone())]);
    let mut jobs = Jobs::default();
    assert!(verbs(&jobs.reconcile(&first, &key, at(0))).contains(&"create pods".to_owned()));
    assert!(!verbs(&jobs.reconcile(&first, &key, at(1))).contains(&"create pods".to_owned()));
    for index in [0, 1] {
        let pod = pod(index, "Pending");
        let change = Change { resource: POD, object: &pod, before: None, deleted: false };
        assert_eq!(jobs.wakes(&first, &change), std::slice::from_ref(&key));
    }
    jobs.turns.borrow_mut().at_once(&key);
    let plan = jobs.reconcile(&first, &key, at(2));
    assert!(verbs(&plan).contains(&"create pods".to_owned()));
}

#[test]
fn a_pod_of_an_earlier_template_that_comes_late_is_taken_for_one_of_this() {
    let mut resumed = job(false);
    resumed["status"]["active"] = 1.into();
    let plan = plan(resumed, vec![pod(1, "Pending")]);
    let made = verbs(&plan).iter().filter(|it| *it == "create pods").count();
    assert_eq!(made, 1);
    assert_eq!(body(&plan, 0)["metadata"]["generateName"], "a-0-");
}

#[test]
fn an_index_that_has_succeeded_is_not_made_again_before_its_count_is_seen() {
    let running = job(false);
    let key = Key::of(&running);
    let view = view(&[(JOB, running), (POD, pod(0, "Succeeded")), (POD, pod(1, "Running"))]);
    let mut jobs = Jobs::default();
    let plan = jobs.reconcile(&view, &key, at(0));
    assert_eq!(verbs(&plan), ["update jobs/status", "patch pods"]);
    for planned in &plan.requests {
        jobs.answered(&key, &planned.request, &Ok(&Value::Null));
    }
    let again = verbs(&jobs.reconcile(&view, &key, at(1)));
    assert!(!again.contains(&"create pods".to_owned()), "{again:?}");
    assert!(!again.contains(&"patch pods".to_owned()), "{again:?}");
}

#[test]
fn the_deadline_counts_from_the_start() {
    let mut late = job(false);
    late["spec"]["activeDeadlineSeconds"] = 5.into();
    late["status"]["startTime"] = crate::object::seconds(at(-5)).into();
    let plan = plan(late, vec![pod(0, "Running"), pod(1, "Running")]);
    let failing = status(&plan);
    assert_eq!(failing["conditions"][0]["reason"], "DeadlineExceeded");
}

#[test]
fn a_pod_without_a_job_is_no_longer_tracked() {
    let view = view(&[(POD, pod(0, "Running"))]);
    let plan = OrphanPods.reconcile(&view, &Key::new("n", "a-0-x"), at(0));
    assert_eq!(body(&plan, 0)["metadata"]["finalizers"], Value::Null);
}
