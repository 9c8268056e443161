use std::sync::Arc;

use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::kueue::workload::{has_quota_reservation, is_admitted, is_evicted};
use crate::object::condition;

const NOW: &str = "2026-01-01T00:01:00Z";

/// A cluster with one queue, `cq`, of so many CPUs, and a scheduler that has seen it.
struct Stage {
    view: View,
    scheduler: Scheduler,
}

impl Stage {
    fn new(cpu: &str) -> Self {
        Self::with(cpu, "LowerPriority", "BestEffortFIFO")
    }

    fn with(cpu: &str, within: &str, strategy: &str) -> Self {
        let scheduler = Scheduler::new(Features { admission_gated_by: true });
        let mut stage = Self { view: View::default(), scheduler };
        stage.put(NAMESPACE, json!({"metadata": {"name": "n", "labels": {"a": "b"}}}));
        stage.put(RESOURCE_FLAVOR, json!({"metadata": {"name": "f"}}));
        let active = json!([{"type": "Active", "status": "True"}]);
        let check = json!({"metadata": {"name": "c"}, "status": {"conditions": active}});
        stage.put(ADMISSION_CHECK, check);
        stage.put(
            LOCAL_QUEUE,
            json!({
                "metadata": {"name": "q", "namespace": "n"}, "spec": {"clusterQueue": "cq"},
            }),
        );
        stage.put(
            CLUSTER_QUEUE,
            json!({"metadata": {"name": "cq"}, "spec": {
                "cohortName": "co",
                "queueingStrategy": strategy,
                "namespaceSelector": {"matchLabels": {"a": "b"}},
                "preemption": {"withinClusterQueue": within},
                "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [
                    {"name": "f", "resources": [{"name": "cpu", "nominalQuota": cpu}]},
                ]}],
                "admissionChecksStrategy": {"admissionChecks": [{"name": "c"}]},
            }}),
        );
        stage
    }

    fn put(&mut self, resource: &'static Resource, object: Value) {
        let object = Arc::new(object);
        let before = self.view.put(resource, Arc::clone(&object));
        let change =
            Change { resource, object: &object, before: before.as_deref(), deleted: false };
        self.scheduler.wakes(&self.view, &change);
    }

    fn submit(&mut self, name: &str, cpu: &str, priority: i64, second: u32) {
        self.put(WORKLOAD, json!({
            "metadata": {
                "name": name, "namespace": "n", "uid": name, "generation": 1,
                "creationTimestamp": format!("2026-01-01T00:00:{second:02}Z"),
            },
            "spec": {"queueName": "q", "priority": priority, "podSets": [{
                "name": "main", "count": 1,
                "template": {"spec": {"containers": [{"resources": {"requests": {"cpu": cpu}}}]}},
            }]},
            "status": {"admissionChecks": [{"name": "c", "state": "Pending"}]},
        }));
    }

    fn workload(&self, name: &str) -> Value {
        self.view.get(WORKLOAD, "n", name).cloned().unwrap()
    }

    fn change(&mut self, name: &str, change: impl FnOnce(&mut Value)) {
        let mut workload = self.workload(name);
        change(&mut workload);
        self.put(WORKLOAD, workload);
    }

    /// What the scheduler writes next.
    fn turn(&mut self) -> Vec<Value> {
        let plan = self.scheduler.reconcile(&self.view, &Key::new("", "cq"), NOW.parse().unwrap());
        let body = |it: crate::component::Planned| match it.request.verb {
            Verb::Apply(body, ..) => body,
            other => panic!("{other:?}"),
        };
        plan.requests.into_iter().map(body).collect()
    }

    /// What was written is seen.
    fn land(&mut self, writes: &[Value]) {
        for write in writes {
            let status = write["status"].clone();
            self.change(crate::object::name(write), |it| it["status"] = status);
        }
    }
}

fn name_of(write: &Value) -> &str {
    crate::object::name(write)
}

