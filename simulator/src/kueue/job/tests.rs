use std::sync::Arc;

use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::api::Verb;
use crate::kueue::names::{ADMISSION_GATED_BY, PATCH_MANAGER, PRIORITY_CLASS};
use crate::resource::{RESOURCE_FLAVOR, TRAINING_RUNTIME, WORKLOAD_PRIORITY_CLASS};

mod parts;

/// What Kueue has seen.
struct Stage {
    view: View,
    features: Features,
}

impl Stage {
    fn new() -> Self {
        let mut stage =
            Self { view: View::default(), features: Features { admission_gated_by: true } };
        stage.put(TRAINING_RUNTIME, runtime("a"));
        stage.put(
            RESOURCE_FLAVOR,
            json!({
                "metadata": {"name": "f"}, "spec": {"nodeLabels": {"node": "virtual"}},
            }),
        );
        let class = json!({"metadata": {"name": "low"}, "value": 100});
        stage.put(WORKLOAD_PRIORITY_CLASS, class);
        stage
    }

    fn put(&mut self, resource: &'static Resource, object: Value) {
        self.view.put(resource, Arc::new(object));
    }

    fn turn(&self, integration: Integration, name: &str) -> Vec<Sent> {
        let now = "2026-01-01T00:01:00Z".parse().unwrap();
        let mut controller = JobController::new(integration, self.features);
        let plan = controller.reconcile(&self.view, &Key::new("n", name), now);
        plan.requests.into_iter().map(|it| Sent::of(it.request)).collect()
    }

    fn train(&self) -> Vec<Sent> {
        self.turn(Integration::TrainJob, "t")
    }

    /// Changes the TrainJob.
    fn job(&mut self, change: impl FnOnce(&mut Value)) {
        let mut job = self.view.get(TRAIN_JOB, "n", "t").cloned().unwrap_or_else(train_job);
        change(&mut job);
        self.put(TRAIN_JOB, job);
    }

    /// Puts the Workload that Kueue makes for the TrainJob, changed.
    fn workload(&mut self, change: impl FnOnce(&mut Value)) {
        let made = self.train().remove(0);
        assert_eq!(made.verb, "create");
        let mut workload = made.body;
        workload["metadata"]["uid"] = "w".into();
        workload["metadata"]["resourceVersion"] = "9".into();
        change(&mut workload);
        self.put(WORKLOAD, workload);
    }
}

/// A request, in short.
#[derive(Debug)]
struct Sent {
    verb: &'static str,
    kind: &'static str,
    body: Value,
}

impl Sent {
    fn of(request: Request) -> Self {
        let (verb, body) = match request.verb {
            Verb::Create(body, _) => ("create", body),
            Verb::Update(body, _) => ("update", body),
            Verb::MergePatch(body, _) => ("patch", body),
            Verb::Apply(body, ..) => ("apply", body),
            Verb::Delete(_) => ("delete", Value::Null),
            other => panic!("{other:?}"),
        };
        Self { verb, kind: request.resource.kind, body }
    }
}

fn verbs(sent: &[Sent]) -> Vec<String> {
    sent.iter().map(|it| format!("{} {}", it.verb, it.kind)).collect()
}

fn runtime(image: &str) -> Value {
    json!({
        "metadata": {"name": "r", "namespace": "n"},
        "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [{
            "name": "node",
            "template": {
                "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                "spec": {"template": {"spec": {"containers": [{"name": "node", "image": image}]}}},
            },
        }]}}},
    })
}

fn train_job() -> Value {
    json!({
        "metadata": {
            "name": "t", "namespace": "n", "uid": "u", "resourceVersion": "5",
            "labels": { QUEUE_NAME: "q" },
        },
        "spec": {
            "suspend": true,
            "runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": "r"},
            "trainer": {"resourcesPerNode": {"requests": {"cpu": "4"}}},
            "runtimePatches": [
                {"manager": PATCH_MANAGER, "trainingRuntimeSpec": {"template": {"spec": {}}}},
            ],
        },
    })
}

