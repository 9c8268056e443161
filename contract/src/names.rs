//! Every name that the contract gives to something in a cluster.

/// The prefix of all of dispatch's annotations, labels and managers.
pub const PREFIX: &str = "dispatch.phpboyscout.uk/";

/// The start gate: dispatch's entry in [`ADMISSION_GATED_BY`].
pub const GATE: &str = "dispatch.phpboyscout.uk/gate";

/// The manager of dispatch's entry in a `TrainJob`'s `spec.runtimePatches`. A `TrainJob` with such
/// an entry is dispatch's, whatever its name (RG-03).
pub const RUNTIME_PATCH_MANAGER: &str = "dispatch.phpboyscout.uk/adapter";

/// Pod-template annotation in dispatch's runtime patch: the admission count A for the pods to come.
/// `"0"` at Start in Kueue mode, `"1"` in plain mode (OP-06).
pub const POD_ADMISSION: &str = "dispatch.phpboyscout.uk/admission";

/// `TrainJob` annotation: the admission count A; `"0"` at Start.
pub const ADMISSION_COUNT: &str = "dispatch.phpboyscout.uk/admission-count";

/// `TrainJob` annotation, [`TRUE`] once the object was opened, in both modes (OP-01).
pub const OPENED: &str = "dispatch.phpboyscout.uk/opened";

/// `TrainJob` annotation: dispatch holds the object; the value is a fresh token for each hold
/// (CA-01).
pub const HELD: &str = "dispatch.phpboyscout.uk/held";

/// `TrainJob` annotation: the object ended, and how; it never runs again (CA-07).
pub const ENDED: &str = "dispatch.phpboyscout.uk/ended";

/// `TrainJob` annotation: digest of Start's canonical input (SG-07).
pub const SPEC_DIGEST: &str = "dispatch.phpboyscout.uk/spec";

/// `TrainJob` annotation: digest of the runtime that Start resolved (SG-09).
pub const RUNTIME_DIGEST: &str = "dispatch.phpboyscout.uk/runtime";

/// `TrainJob` annotation: the UIDs of the Workload and of the `JobSet` that the last raise was for,
/// joined by `/`; a part is empty where there was none (EX-04).
pub const RAISED_FOR: &str = "dispatch.phpboyscout.uk/raised-for";

/// Label on every object, to list by; never to decide by (RG-03).
pub const MANAGED: &str = "dispatch.phpboyscout.uk/managed";

/// Label on the probes of preflight, to list by; never to decide by.
pub const PROBE: &str = "dispatch.phpboyscout.uk/probe";

/// Annotation on a probe: a number that a live preflight changes every few seconds, so that a probe
/// whose number stays is one that a crash left (PF-05).
pub const PROBE_RENEWED: &str = "dispatch.phpboyscout.uk/probe-renewed";

/// The value of the marks and labels that are either there or not.
pub const TRUE: &str = "true";

/// The default `controllerName` of dispatch's `AdmissionCheck`.
pub const CONTROLLER: &str = "dispatch.phpboyscout.uk/admission";

/// The default name of the controller's Lease.
pub const LEASE: &str = "dispatch-admission";

/// Environment variable of the controller: the `controllerName` of the `AdmissionChecks` that it serves
/// (RG-14).
pub const ENV_CONTROLLER_NAME: &str = "DISPATCH_CONTROLLER_NAME";

/// Environment variable of the controller: the one namespace whose Workloads it serves.
pub const ENV_NAMESPACE: &str = "DISPATCH_NAMESPACE";

/// Environment variable of the controller: the name of its Lease.
pub const ENV_LEASE_NAME: &str = "DISPATCH_LEASE_NAME";

/// Environment variable of the controller: the namespace of its Lease.
pub const ENV_LEASE_NAMESPACE: &str = "DISPATCH_LEASE_NAMESPACE";

/// Environment variable of the controller: for how long a claim to the Lease holds, such as `3s`.
pub const ENV_LEASE_DURATION: &str = "DISPATCH_LEASE_DURATION";

/// Environment variable of the controller: how often the Lease is renewed, such as `1s`.
pub const ENV_LEASE_RENEW: &str = "DISPATCH_LEASE_RENEW";

/// Environment variable of the controller: the name of this replica in the Lease.
pub const ENV_IDENTITY: &str = "DISPATCH_IDENTITY";

/// Environment variable of the controller: the address at which it answers `GET /readyz`.
pub const ENV_LISTEN: &str = "DISPATCH_LISTEN";

/// Environment variable of every trainer pod: the admission count A, from [`POD_ADMISSION`].
pub const ENV_ADMISSION: &str = "DISPATCH_ADMISSION";

/// Environment variable of every trainer pod: the restart attempt, from [`RESTART_ATTEMPT`].
pub const ENV_RESTART: &str = "DISPATCH_RESTART";

/// Field manager of the adapter's writes.
pub const FIELD_MANAGER_ADAPTER: &str = "dispatch-adapter";

/// Field manager of the controller's writes, the raise excepted.
pub const FIELD_MANAGER_ADMISSION: &str = "dispatch-admission";

/// Field manager of the raise alone: a server-side apply by a manager that once owned more removes
/// what it no longer names.
pub const FIELD_MANAGER_RAISE: &str = "dispatch-raise";

/// Kueue's list of gates, on the `TrainJob` and on its Workload.
pub const ADMISSION_GATED_BY: &str = "kueue.x-k8s.io/admission-gated-by";

/// Kueue's label that names the `LocalQueue`.
pub const QUEUE_NAME: &str = "kueue.x-k8s.io/queue-name";

/// Kueue's label that names the `WorkloadPriorityClass`.
pub const PRIORITY_CLASS: &str = "kueue.x-k8s.io/priority-class";

/// Kueue's label for a Workload that was made beforehand by somebody else; refused (SG-08).
pub const PREBUILT_WORKLOAD: &str = "kueue.x-k8s.io/prebuilt-workload-name";

/// Kueue's annotation for elastic jobs; refused (SG-08).
pub const ELASTIC_JOB: &str = "kueue.x-k8s.io/elastic-job";

/// Kueue's label on a Workload: the UID of the job it was made for.
pub const JOB_UID: &str = "kueue.x-k8s.io/job-uid";

/// The manager of Kueue's own entry in `spec.runtimePatches`. Without it Kueue never starts the
/// object (RG-05).
pub const KUEUE_RUNTIME_PATCH_MANAGER: &str = "kueue.x-k8s.io/manager";

/// `JobSet`'s label on Jobs and pods: the name of the `JobSet`.
pub const JOBSET_NAME: &str = "jobset.sigs.k8s.io/jobset-name";

/// `JobSet`'s label on Jobs and pods: the UID of the `JobSet`.
pub const JOBSET_UID: &str = "jobset.sigs.k8s.io/jobset-uid";

/// `JobSet`'s label on Jobs and pods: how often the `JobSet` was restarted.
pub const RESTART_ATTEMPT: &str = "jobset.sigs.k8s.io/restart-attempt";

/// The API group of `TrainJobs`.
pub const TRAINER_GROUP: &str = "trainer.kubeflow.org";

/// The API group of Workloads.
pub const KUEUE_GROUP: &str = "kueue.x-k8s.io";

/// The prefixes that Start refuses in a caller's labels and annotations: dispatch's own keys, and
/// those of the controllers that read them (CA-06).
pub const RESERVED_PREFIXES: [&str; 4] =
    [PREFIX, "kueue.x-k8s.io/", "jobset.sigs.k8s.io/", "trainer.kubeflow.org/"];
