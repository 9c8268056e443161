//! Every field that the slim custom resources name exists in the real CRDs, with a type that can
//! hold it.
//!
//! Each sample below is written without `..Default::default()`, so that a field that is added to a
//! type has to be added here. Needs Go and the modules that `ci/control-plane` pins; run with
//! `cargo test -p dispatch-contract --test drift -- --ignored`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dispatch_contract::resources::{
    Admission, AdmissionCheck, AdmissionCheckSpec, AdmissionCheckState, AdmissionCheckStatus,
    AdmissionCheckStrategyRule, AdmissionChecksStrategy, CheckState, ClusterQueue,
    ClusterQueueSpec, ClusterQueueStatus, ClusterTrainingRuntime, Condition, FlavorQuotas, JobSet,
    JobSetSpec, JobSetStatus, JobSetTemplate, JobStatus, JobTemplate, JobTemplateSpec, LocalQueue,
    LocalQueueSpec, LocalQueueStatus, PatchedJobSet, PatchedJobSetSpec, PatchedRuntime,
    PodTemplate, ReplicatedJob, ReplicatedJobStatus, ResourceFlavor, ResourceFlavorSpec,
    ResourceGroup, RuntimePatch, RuntimeReference, TrainJob, TrainJobSpec, TrainJobStatus,
    TrainingRuntime, TrainingRuntimeSpec, Workload, WorkloadSpec, WorkloadStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::Resource;
use serde::Serialize;
use serde_json::Value;

fn time() -> Time {
    Time("2026-01-01T00:00:00Z".parse().expect("a time"))
}

fn text() -> String {
    "x".to_owned()
}

fn metadata() -> ObjectMeta {
    ObjectMeta::default()
}

fn condition() -> Condition {
    Condition {
        type_: text(),
        status: text(),
        reason: text(),
        message: text(),
        last_transition_time: Some(time()),
        observed_generation: Some(1),
    }
}

fn replicated_job(in_patch: bool) -> ReplicatedJob {
    ReplicatedJob {
        name: text(),
        template: JobTemplate {
            spec: Some(JobTemplateSpec {
                // A runtime patch cannot set it; the type serves the runtime and the JobSet too.
                pod_replacement_policy: (!in_patch).then(text),
                template: Some(PodTemplate { metadata: Some(metadata()) }),
            }),
        },
    }
}

fn trainjob() -> TrainJob {
    TrainJob {
        metadata: metadata(),
        spec: TrainJobSpec {
            runtime_ref: RuntimeReference {
                api_group: Some(text()),
                kind: Some(text()),
                name: text(),
            },
            suspend: Some(true),
            managed_by: Some(text()),
            runtime_patches: vec![RuntimePatch {
                manager: text(),
                time: Some(time()),
                training_runtime_spec: Some(PatchedRuntime {
                    template: Some(PatchedJobSet {
                        spec: Some(PatchedJobSetSpec {
                            replicated_jobs: vec![replicated_job(true)],
                        }),
                    }),
                }),
            }],
            active_deadline_seconds: Some(1),
        },
        status: Some(TrainJobStatus {
            conditions: vec![condition()],
            jobs_status: vec![JobStatus { name: text(), active: Some(1) }],
        }),
    }
}

fn jobset_spec() -> JobSetSpec {
    JobSetSpec {
        suspend: Some(true),
        replicated_jobs: vec![replicated_job(false)],
        ttl_seconds_after_finished: Some(1),
    }
}

fn jobset() -> JobSet {
    JobSet {
        metadata: metadata(),
        spec: jobset_spec(),
        status: Some(JobSetStatus {
            conditions: vec![condition()],
            restarts: Some(1),
            replicated_jobs_status: vec![ReplicatedJobStatus { name: text(), active: Some(1) }],
        }),
    }
}

fn runtime_spec() -> TrainingRuntimeSpec {
    TrainingRuntimeSpec { template: JobSetTemplate { spec: jobset_spec() } }
}

fn workload() -> Workload {
    Workload {
        metadata: metadata(),
        spec: WorkloadSpec { active: Some(true), queue_name: Some(text()), priority: Some(1) },
        status: Some(WorkloadStatus {
            conditions: vec![condition()],
            admission: Some(Admission { cluster_queue: text() }),
            admission_checks: vec![AdmissionCheckState {
                name: text(),
                state: CheckState::Ready,
                message: text(),
                last_transition_time: Some(time()),
                retry_count: Some(1),
            }],
        }),
    }
}

fn cluster_queue() -> ClusterQueue {
    ClusterQueue {
        metadata: metadata(),
        spec: ClusterQueueSpec {
            admission_checks_strategy: Some(AdmissionChecksStrategy {
                admission_checks: vec![AdmissionCheckStrategyRule {
                    name: text(),
                    on_flavors: vec![text()],
                }],
            }),
            resource_groups: vec![ResourceGroup { flavors: vec![FlavorQuotas { name: text() }] }],
            stop_policy: Some(text()),
        },
        status: Some(ClusterQueueStatus { conditions: vec![condition()] }),
    }
}

