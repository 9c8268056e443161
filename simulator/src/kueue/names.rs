//! The names that Kueue puts on objects (Kueue pkg/controller/constants, pkg/constants,
//! apis/kueue/v1beta2).

/// Label: the queue of a job.
pub(super) const QUEUE_NAME: &str = "kueue.x-k8s.io/queue-name";

/// The queue of jobs that name none, where a namespace has one of this name.
pub(super) const DEFAULT_QUEUE: &str = "default";

/// Label: the Workload that was made beforehand for a job.
pub(super) const PREBUILT_WORKLOAD: &str = "kueue.x-k8s.io/prebuilt-workload-name";

/// Label: the priority class of a job.
pub(super) const PRIORITY_CLASS: &str = "kueue.x-k8s.io/priority-class";

/// Label of a Workload: the job's UID.
pub(super) const JOB_UID: &str = "kueue.x-k8s.io/job-uid";

/// Label: how long a job may run. It is not supported here.
pub(super) const MAX_EXECUTION_TIME: &str = "kueue.x-k8s.io/max-exec-time-seconds";

/// Annotation: who holds a job back before admission.
pub(super) const ADMISSION_GATED_BY: &str = "kueue.x-k8s.io/admission-gated-by";

/// Annotation of a Job that is being stopped.
pub(super) const STOPPING: &str = "kueue.x-k8s.io/stopping";

/// Annotation: a job of which parts may be admitted. It is not supported here.
pub(super) const MIN_PARALLELISM: &str = "kueue.x-k8s.io/job-min-parallelism";

/// Labels and an annotation of pods: where they were admitted.
pub(super) const POD_SET: &str = "kueue.x-k8s.io/podset";
/// See [`POD_SET`].
pub(super) const LOCAL_QUEUE_LABEL: &str = "kueue.x-k8s.io/local-queue-name";
/// See [`POD_SET`].
pub(super) const CLUSTER_QUEUE_LABEL: &str = "kueue.x-k8s.io/cluster-queue-name";
/// See [`POD_SET`].
pub(super) const WORKLOAD_ANNOTATION: &str = "kueue.x-k8s.io/workload";

/// The finalizer of what is in use.
pub(super) const IN_USE: &str = "kueue.x-k8s.io/resource-in-use";

/// The manager of Kueue's entry among the patches of a `TrainJob`.
pub(super) const PATCH_MANAGER: &str = "kueue.x-k8s.io/manager";

/// Kueue's field managers: of everything, of a Workload's status, of pods that have ended.
pub(super) const KUEUE: &str = "kueue";
/// See [`KUEUE`].
pub(super) const ADMISSION: &str = "kueue-admission";
/// See [`KUEUE`].
pub(super) const RECLAIMABLE_PODS: &str = "kueue-reclaimable-pods";
