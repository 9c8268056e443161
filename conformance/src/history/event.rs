//! What a history is made of: one event a line.

use std::collections::BTreeMap;
use std::sync::Arc;

use dispatch_contract::CallError;
use dispatch_contract::driver::Verb;
use dispatch_contract::rules::RuleId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    ContainerSaid, Containers, Delivered, FaultChanged, Request, RequestEnded, RequestSent,
};

/// The schema that is written: a name and a major number. A field or a variant that older readers
/// would misread asks for the next major; older majors stay readable.
pub const SCHEMA: &str = "dispatch-history/1";

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// The number of the event, rising by one from 0: a number that is left out is a gap.
    pub seq: u64,
    /// When it was recorded, by the wall clock of the machine that records.
    pub at: Timestamp,
    /// Nanoseconds since `begin`, by the monotonic clock.
    pub elapsed_ns: u64,
    /// The store's revision: of a version, its own; of a call, a step or a subject's change, the
    /// store's latest one, read immediately before a call is invoked or a step begins, and after a
    /// call is answered or a step ends. It orders events of all kinds; the order of arrival does
    /// not. `None` where no order can be had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<u64>,
    /// What happened.
    pub what: What,
}

/// What happened, as an object with one key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// The first event: what is run, and what judges need to know of it.
    Begin(Box<Begin>),
    /// A job of the scenario got its name in the cluster.
    JobNamed(JobNamed),
    /// A version of a Kubernetes object.
    Version(Box<ObjectVersion>),
    /// Something was not recorded: what was missed cannot be known.
    Gap(Gap),
    /// A call to the adapter, as it was sent.
    CallInvoked(CallInvoked),
    /// What became of a call.
    CallAnswered(CallAnswered),
    /// A step of the scenario began.
    StepBegan(StepBegan),
    /// A step of the scenario ended as it should.
    StepEnded(StepEnded),
    /// A step of the scenario failed.
    StepFailed(StepFailed),
    /// A process that is judged started, stopped, stood still or died.
    Subject(SubjectChanged),
    /// A request of a subject reached the proxy.
    Request(Box<Request>),
    /// A request was sent on to the API server.
    RequestSent(Box<RequestSent>),
    /// A request came to its end.
    RequestEnded(Box<RequestEnded>),
    /// A watch delivered an event to a subject.
    Delivered(Box<Delivered>),
    /// Something happened with a fault.
    Fault(FaultChanged),
    /// A container of a job printed a line.
    Container(Box<ContainerSaid>),
    /// The last event.
    End(End),
}

/// What is run, and what judges need to know of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Begin {
    /// [`SCHEMA`].
    pub schema: String,
    /// The id of the run.
    pub run: String,
    /// The id of the scenario: its path under `scenarios/`, without extension.
    pub scenario: String,
    /// The case as which the scenario was played, where it is played as cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// SHA-256 of the scenario file, in hexadecimal.
    pub digest: String,
    /// The rules that the scenario proves: for these, inconclusive matters.
    #[serde(default)]
    pub proves: Vec<RuleId>,
    /// The name of the cluster's kind: `simulated`, `local`, `kind`, `existing`.
    pub cluster: String,
    /// The version of each component, by its name.
    #[serde(default)]
    pub versions: BTreeMap<String, String>,
    /// With Kueue, or plain.
    pub mode: Mode,
    /// The namespace of the scenario's objects.
    pub namespace: String,
    /// The name of the `AdmissionCheck`; `None` in plain mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admission_check: Option<String>,
    /// The `controllerName` that the `AdmissionCheck` names; `None` in plain mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller_name: Option<String>,
    /// The `ClusterQueue` of the scenario; `None` in plain mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_queue: Option<String>,
    /// Other names that the scenario has to itself (`LocalQueue`, Lease, flavor, runtime), by kind.
    #[serde(default)]
    pub objects: BTreeMap<String, String>,
    /// What the scenario does to Kueue's feature gates.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
    /// What is judged.
    #[serde(flatten)]
    pub subjects: SubjectNames,
    /// What everything came of that was left to chance; `None` where that cannot be said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// What the containers of the jobs are. Real ones say for themselves who they are and how long.
    #[serde(default, skip_serializing_if = "Containers::is_default")]
    pub containers: Containers,
}

