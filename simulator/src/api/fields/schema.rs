//! How the parts of objects are merged: which lists have keys, which parts are one whole.

use serde_json::Value;

use crate::resource::{self, Resource};

/// How a part of an object is merged.
#[derive(Debug)]
pub(in super::super) enum Schema {
    /// Maps field by field, with the schemas of these fields; lists as one whole.
    Fields(&'static [(&'static str, &'static Schema)]),
    /// A map of free keys.
    Map,
    /// A list whose items have keys; with the schema of the items. A key may have a default.
    Keyed(&'static [Key], &'static Schema),
    /// A list of texts that are merged.
    Set,
    /// One whole.
    Atomic,
}

type Key = (&'static str, Option<&'static str>);
use Schema::{Atomic, Fields, Keyed, Map, Set};

/// A part of which nothing is known.
pub(super) static PLAIN: Schema = Fields(&[]);

static MAP: Schema = Map;
static ATOMIC: Schema = Atomic;
static SET: Schema = Set;

static METADATA: Schema = Fields(&[
    ("labels", &MAP),
    ("annotations", &MAP),
    ("finalizers", &SET),
    ("ownerReferences", &BY_UID),
]);

static BY_UID: Schema = Keyed(&[("uid", None)], &ATOMIC_ITEM);
static ATOMIC_ITEM: Schema = Atomic;
static BY_NAME: Schema = Keyed(&[("name", None)], &PLAIN);
static BY_TYPE: Schema = Keyed(&[("type", None)], &PLAIN);
static BY_IP: Schema = Keyed(&[("ip", None)], &PLAIN);

// Kubernetes `pkg/generated/openapi`: the listType, listMapKey and mapType of the core's types.
static CONTAINERS: Schema = Keyed(&[("name", None)], &CONTAINER);
static CONTAINER: Schema = Fields(&[
    ("env", &ENV),
    ("ports", &PORTS),
    ("volumeMounts", &Keyed(&[("mountPath", None)], &PLAIN)),
    ("volumeDevices", &Keyed(&[("devicePath", None)], &PLAIN)),
    ("resources", &RESOURCES),
]);
static ENV: Schema = Keyed(&[("name", None)], &Fields(&[("valueFrom", &VALUE_FROM)]));
static VALUE_FROM: Schema = Fields(&[
    ("fieldRef", &ATOMIC),
    ("resourceFieldRef", &ATOMIC),
    ("configMapKeyRef", &ATOMIC),
    ("secretKeyRef", &ATOMIC),
]);
static PORTS: Schema = Keyed(&[("containerPort", None), ("protocol", Some("TCP"))], &PLAIN);
static RESOURCES: Schema =
    Fields(&[("limits", &MAP), ("requests", &MAP), ("claims", &Keyed(&[("name", None)], &PLAIN))]);
static POD_SPEC: Schema = Fields(&[
    ("containers", &CONTAINERS),
    ("initContainers", &CONTAINERS),
    ("ephemeralContainers", &CONTAINERS),
    ("volumes", &BY_NAME),
    ("imagePullSecrets", &PULL_SECRETS),
    ("hostAliases", &BY_IP),
    ("schedulingGates", &BY_NAME),
    ("resourceClaims", &BY_NAME),
    ("topologySpreadConstraints", &SPREAD),
    ("nodeSelector", &ATOMIC),
    ("overhead", &MAP),
]);
static SPREAD: Schema = Keyed(&[("topologyKey", None), ("whenUnsatisfiable", None)], &PLAIN);
static PULL_SECRETS: Schema = Keyed(&[("name", Some(""))], &ATOMIC_ITEM);
static POD_TEMPLATE: Schema = Fields(&[("metadata", &METADATA), ("spec", &POD_SPEC)]);
static CONDITIONS: Schema = Fields(&[("conditions", &BY_TYPE)]);

static POD: Schema = Fields(&[
    ("metadata", &METADATA),
    ("spec", &POD_SPEC),
    ("status", &Fields(&[("conditions", &BY_TYPE), ("podIPs", &BY_IP), ("hostIPs", &ATOMIC)])),
]);
static JOB_SPEC: Schema = Fields(&[("template", &POD_TEMPLATE), ("selector", &ATOMIC)]);
static JOB: Schema =
    Fields(&[("metadata", &METADATA), ("spec", &JOB_SPEC), ("status", &JOB_STATUS)]);
// The conditions of a Job are one whole: `api/batch/v1/types.go`, JobStatus.
static JOB_STATUS: Schema = Fields(&[
    ("conditions", &ATOMIC),
    ("uncountedTerminatedPods", &Fields(&[("succeeded", &SET), ("failed", &SET)])),
]);
static NODE: Schema = Fields(&[
    ("metadata", &METADATA),
    ("spec", &Fields(&[("podCIDRs", &SET)])),
    (
        "status",
        &Fields(&[
            ("conditions", &BY_TYPE),
            ("addresses", &BY_TYPE),
            ("capacity", &MAP),
            ("allocatable", &MAP),
        ]),
    ),
]);
static SERVICE: Schema = Fields(&[
    ("metadata", &METADATA),
    (
        "spec",
        &Fields(&[
            ("ports", &Keyed(&[("port", None), ("protocol", Some("TCP"))], &PLAIN)),
            ("selector", &ATOMIC),
        ]),
    ),
    ("status", &CONDITIONS),
]);
static EVENT: Schema = Fields(&[("metadata", &METADATA), ("involvedObject", &ATOMIC)]);
static SECRETS: Schema = Fields(&[
    ("metadata", &METADATA),
    ("secrets", &BY_NAME),
    ("data", &MAP),
    ("stringData", &MAP),
    ("binaryData", &MAP),
]);

// JobSet 0.11 `api/jobset/v1alpha2/jobset_types.go`.
static JOB_SET_SPEC: Schema = Fields(&[("replicatedJobs", &REPLICATED_JOBS)]);
static REPLICATED_JOBS: Schema = Keyed(&[("name", None)], &REPLICATED_JOB);
static REPLICATED_JOB: Schema = Fields(&[
    ("template", &Fields(&[("metadata", &METADATA), ("spec", &JOB_SPEC)])),
    ("dependsOn", &BY_NAME),
]);
static JOB_SET: Schema = Fields(&[
    ("metadata", &METADATA),
    ("spec", &JOB_SET_SPEC),
    ("status", &Fields(&[("conditions", &BY_TYPE), ("replicatedJobsStatus", &BY_NAME)])),
]);

// Trainer 2.2 `pkg/apis/trainer/v1alpha1`.
static TRAIN_JOB: Schema = Fields(&[
    ("metadata", &METADATA),
    (
        "spec",
        &Fields(&[
            ("trainer", &Fields(&[("env", &ENV), ("resourcesPerNode", &RESOURCES)])),
            ("initializer", &Fields(&[("dataset", &INITIALIZER), ("model", &INITIALIZER)])),
            ("runtimePatches", &Keyed(&[("manager", None)], &RUNTIME_PATCH)),
        ]),
    ),
    ("status", &Fields(&[("conditions", &BY_TYPE), ("jobsStatus", &BY_NAME)])),
]);
static INITIALIZER: Schema = Fields(&[("env", &ENV), ("secretRef", &ATOMIC)]);
static RUNTIME_PATCH: Schema = Fields(&[("trainingRuntimeSpec", &PATCHED_RUNTIME)]);
static PATCHED_RUNTIME: Schema =
    Fields(&[("template", &Fields(&[("metadata", &METADATA), ("spec", &PATCHED_JOB_SET)]))]);
static PATCHED_JOB_SET: Schema = Fields(&[("replicatedJobs", &PATCHED_JOBS)]);
static PATCHED_JOBS: Schema = Keyed(&[("name", None)], &Fields(&[("template", &PATCHED_JOB)]));
static PATCHED_JOB: Schema =
    Fields(&[("metadata", &METADATA), ("spec", &Fields(&[("template", &PATCHED_POD)]))]);
// Its types are Trainer's own: a node selector is merged here.
static PATCHED_POD: Schema = Fields(&[("metadata", &METADATA), ("spec", &PATCHED_POD_SPEC)]);
static PATCHED_POD_SPEC: Schema = Fields(&[
    ("containers", &PATCHED_CONTAINERS),
    ("initContainers", &PATCHED_CONTAINERS),
    ("volumes", &BY_NAME),
    ("imagePullSecrets", &PULL_SECRETS),
    ("schedulingGates", &BY_NAME),
    ("nodeSelector", &MAP),
]);
static PATCHED_CONTAINERS: Schema =
    Keyed(&[("name", None)], &Fields(&[("env", &ENV), ("volumeMounts", &BY_NAME)]));
static RUNTIME: Schema = Fields(&[
    ("metadata", &METADATA),
    (
        "spec",
        &Fields(&[("template", &Fields(&[("metadata", &METADATA), ("spec", &JOB_SET_SPEC)]))]),
    ),
]);

// Kueue 0.17 `apis/kueue/v1beta2`.
static WORKLOAD: Schema = Fields(&[
    ("metadata", &METADATA),
    ("spec", &Fields(&[("podSets", &POD_SETS), ("preemptionGates", &BY_NAME)])),
    ("status", &WORKLOAD_STATUS),
]);
static POD_SETS: Schema = Keyed(&[("name", Some("main"))], &POD_SET);
static POD_SET: Schema = Fields(&[("template", &POD_TEMPLATE)]);
static WORKLOAD_STATUS: Schema = Fields(&[
    ("preemptionGates", &BY_NAME),
    ("unhealthyNodes", &BY_NAME),
    ("conditions", &BY_TYPE),
    ("admissionChecks", &BY_NAME),
    ("resourceRequests", &BY_NAME),
    ("reclaimablePods", &BY_NAME),
    ("admission", &Fields(&[("podSetAssignments", &ASSIGNMENTS)])),
    (
        "schedulingStats",
        &Fields(&[(
            "evictions",
            &Keyed(&[("reason", None), ("underlyingCause", Some(""))], &PLAIN),
        )]),
    ),
]);
static ASSIGNMENTS: Schema = Keyed(&[("name", Some("main"))], &PLAIN);
static QUEUE: Schema = Fields(&[
    ("metadata", &METADATA),
    (
        "spec",
        &Fields(&[
            ("admissionChecksStrategy", &Fields(&[("admissionChecks", &CHECKS)])),
            ("namespaceSelector", &ATOMIC),
        ]),
    ),
    (
        "status",
        &Fields(&[
            ("conditions", &BY_TYPE),
            ("flavorsReservation", &FLAVORS),
            ("flavorsUsage", &FLAVORS),
        ]),
    ),
]);
static CHECKS: Schema = Keyed(&[("name", None)], &Fields(&[("onFlavors", &SET)]));
static FLAVOR: Schema =
    Fields(&[("metadata", &METADATA), ("spec", &Fields(&[("nodeLabels", &ATOMIC)]))]);
static FLAVORS: Schema = Keyed(&[("name", None)], &Fields(&[("resources", &BY_NAME)]));
static OTHER: Schema = Fields(&[("metadata", &METADATA), ("status", &CONDITIONS)]);

/// The schema of a kind.
pub(in super::super) fn of(resource: &Resource) -> &'static Schema {
    let known: [(&Resource, &'static Schema); 16] = [
        (resource::LOCAL_QUEUE, &QUEUE),
        (resource::RESOURCE_FLAVOR, &FLAVOR),
        (resource::EVENT, &EVENT),
        (resource::POD, &POD),
        (resource::JOB, &JOB),
        (resource::NODE, &NODE),
        (resource::SERVICE, &SERVICE),
        (resource::SERVICE_ACCOUNT, &SECRETS),
        (resource::SECRET, &SECRETS),
        (resource::CONFIG_MAP, &SECRETS),
        (resource::JOB_SET, &JOB_SET),
        (resource::TRAIN_JOB, &TRAIN_JOB),
        (resource::TRAINING_RUNTIME, &RUNTIME),
        (resource::CLUSTER_TRAINING_RUNTIME, &RUNTIME),
        (resource::WORKLOAD, &WORKLOAD),
        (resource::CLUSTER_QUEUE, &QUEUE),
    ];
    known.iter().find(|(it, _)| *it == resource).map_or(&OTHER, |(_, it)| it)
}

impl Schema {
    /// Of a field.
    pub(in super::super) fn field(&self, name: &str) -> &'static Self {
        let Self::Fields(fields) = self else { return &PLAIN };
        fields.iter().find(|(it, _)| *it == name).map_or(&PLAIN, |(_, it)| it)
    }

