use rstest::rstest;
use serde_json::json;

use super::*;
use crate::testing::{at, body, verbs, view};

fn job_set(suspend: bool) -> Value {
    json!({
        "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
        "metadata": {"name": "a", "namespace": "n", "uid": "js"},
        "spec": {
            "suspend": suspend,
            "network": {"enableDNSHostnames": true},
            "replicatedJobs": [{
                "name": "node", "groupName": "default", "replicas": 1,
                "template": {"spec": {"template": {
                    "metadata": {"annotations": {"admission": "2"}}, "spec": {},
                }}},
            }],
        },
    })
}

fn job(suspend: bool, attempt: &str) -> Value {
    json!({
        "metadata": {
            "name": "a-node-0", "namespace": "n", "uid": "j",
            "labels": {REPLICATED_JOB: "node", super::super::names::RESTART_ATTEMPT: attempt},
            "ownerReferences": [{"kind": "JobSet", "name": "a", "uid": "js", "controller": true}],
        },
        "spec": {"suspend": suspend, "parallelism": 1, "template": {
            "metadata": {"annotations": {"admission": "1", "old": "1"}}, "spec": {},
        }},
    })
}

fn service() -> Value {
    json!({"metadata": {"name": "a", "namespace": "n"}})
}

fn plan(job_set: Value, jobs: Vec<Value>) -> Plan {
    let key = Key::of(&job_set);
    let mut objects = vec![(JOB_SET, job_set), (SERVICE, service())];
    objects.extend(jobs.into_iter().map(|it| (JOB, it)));
    JobSets::default().reconcile(&view(&objects), &key, at(0))
}

fn ended(mut job: Value, how: &str) -> Value {
    job["status"]["conditions"] =
        json!([{"type": how, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    job
}

#[test]
fn a_new_one_makes_its_service_and_its_jobs() {
    let made = job_set(true);
    let key = Key::of(&made);
    let plan = JobSets::default().reconcile(&view(&[(JOB_SET, made)]), &key, at(0));
    let expected = ["create services", "create jobs", "update jobsets/status", "create events"];
    assert_eq!(verbs(&plan), expected);
    let job = body(&plan, 1);
    assert_eq!(job["metadata"]["name"], "a-node-0");
    assert_eq!(job["metadata"]["labels"]["jobset.sigs.k8s.io/job-global-index"], "0");
    assert_eq!(job["metadata"]["labels"], job["metadata"]["annotations"]);
    assert_eq!(job["spec"]["suspend"], true);
    assert_eq!(job["spec"]["template"]["spec"]["subdomain"], "a");
    assert_eq!(job["spec"]["template"]["metadata"]["annotations"]["admission"], "2");
    let status = &body(&plan, 2)["status"];
    assert_eq!(status["conditions"][0]["reason"], "SuspendedJobs");
    assert_eq!(status["replicatedJobsStatus"][0]["suspended"], 0);
}

#[test]
fn a_suspended_one_suspends_its_jobs() {
    let plan = plan(job_set(true), vec![job(false, "0")]);
    assert_eq!(verbs(&plan)[0], "update jobs");
    assert_eq!(body(&plan, 0)["spec"]["suspend"], true);
}

#[rstest]
#[case::never_started(None, &["update jobs", "update jobsets/status"])]
#[case::started_before(
    Some("2026-01-01T00:00:00Z"), &["update jobs/status", "update jobs", "update jobsets/status"]
)]
fn a_resumed_one_gives_its_jobs_the_template_as_it_is_now(
    #[case] started: Option<&str>,
    #[case] expected: &[&str],
) {
    let mut suspended = job(true, "0");
    suspended["status"]["startTime"] = started.into();
    let plan = plan(job_set(false), vec![suspended]);
    assert_eq!(verbs(&plan), expected);
    let at = expected.len() - 2;
    let resumed = body(&plan, at);
    assert_eq!(resumed["spec"]["suspend"], false);
    let annotations = &resumed["spec"]["template"]["metadata"]["annotations"];
    assert_eq!(*annotations, json!({"admission": "2", "old": "1"}));
    assert_eq!(plan.requests[at].follows, at > 0);
}

#[rstest]
#[case::complete("Complete", "Completed")]
#[case::failed("Failed", "Failed")]
fn it_ends_with_its_job(#[case] how: &str, #[case] becomes: &str) {
    let plan = plan(job_set(false), vec![ended(job(false, "0"), how)]);
    let status = &body(&plan, 0)["status"];
    assert_eq!(status["terminalState"], becomes);
    assert_eq!(status["conditions"][0]["type"], becomes);
}

#[test]
fn an_ended_one_deletes_what_still_runs() {
    let plan = plan(ended(job_set(false), "Failed"), vec![job(false, "0")]);
    assert_eq!(verbs(&plan)[0], "delete jobs");
}

#[rstest]
#[case::restarts(0, "restarts")]
#[case::no_more(1, "Failed")]
fn a_failed_job_restarts_it_as_often_as_the_policy_says(
    #[case] restarts: i64,
    #[case] expected: &str,
) {
    let mut made = job_set(false);
    made["spec"]["failurePolicy"] = json!({"maxRestarts": 1});
    made["status"] = json!({"restarts": restarts, "restartsCountTowardsMax": restarts});
    let failed = ended(job(false, &restarts.to_string()), "Failed");
    let plan = plan(made, vec![failed]);
    let status = &body(&plan, 0)["status"];
    match expected {
        "restarts" => assert_eq!(status["restarts"], 1),
        terminal => assert_eq!(status["terminalState"], terminal),
    }
}

#[test]
fn jobs_of_before_a_restart_go_and_are_made_anew_when_they_are_gone() {
    let mut made = job_set(false);
    made["status"]["restarts"] = 1.into();
    let plan = plan(made.clone(), vec![job(false, "0")]);
    assert_eq!(verbs(&plan)[0], "delete jobs");
    assert!(!verbs(&plan).contains(&"create jobs".to_owned()));
    let plan = self::plan(made, Vec::new());
    let attempt = &body(&plan, 0)["metadata"]["labels"]["jobset.sigs.k8s.io/restart-attempt"];
    assert_eq!(attempt, "1");
}

#[test]
fn one_that_is_being_deleted_is_left_alone() {
    let mut made = job_set(false);
    made["metadata"]["deletionTimestamp"] = "t".into();
    assert!(plan(made, Vec::new()).requests.is_empty());
}