fn message(write: &Value, type_: &str) -> String {
    crate::object::text(condition(write, type_).unwrap(), "/message").to_owned()
}

#[test]
fn quota_goes_by_priority_and_then_by_age() {
    let mut stage = Stage::new("8");
    stage.submit("young", "4", 0, 2);
    stage.submit("old", "4", 0, 1);
    stage.submit("urgent", "4", 9, 3);
    let first = stage.turn();
    assert_eq!(name_of(&first[0]), "urgent");
    assert!(has_quota_reservation(&first[0]) && !is_admitted(&first[0]));
    assert_eq!(
        first[0]["status"]["admission"],
        json!({
            "clusterQueue": "cq",
            "podSetAssignments": [
                {"name": "main", "count": 1, "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "4"}},
            ],
        })
    );
    assert_eq!(first[0]["metadata"].get("resourceVersion"), None);
    // Nothing of it is seen yet, and still it counts.
    assert_eq!(name_of(&stage.turn()[0]), "old");
    let waits = stage.turn();
    let missing = "couldn't assign flavors to pod set main: insufficient unused quota for cpu in \
                   flavor f, 4 more needed";
    assert_eq!(
        (name_of(&waits[0]), message(&waits[0], "QuotaReserved")),
        ("young", missing.into())
    );
    assert!(stage.turn().is_empty(), "it was put aside");
}

#[test]
fn what_can_never_fit_says_so() {
    let mut stage = Stage::new("4");
    stage.submit("huge", "5", 0, 1);
    let told = message(&stage.turn()[0], "QuotaReserved");
    assert!(told.contains("insufficient quota for cpu in flavor f"), "{told}");
    assert!(told.contains("current podset request (5) > maximum capacity (4)"), "{told}");
}

#[test]
fn quota_that_was_decided_on_is_free_again_only_when_that_is_seen() {
    let mut stage = Stage::new("4");
    stage.submit("first", "4", 0, 1);
    let admitted = stage.turn();
    stage.submit("second", "4", 0, 2);
    let waits = stage.turn();
    stage.land(&waits);
    assert!(stage.turn().is_empty());
    // A change of a pending Workload does not take back what was decided.
    stage.change("first", |it| it["metadata"]["labels"] = json!({"x": "y"}));
    assert!(stage.turn().is_empty());
    stage.land(&admitted);
    stage.change("first", |it| it["status"]["conditions"] = json!([]));
    assert_eq!(name_of(&stage.turn()[0]), "first", "it is the older one");
}

#[test]
fn a_write_that_failed_is_decided_on_again() {
    let mut stage = Stage::new("4");
    stage.submit("first", "4", 0, 1);
    let write = stage.turn().remove(0);
    let request = Request::apply(WORKLOAD, write, "kueue-admission").on("status");
    let failed = Err(Failure::new(500, "InternalError", ""));
    let next = stage.scheduler.answered(&Key::new("", "cq"), &request, &failed);
    assert_eq!(next, Next::TryAgain);
    assert_eq!(name_of(&stage.turn()[0]), "first");
}

#[test]
fn a_banked_ready_admits_at_once() {
    let mut stage = Stage::new("4");
    stage.submit("first", "4", 0, 1);
    stage.change("first", |it| it["status"]["admissionChecks"][0]["state"] = "Ready".into());
    let writes = stage.turn();
    assert!(has_quota_reservation(&writes[0]) && is_admitted(&writes[0]));
}

#[test]
fn without_entries_for_all_checks_quota_alone_is_given() {
    let mut stage = Stage::new("4");
    stage.submit("first", "4", 0, 1);
    stage.change("first", |it| it["status"] = json!({}));
    let writes = stage.turn();
    assert!(has_quota_reservation(&writes[0]) && !is_admitted(&writes[0]));
}

#[rstest]
#[case::gated(|it: &mut Value| {
    it["metadata"]["annotations"] = json!({"kueue.x-k8s.io/admission-gated-by": "a.b/c"});
})]
#[case::inactive(|it: &mut Value| it["spec"]["active"] = false.into())]
#[case::not_requeued(|it: &mut Value| {
    it["status"]["conditions"] = json!([{"type": "Requeued", "status": "False"}]);
})]
#[case::put_off(|it: &mut Value| {
    it["status"]["requeueState"] = json!({"requeueAt": "2026-01-01T00:02:00Z"});
})]
#[case::of_another_queue(|it: &mut Value| it["spec"]["queueName"] = "elsewhere".into())]
fn what_is_in_no_queue_gets_nothing(#[case] change: fn(&mut Value)) {
    let mut stage = Stage::new("4");
    stage.submit("first", "4", 0, 1);
    stage.change("first", change);
    assert!(stage.turn().is_empty());
}