fn quota(workload: &mut Value, conditions: &[(&str, &str)]) {
    let conditions: Vec<_> = conditions
        .iter()
        .map(|(type_, reason)| {
            json!({
                "type": type_, "status": "True", "reason": reason, "message": "because",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            })
        })
        .collect();
    workload["status"] = json!({
        "conditions": conditions,
        "admission": {"clusterQueue": "cq", "podSetAssignments": [
            {"name": "node", "count": 1, "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "4"}},
        ]},
    });
}

const RESERVED: (&str, &str) = ("QuotaReserved", "QuotaReserved");
const ADMITTED: (&str, &str) = ("Admitted", "Admitted");

fn active(job: &mut Value, count: i64) {
    job["status"]["jobsStatus"] = json!([{"name": "node", "active": count}]);
}

#[rstest]
#[case(true, true)]
#[case(false, false)]
fn a_gated_job_gets_a_workload_that_was_never_without_its_gate(
    #[case] admission_gated_by: bool,
    #[case] gated: bool,
) {
    let mut stage = Stage::new();
    stage.features = Features { admission_gated_by };
    stage.job(|it| {
        it["metadata"]["annotations"] = json!({ADMISSION_GATED_BY: "a.b/c"});
        it["metadata"]["labels"][PRIORITY_CLASS] = "low".into();
    });
    let made = stage.train().remove(0);
    let gates = crate::object::annotation(&made.body, ADMISSION_GATED_BY);
    assert_eq!(gates.is_some(), gated);
    assert_eq!(made.body["spec"]["priority"], 100);
    assert_eq!(made.body["spec"]["priorityClassRef"]["name"], "low");
    assert_eq!(made.body["metadata"]["ownerReferences"][0]["uid"], "u");
    let pod_set = &made.body["spec"]["podSets"][0];
    assert_eq!((&pod_set["name"], &pod_set["count"]), (&"node".into(), &1.into()));
    let container = &pod_set["template"]["spec"]["containers"][0];
    assert_eq!(container["resources"]["requests"]["cpu"], "4");
}

#[test]
fn a_job_without_a_queue_is_not_kueues() {
    let mut stage = Stage::new();
    stage.job(|it| it["metadata"]["labels"] = json!({}));
    assert!(stage.train().is_empty());
}

#[test]
fn the_gate_is_copied_also_while_the_workload_is_inactive() {
    let mut stage = Stage::new();
    stage.job(|it| it["metadata"]["annotations"] = json!({ADMISSION_GATED_BY: "a.b/c,a.b/d"}));
    stage.workload(|it| it["spec"]["active"] = false.into());
    stage.job(|it| it["metadata"]["annotations"] = json!({ADMISSION_GATED_BY: "a.b/d"}));
    let sent = stage.train();
    assert_eq!(verbs(&sent), ["patch Workload"]);
    assert_eq!(sent[0].body["metadata"]["annotations"], json!({ADMISSION_GATED_BY: "a.b/d"}));
    stage.job(|it| it["metadata"]["annotations"] = json!({}));
    let metadata = json!({"annotations": null, "resourceVersion": "9"});
    assert_eq!(stage.train()[0].body["metadata"], metadata);
}

#[test]
fn an_admitted_job_is_started_and_a_running_one_left() {
    let mut stage = Stage::new();
    stage.job(|_| {});
    stage.workload(|it| quota(it, &[RESERVED, ADMITTED]));
    let sent = stage.train();
    assert_eq!(verbs(&sent), ["update TrainJob", "patch TrainJob"]);
    let patch = &sent[0].body["spec"]["runtimePatches"][0]["trainingRuntimeSpec"]["template"];
    let pods = &patch["spec"]["replicatedJobs"][0]["template"]["spec"]["template"];
    assert_eq!(pods["spec"], json!({"nodeSelector": {"node": "virtual"}}));
    assert_eq!(
        pods["metadata"]["labels"],
        json!({
            "kueue.x-k8s.io/podset": "node",
            "kueue.x-k8s.io/local-queue-name": "q",
            "kueue.x-k8s.io/cluster-queue-name": "cq",
        })
    );
    let started = sent[0].body.clone();
    stage.job(|it| *it = started);
    stage.job(|it| it["spec"]["suspend"] = false.into());
    assert!(stage.train().is_empty());
}

#[test]
fn a_job_that_runs_without_admission_is_stopped() {
    let mut stage = Stage::new();
    stage.job(|_| {});
    stage.workload(|_| {});
    stage.job(|it| it["spec"]["suspend"] = false.into());
    let sent = stage.train();
    assert_eq!(verbs(&sent), ["update TrainJob", "patch TrainJob"]);
    assert_eq!(sent[0].body["spec"]["suspend"], true);
}

#[test]
fn quota_is_given_back_once_no_job_counts_active_pods() {
    let mut stage = Stage::new();
    stage.job(|_| {});
    stage.workload(|it| quota(it, &[RESERVED, ADMITTED, ("Evicted", "Preempted")]));
    stage.job(|it| {
        it["spec"]["suspend"] = false.into();
        active(it, 1);
    });
    assert_eq!(verbs(&stage.train()), ["update TrainJob"]);
    stage.job(|it| it["spec"]["suspend"] = true.into());
    assert!(stage.train().is_empty(), "it waits");
    stage.job(|it| active(it, 0));
    let sent = stage.train();
    assert_eq!(verbs(&sent), ["patch TrainJob", "apply Workload"]);
    let requeued = condition(&sent[1].body, "Requeued").unwrap();
    assert_eq!((&requeued["status"], &requeued["reason"]), (&"True".into(), &"Preempted".into()));
    assert!(!has_quota_reservation(&sent[1].body));
}

#[test]
fn a_deactivated_job_is_not_requeued() {
    let mut stage = Stage::new();
    stage.job(|_| {});
    stage.workload(|it| quota(it, &[RESERVED, ADMITTED, ("Evicted", "Deactivated")]));
    let sent = stage.train();
    assert_eq!(condition(&sent[1].body, "Requeued").unwrap()["status"], "False");
}

#[test]
fn the_end_of_a_job_finishes_its_workload_and_lets_it_go() {
    let mut stage = Stage::new();
    stage.job(|_| {});
    stage.workload(|it| quota(it, &[RESERVED, ADMITTED]));
    stage.job(|it| {
        let failed = json!([{"type": "Failed", "status": "True", "message": "it broke"}]);
        it["status"] = json!({"conditions": failed});
    });
    let sent = stage.train();
    let finished = condition(&sent[0].body, "Finished").unwrap();
    assert_eq!((&finished["reason"], &finished["message"]), (&"Failed".into(), &"it broke".into()));
    let mut workload =
        stage.view.get(WORKLOAD, "n", crate::object::name(&sent[0].body)).cloned().unwrap();
    workload["status"] = sent[0].body["status"].clone();
    stage.put(WORKLOAD, workload);
    let sent = stage.train();
    assert_eq!(verbs(&sent), ["update Workload"]);
    assert_eq!(sent[0].body["metadata"].get("finalizers"), None);
}

#[test]
fn another_runtime_stops_a_running_job_and_takes_its_workload() {
    let mut stage = Stage::new();
    stage.job(|_| {});
    stage.workload(|it| quota(it, &[RESERVED, ADMITTED]));
    stage.job(|it| {
        it["spec"]["suspend"] = false.into();
        active(it, 1);
    });
    stage.put(TRAINING_RUNTIME, runtime("b"));
    assert_eq!(verbs(&stage.train()), ["update TrainJob"]);
    stage.job(|it| it["spec"]["suspend"] = true.into());
    assert_eq!(verbs(&stage.train()), ["update Workload", "delete Workload"]);
    let gone = stage.view.all(WORKLOAD).next().cloned().unwrap();
    stage.view.remove(WORKLOAD, &gone);
    assert!(stage.train().is_empty(), "not while pods are active");
    stage.job(|it| active(it, 0));
    assert_eq!(verbs(&stage.train()), ["create Workload"]);
}

#[test]
fn another_runtime_changes_a_workload_without_quota_and_keeps_it_inactive() {
    let mut stage = Stage::new();
    stage.job(|_| {});
    stage.workload(|it| it["spec"]["active"] = false.into());
    stage.put(TRAINING_RUNTIME, runtime("b"));
    let sent = stage.train();
    assert_eq!(verbs(&sent), ["update Workload"]);
    assert_eq!(sent[0].body["spec"]["active"], false);
    let pods = &sent[0].body["spec"]["podSets"][0]["template"]["spec"];
    assert_eq!(pods["containers"][0]["image"], "b");
}

#[test]
fn a_raised_annotation_leaves_the_workload_as_it_is() {
    let mut stage = Stage::new();
    stage.job(|_| {});
    stage.workload(|it| quota(it, &[RESERVED]));
    stage.job(|it| {
        let patch = json!({"manager": "a.b/c", "trainingRuntimeSpec": {"template": {"spec": {
            "replicatedJobs": [{"name": "node", "template": {"spec": {"template": {
                "metadata": {"annotations": {"a": "1"}},
            }}}}],
        }}}});
        it["spec"]["runtimePatches"].as_array_mut().unwrap().push(patch);
    });
    assert!(stage.train().is_empty());
}

#[test]
fn a_prebuilt_workload_becomes_the_jobs_and_starts_it_in_spite_of_its_gate() {
    let mut stage = Stage::new();
    stage.job(|_| {});
    stage.workload(|it| {
        it["metadata"]["name"] = "mine".into();
        it["metadata"].as_object_mut().unwrap().remove("ownerReferences");
        quota(it, &[RESERVED, ADMITTED]);
    });
    stage.job(|it| {
        it["metadata"]["annotations"] = json!({ADMISSION_GATED_BY: "a.b/c"});
        it["metadata"]["labels"][PREBUILT_WORKLOAD] = "mine".into();
    });
    let mut sent = stage.train();
    assert_eq!(verbs(&sent), ["update Workload"]);
    let owned = sent.remove(0).body;
    assert!(crate::object::is_controlled_by(&owned, "u"));
    stage.put(WORKLOAD, owned);
    assert_eq!(verbs(&stage.train()), ["update TrainJob", "patch TrainJob"]);
}

#[test]
fn a_job_that_goes_lets_its_workload_go() {
    let mut stage = Stage::new();
    stage.job(|_| {});
    stage.workload(|_| {});
    stage.job(|it| it["metadata"]["deletionTimestamp"] = "t".into());
    assert_eq!(verbs(&stage.train()), ["update Workload"]);
}

#[test]
fn a_workload_that_goes_stops_its_job_first() {
    let mut stage = Stage::new();
    stage.job(|_| {});
    stage.workload(|it| {
        quota(it, &[RESERVED, ADMITTED]);
        it["metadata"]["deletionTimestamp"] = "t".into();
    });
    stage.job(|it| {
        it["spec"]["suspend"] = false.into();
        active(it, 1);
    });
    assert_eq!(verbs(&stage.train()), ["update TrainJob"]);
    stage.job(|it| {
        it["spec"]["suspend"] = true.into();
        active(it, 0);
    });
    assert_eq!(verbs(&stage.train()), ["patch TrainJob", "update Workload"]);
}
