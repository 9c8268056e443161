use rstest::rstest;

use super::*;
use crate::resource::{JOB, JOB_SET, POD};
use crate::testing::{at, body, verbs, view};

fn owned(owner: &str, kind: &str, api_version: &str) -> Value {
    json!([{
        "apiVersion": api_version, "kind": kind, "name": "a", "uid": owner, "controller": true,
        "blockOwnerDeletion": true,
    }])
}

fn job() -> Value {
    json!({"metadata": {
        "name": "b", "namespace": "n", "uid": "job", "resourceVersion": "7",
        "ownerReferences": owned("js", "JobSet", "jobset.x-k8s.io/v1alpha2"),
    }})
}

fn pod() -> Value {
    json!({"metadata": {
        "name": "c", "namespace": "n", "uid": "pod",
        "ownerReferences": [{
            "apiVersion": "batch/v1", "kind": "Job", "name": "b", "uid": "job",
            "blockOwnerDeletion": true,
        }],
    }})
}

fn job_set(finalizers: &[&str], terminating: bool) -> Value {
    let mut made = json!({"metadata": {
        "name": "a", "namespace": "n", "uid": "js", "finalizers": finalizers,
    }});
    if terminating {
        made["metadata"]["deletionTimestamp"] = "t".into();
    }
    made
}

fn plan(objects: &[(&'static Resource, Value)], at_: usize) -> Plan {
    let (resource, object) = &objects[at_];
    let key = graph::key(resource, object);
    GarbageCollector::default().reconcile(&view(objects), &key, at(0))
}

#[test]
fn an_owner_that_was_not_seen_is_asked_for_before_anything_goes() {
    let (view, key) = (view(&[(JOB, job())]), graph::key(JOB, &job()));
    let mut collector = GarbageCollector::default();
    let plan = collector.reconcile(&view, &key, at(0));
    assert_eq!(verbs(&plan), ["get jobsets"]);
    let request = &plan.requests[0].request;
    let there = json!({"metadata": {"uid": "js"}});
    assert_eq!(collector.answered(&key, request, &Ok(&there)), Next::GoOn);
    let another = json!({"metadata": {"uid": "other"}});
    assert_eq!(collector.answered(&key, request, &Ok(&another)), Next::TryAgain);
    let plan = collector.reconcile(&view, &key, at(0));
    assert_eq!(verbs(&plan), ["delete jobs"]);
    let Verb::Delete(delete) = &plan.requests[0].request.verb else { panic!("a delete") };
    assert_eq!(delete.propagation, Some(Propagation::Background));
    assert_eq!(delete.precondition.resource_version, "7");
}

#[rstest]
#[case::with_dependents(true, Propagation::Foreground)]
#[case::without(false, Propagation::Background)]
fn what_an_owner_waits_for_goes_first(#[case] owns: bool, #[case] expected: Propagation) {
    let mut objects = vec![(JOB, job()), (JOB_SET, job_set(&[FOREGROUND], true))];
    if owns {
        objects.push((POD, pod()));
    }
    let plan = plan(&objects, 0);
    let Verb::Delete(delete) = &plan.requests[0].request.verb else { panic!("a delete") };
    assert_eq!(delete.propagation, Some(expected));
}

#[test]
fn an_owner_goes_when_nothing_blocks_it_any_more() {
    let waiting = [(JOB_SET, job_set(&[FOREGROUND, "x"], true)), (JOB, job())];
    assert!(plan(&waiting, 0).requests.is_empty());
    let free = plan(&waiting[..1], 0);
    assert_eq!(body(&free, 0)["metadata"]["finalizers"], json!(["x"]));
}

#[test]
fn what_is_left_behind_loses_its_owner() {
    let plan = plan(&[(JOB_SET, job_set(&[ORPHAN], true)), (JOB, job())], 0);
    assert_eq!(verbs(&plan), ["patch jobs", "patch jobsets"]);
    assert_eq!(body(&plan, 0)["metadata"]["ownerReferences"], Value::Null);
}

#[test]
fn an_object_with_an_owner_stays() {
    assert!(plan(&[(JOB, job()), (JOB_SET, job_set(&[], false))], 0).requests.is_empty());
    let terminating = [(JOB, job()), (JOB_SET, job_set(&["x"], true))];
    assert!(plan(&terminating, 0).requests.is_empty());
}

#[test]
fn who_goes_wakes_what_it_owns_and_what_waits_for_it() {
    let collector = GarbageCollector::default();
    let owned = view(&[(JOB, job())]);
    let gone = job_set(&[], true);
    let change = Change { resource: JOB_SET, object: &gone, before: None, deleted: true };
    assert_eq!(collector.wakes(&owned, &change), [graph::key(JOB, &job())]);
    let waiting = view(&[(JOB_SET, job_set(&[FOREGROUND], true))]);
    let gone = job();
    let change = Change { resource: JOB, object: &gone, before: None, deleted: true };
    assert_eq!(collector.wakes(&waiting, &change), [graph::key(JOB_SET, &job_set(&[], true))]);
}

#[test]
fn what_comes_while_its_owner_waits_is_let_be_until_another_goes() {
    let collector = GarbageCollector::default();
    let view = view(&[(JOB_SET, job_set(&[FOREGROUND], true)), (JOB, job())]);
    let late = job();
    let change = Change { resource: JOB, object: &late, before: None, deleted: false };
    assert!(collector.wakes(&view, &change).is_empty());
    let mut gone = job();
    gone["metadata"]["name"] = "other".into();
    let change = Change { resource: JOB, object: &gone, before: None, deleted: true };
    let keys = [graph::key(JOB_SET, &job_set(&[], true)), graph::key(JOB, &job())];
    assert_eq!(collector.wakes(&view, &change), keys);
}

#[test]
fn an_object_whose_owner_was_not_seen_is_looked_at() {
    let change = Change { resource: JOB, object: &job(), before: None, deleted: false };
    let keys = GarbageCollector::default().wakes(&view(&[(JOB, job())]), &change);
    assert_eq!(keys, [graph::key(JOB, &job())]);
}