    /// Of the items of a list with keys.
    pub(in super::super) fn item(&self) -> &'static Self {
        match self {
            Self::Keyed(_, item) => item,
            _ => &PLAIN,
        }
    }

    /// Of what an element of a path leads to.
    pub(super) fn below(&self, element: &str) -> &'static Self {
        match element.strip_prefix("f:") {
            Some(name) => self.field(name),
            None => self.item(),
        }
    }

    /// Whether it is that of a list whose items are merged.
    pub(super) fn has_elements(&self) -> bool {
        matches!(self, Self::Keyed(..) | Self::Set)
    }

    pub(super) fn is_map(&self) -> bool {
        matches!(self, Self::Map)
    }

    /// The element of a path that leads to an item of a list that is merged; none of another list,
    /// and of an item without its keys.
    pub(in super::super) fn element(&self, item: &Value) -> Option<String> {
        match self {
            Self::Set => Some(format!("v:{item}")),
            Self::Keyed(keys, _) => {
                let mut found = serde_json::Map::new();
                for (key, default) in *keys {
                    let value = match (item.get(key), default) {
                        (Some(value), _) => value.clone(),
                        (None, Some(default)) => (*default).into(),
                        (None, None) => return None,
                    };
                    found.insert((*key).to_owned(), value);
                }
                // Kept in the order of the names, as managed fields have it.
                found.sort_keys();
                Some(format!("k:{}", Value::Object(found)))
            }
            _ => None,
        }
    }

    /// Whether a value is merged into another part by part; else it is one whole.
    pub(super) fn is_merged(&self, value: &Value) -> bool {
        match value {
            Value::Object(_) => matches!(self, Self::Fields(_) | Self::Map),
            Value::Array(items) => match self {
                Self::Set => items.iter().all(Value::is_string),
                Self::Keyed(..) => items.iter().all(|it| self.element(it).is_some()),
                _ => false,
            },
            _ => false,
        }
    }
}