fn local_queue() -> LocalQueue {
    LocalQueue {
        metadata: metadata(),
        spec: LocalQueueSpec { cluster_queue: text(), stop_policy: Some(text()) },
        status: Some(LocalQueueStatus { conditions: vec![condition()] }),
    }
}

/// The folder of a Go module that `ci/control-plane` pins.
fn module(folder: &str, module: &str) -> PathBuf {
    let directory = Path::new("../ci/control-plane").join(folder);
    let output = Command::new("go")
        .args(["mod", "download", "-json", module])
        .current_dir(&directory)
        .output()
        .expect("Go is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).expect("go answers in JSON");
    PathBuf::from(answer["Dir"].as_str().expect("the module has a folder"))
}

/// The schema of the version of a CRD that the type is for.
fn schema<K: Resource<DynamicType = ()>>(crds: &Path) -> Value {
    let name = format!("{}_{}.yaml", K::group(&()), K::plural(&()));
    let path = crds.join(&name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    let crd: Value =
        serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    let versions = crd["spec"]["versions"].as_array().expect("a CRD has versions");
    let version = versions
        .iter()
        .find(|version| version["name"] == K::version(&()).as_ref())
        .unwrap_or_else(|| panic!("{name} has no version {}", K::version(&())));
    version["schema"]["openAPIV3Schema"].clone()
}

/// The places where a sample has something that the schema cannot hold.
fn differences(place: &str, sample: &Value, schema: &Value, found: &mut Vec<String>) {
    let type_ = schema["type"].as_str().unwrap_or("any");
    match sample {
        Value::Object(_) if schema["additionalProperties"].is_object() => {}
        Value::Object(fields) => {
            for (key, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
                let place = format!("{place}.{key}");
                match schema["properties"].get(key) {
                    Some(below) => differences(&place, value, below, found),
                    None => found.push(format!("{place} is not in the CRD")),
                }
            }
        }
        Value::Array(items) if type_ == "array" => {
            assert!(!items.is_empty(), "{place}: the sample is to have an item");
            for item in items {
                differences(place, item, &schema["items"], found);
            }
        }
        Value::String(_) if type_ == "string" => {}
        Value::Number(_) if type_ == "integer" => {}
        Value::Bool(_) if type_ == "boolean" => {}
        _ => found.push(format!("{place} is of type {type_} in the CRD")),
    }
}

fn assert_fits<K: Resource<DynamicType = ()> + Serialize>(crds: &Path, sample: &K) {
    let mut sample = serde_json::to_value(sample).expect("a sample is JSON");
    sample.as_object_mut().expect("an object").remove("metadata");
    let mut found = Vec::new();
    differences(&K::kind(&()), &sample, &schema::<K>(crds), &mut found);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
#[ignore = "needs Go and the modules of the control plane"]
fn the_resources_of_kueue_have_every_field_that_is_read() {
    let crds = module("stack", "sigs.k8s.io/kueue").join("config/components/crd/bases");
    assert_fits(&crds, &workload());
    assert_fits(&crds, &cluster_queue());
    assert_fits(&crds, &local_queue());
    assert_fits(
        &crds,
        &AdmissionCheck {
            metadata: metadata(),
            spec: AdmissionCheckSpec { controller_name: text() },
            status: Some(AdmissionCheckStatus { conditions: vec![condition()] }),
        },
    );
    assert_fits(
        &crds,
        &ResourceFlavor {
            metadata: metadata(),
            spec: ResourceFlavorSpec { topology_name: Some(text()) },
        },
    );
}

#[test]
#[ignore = "needs Go and the modules of the control plane"]
fn the_resources_of_trainer_have_every_field_that_is_read() {
    let crds = module("stack", "github.com/kubeflow/trainer/v2").join("manifests/base/crds");
    assert_fits(&crds, &trainjob());
    assert_fits(&crds, &TrainingRuntime { metadata: metadata(), spec: runtime_spec() });
    assert_fits(&crds, &ClusterTrainingRuntime { metadata: metadata(), spec: runtime_spec() });
}

#[test]
#[ignore = "needs Go and the modules of the control plane"]
fn the_resources_of_jobset_have_every_field_that_is_read() {
    let crds = module("jobset", "sigs.k8s.io/jobset").join("config/components/crd/bases");
    assert_fits(&crds, &jobset());
}

#[test]
fn a_field_that_a_crd_lacks_or_has_otherwise_is_found() {
    let schema = serde_json::json!({"type": "object", "properties": {
        "a": {"type": "string"}, "b": {"type": "array", "items": {"type": "integer"}}}});
    let mut found = Vec::new();
    let sample = serde_json::json!({"a": 1, "b": [1], "c": "x"});
    differences("K", &sample, &schema, &mut found);
    assert_eq!(found, ["K.a is of type string in the CRD", "K.c is not in the CRD"]);
}