#[test]
fn an_inactive_queue_gives_nothing() {
    let mut stage = Stage::new("4");
    stage.submit("first", "4", 0, 1);
    stage.put(ADMISSION_CHECK, json!({"metadata": {"name": "c"}}));
    assert!(stage.turn().is_empty());
}

#[test]
fn a_strict_queue_waits_for_its_first() {
    let strict = |strategy| {
        let mut stage = Stage::with("4", "Never", strategy);
        stage.submit("large", "5", 0, 1);
        stage.submit("small", "1", 0, 2);
        let waits = stage.turn();
        stage.land(&waits);
        stage.turn().first().map(|it| name_of(it).to_owned())
    };
    assert_eq!(strict("StrictFIFO"), None);
    assert_eq!(strict("BestEffortFIFO"), Some("small".to_owned()));
}

#[test]
fn a_greater_priority_evicts_and_waits_until_quota_is_free() {
    let mut stage = Stage::new("4");
    stage.submit("train", "4", 100, 1);
    let admitted = stage.turn();
    stage.land(&admitted);
    stage.submit("urgent", "4", 1000, 2);
    let writes = stage.turn();
    assert_eq!(writes.iter().map(name_of).collect::<Vec<_>>(), ["train", "urgent"]);
    assert!(is_evicted(&writes[0]) && has_quota_reservation(&writes[0]));
    assert_eq!(
        message(&writes[0], "Preempted"),
        "Preempted to accommodate a workload (UID: urgent, JobUID: UNKNOWN) due to prioritization in \
         the ClusterQueue; preemptor path: /co/cq; preemptee path: /co/cq"
    );
    assert!(
        message(&writes[1], "QuotaReserved").ends_with("Pending the preemption of 1 workload(s)")
    );
    stage.land(&writes);
    // Those behind it do not get what it waits for.
    stage.submit("late", "1", 0, 3);
    assert!(stage.turn().is_empty());
    stage.change("train", |it| it["status"]["conditions"] = json!([]));
    assert_eq!(name_of(&stage.turn()[0]), "urgent");
}

#[test]
fn an_equal_priority_evicts_nobody() {
    let mut stage = Stage::new("4");
    stage.submit("train", "4", 100, 1);
    let admitted = stage.turn();
    stage.land(&admitted);
    stage.submit("other", "4", 100, 2);
    let writes = stage.turn();
    assert_eq!(writes.iter().map(name_of).collect::<Vec<_>>(), ["other"]);
}

#[test]
fn only_those_that_have_to_go_are_evicted() {
    let mut stage = Stage::new("3");
    for (name, cpu, priority) in [("least", "1", 1), ("less", "2", 2)] {
        stage.submit(name, cpu, priority, 1);
        let admitted = stage.turn();
        stage.land(&admitted);
    }
    stage.submit("urgent", "2", 9, 4);
    let writes = stage.turn();
    assert_eq!(writes.iter().map(name_of).collect::<Vec<_>>(), ["less", "urgent"]);
}