/// What is judged: the reference adapter and controller, unless one of these says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubjectNames {
    /// The mutant that is run in place of the reference, by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutant: Option<String>,
    /// The command line of an adapter of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<String>,
    /// The command line of a controller of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<String>,
    /// The name of the image that a controller of others is containers of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller_image: Option<String>,
}

impl SubjectNames {
    /// Those that stand in for the reference: the option of `run` that asks for each, and its value.
    pub fn options(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            ("--mutant", &self.mutant),
            ("--adapter", &self.adapter),
            ("--controller", &self.controller),
            ("--controller-image", &self.controller_image),
        ];
        all.into_iter().filter_map(|(option, value)| Some((option, value.as_deref()?)))
    }
}

/// In words: `the reference`, `the mutant blind-to-pods`, ``the controller `./theirs` ``.
impl std::fmt::Display for SubjectNames {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = self.options().map(|(option, value)| match option.trim_start_matches('-') {
            "mutant" => format!("the mutant {value}"),
            "controller-image" => format!("the controller of the image `{value}`"),
            role => format!("the {role} `{value}`"),
        });
        let words: Vec<_> = words.collect();
        if words.is_empty() {
            return formatter.write_str("the reference");
        }
        formatter.write_str(&words.join(" and "))
    }
}

/// How dispatch opens its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// By Kueue's gate annotation.
    Kueue,
    /// By `spec.suspend`.
    Plain,
}

/// A job of the scenario and its name in the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobNamed {
    /// What the scenario calls it.
    pub job: String,
    /// `TrainJob`, or `Job` for a plain batch Job.
    pub kind: Kind,
    /// Its name in the namespace.
    pub name: String,
    /// Its UID, once it is known. A later event of the same job adds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Whether dispatch's adapter makes it. A foreign one is made by the suite itself.
    pub dispatch: bool,
}

/// The kinds that are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// Of Trainer.
    TrainJob,
    /// Of Kueue.
    Workload,
    /// Of `JobSet`.
    JobSet,
    /// Of `batch/v1`.
    Job,
    /// Of `v1`.
    Pod,
    /// Of Kueue, without namespace.
    AdmissionCheck,
    /// Of Kueue, without namespace.
    ClusterQueue,
    /// Of Kueue.
    LocalQueue,
    /// Of `coordination.k8s.io/v1`.
    Lease,
    /// Of `v1`: what a controller says of an object.
    Event,
    /// Of Trainer: what the `TrainJobs` of a namespace are made from.
    TrainingRuntime,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 11] = [
        Self::TrainJob,
        Self::Workload,
        Self::JobSet,
        Self::Job,
        Self::Pod,
        Self::AdmissionCheck,
        Self::ClusterQueue,
        Self::LocalQueue,
        Self::Lease,
        Self::Event,
        Self::TrainingRuntime,
    ];

    /// The kind as Kubernetes spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TrainJob => "TrainJob",
            Self::Workload => "Workload",
            Self::JobSet => "JobSet",
            Self::Job => "Job",
            Self::Pod => "Pod",
            Self::AdmissionCheck => "AdmissionCheck",
            Self::ClusterQueue => "ClusterQueue",
            Self::LocalQueue => "LocalQueue",
            Self::Lease => "Lease",
            Self::Event => "Event",
            Self::TrainingRuntime => "TrainingRuntime",
        }
    }

    /// Where the API server has it: group, version, and resource in the plural.
    pub fn resource(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::TrainJob => ("trainer.kubeflow.org", "v1alpha1", "trainjobs"),
            Self::Workload => ("kueue.x-k8s.io", "v1beta2", "workloads"),
            Self::JobSet => ("jobset.x-k8s.io", "v1alpha2", "jobsets"),
            Self::Job => ("batch", "v1", "jobs"),
            Self::Pod => ("", "v1", "pods"),
            Self::AdmissionCheck => ("kueue.x-k8s.io", "v1beta2", "admissionchecks"),
            Self::ClusterQueue => ("kueue.x-k8s.io", "v1beta2", "clusterqueues"),
            Self::LocalQueue => ("kueue.x-k8s.io", "v1beta2", "localqueues"),
            Self::Lease => ("coordination.k8s.io", "v1", "leases"),
            Self::Event => ("", "v1", "events"),
            Self::TrainingRuntime => ("trainer.kubeflow.org", "v1alpha1", "trainingruntimes"),
        }
    }

    /// The kind that a resource is of, whatever its version, if it is recorded.
    pub fn of_resource(group: &str, plural: &str) -> Option<Self> {
        let is = |kind: &Self| {
            let (own_group, _, own_plural) = kind.resource();
            (own_group, own_plural) == (group, plural)
        };
        Self::ALL.into_iter().find(is)
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A version of a Kubernetes object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectVersion {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace; `None` where the kind has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// The version, as Kubernetes gives it.
    pub resource_version: String,
    /// What the watch said of it.
    pub change: Change,
    /// The whole object; of a deleted one, its last state.
    #[serde(with = "shared")]
    pub object: Arc<Value>,
}

/// Shared JSON, written as any other.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    pub(super) fn serialize<S: Serializer>(value: &Arc<Value>, to: S) -> Result<S::Ok, S::Error> {
        (**value).serialize(to)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Arc<Value>, D::Error> {
        Value::deserialize(from).map(Arc::new)
    }
}

/// What a watch says of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// The object was created, or was there when the watch began.
    Added,
    /// The object changed.
    Modified,
    /// The object is gone as of this version.
    Deleted,
}

/// Something was not recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// The kind whose versions may be missing; `None` if any event may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// Why.
    pub why: String,
}

/// A call to the adapter, as it was sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallInvoked {
    /// The id of the call, unique in the history.
    pub call: u64,
    /// Which call.
    pub verb: Verb,
    /// The adapter that is called, as its `subject` events name it.
    pub subject: String,
    /// The job of the scenario that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The request.
    #[serde(default)]
    pub input: Value,
}

/// What became of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallAnswered {
    /// The id of the call.
    pub call: u64,
    /// What became of it.
    pub outcome: CallOutcome,
}

/// What became of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallOutcome {
    /// It succeeded with this answer.
    Ok(Value),
    /// It failed, definitely.
    Failed(CallError),
    /// It may have been applied or not.
    Unknown(CallError),
}

/// A step of the scenario began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepBegan {
    /// Its place among the steps, from 0.
    pub index: usize,
    /// The line of the scenario file, from 1.
    pub line: usize,
    /// The step, in one line for people.
    pub text: String,
}

/// A step of the scenario ended as it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepEnded {
    /// Its place among the steps, from 0.
    pub index: usize,
}

/// A step of the scenario failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepFailed {
    /// Its place among the steps, from 0.
    pub index: usize,
    /// What was expected, and what was the case.
    pub why: String,
    /// The rule that the failure speaks against, where the step names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleId>,
}

/// Something happened to a process that is judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubjectChanged {
    /// What it is.
    pub role: Role,
    /// Which one of its role, from 0.
    pub replica: u32,
    /// What happened to it.
    pub change: SubjectChange,
    /// Its process id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
}

/// What a party is whose requests pass the proxy: judged, or a component of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// An adapter.
    Adapter,
    /// An admission controller.
    Controller,
    /// Kueue.
    Kueue,
    /// Trainer.
    Trainer,
    /// `JobSet`'s controller.
    Jobset,
    /// Kubernetes' own controllers.
    KubeControllerManager,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 6] = [
        Self::Adapter,
        Self::Controller,
        Self::Kueue,
        Self::Trainer,
        Self::Jobset,
        Self::KubeControllerManager,
    ];

    /// The word for it, in histories and in scenarios.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Adapter => "adapter",
            Self::Controller => "controller",
            Self::Kueue => "kueue",
            Self::Trainer => "trainer",
            Self::Jobset => "jobset",
            Self::KubeControllerManager => "kube-controller-manager",
        }
    }
}

/// What happened to a judged process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubjectChange {
    /// It was started.
    Started,
    /// It said that it is ready.
    Ready,
    /// It was asked to stop, and ended.
    Stopped,
    /// It was killed, by a step or a fault.
    Killed,
    /// It stands still: its connections stay, and it does nothing.
    Frozen,
    /// It goes on.
    Thawed,
    /// It ended by itself.
    Died,
}

/// The last event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// How the run ended.
    pub why: EndedBy,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndedBy {
    /// All steps were played.
    Finished,
    /// A step failed.
    Failed,
    /// Somebody ended it before its time.
    Interrupted,
}
