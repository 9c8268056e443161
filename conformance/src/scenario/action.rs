//! Steps: what a scenario does and what it waits for.

use std::collections::BTreeMap;
use std::time::Duration;

use dispatch_contract::rules::RuleId;
use serde::Deserialize;
use serde_json::Value;

use super::{AdapterCall, Fact, Fault, FaultName, InTurn, JobName, Place, Target, Thing};
use crate::history::{Subject, Verb};

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Where it stands in the file.
    pub place: Place,
    /// The step as the file has it, on one line.
    pub text: String,
    /// What it does or waits for.
    pub action: Action,
}

/// What a step does or waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A call of the adapter.
    Call(AdapterCall),
    /// Calls of the adapter, all of them sent before any answer is waited for.
    AtOnce(Vec<AdapterCall>),
    /// A call of the adapter that is sent, and whose answer is waited for by a later step.
    Begin(AdapterCall),
    /// Waits for the answer of the call that was begun.
    Finish(Verb),
    /// Somebody else than dispatch creates a job in the same `ClusterQueue`.
    Submit {
        /// The job, from here on.
        job: JobName,
        /// What it is.
        kind: SubmitKind,
        /// The CPUs that its one pod asks for.
        cpu: u32,
        /// Labels on it, beside the queue's.
        labels: BTreeMap<String, String>,
    },
    /// Somebody creates a Workload that nothing owns, of the same size and in the same queue as that
    /// of a job.
    SubmitWorkload {
        /// Its name, from here on.
        job: JobName,
        /// The job whose Workload it is like.
        like: JobName,
    },
    /// Waits until a fact is true.
    Until {
        /// The fact.
        fact: Fact,
        /// By when.
        deadline: Deadline,
        /// The rule that is broken when the deadline passes. Without one the scenario is
        /// incomplete then.
        or_breaks: Option<RuleId>,
    },
    /// From now on the job's pods stay Terminating when they are deleted, until they are let go.
    Linger {
        /// The job.
        job: JobName,
    },
    /// The job's lingering pods end, and its later ones no longer linger.
    LetGo {
        /// The job.
        job: JobName,
    },
    /// The containers of the job's running pods end.
    End {
        /// The job.
        job: JobName,
        /// How.
        end: EndAs,
    },
    /// An administrator deletes something.
    Delete {
        /// What.
        thing: Thing,
        /// When what it owns goes.
        propagation: Propagation,
        /// Whether it is gone at once, without a grace period.
        force: bool,
    },
    /// An administrator edits something.
    Edit {
        /// What.
        thing: Thing,
        /// How.
        patch: EditPatch,
    },
    /// Somebody applies a field as it is, with force, by server-side apply: from then on it is
    /// owned by this field manager too.
    Apply {
        /// Of what.
        target: Target,
        /// The field's path, such as `spec`, `runtimeRef`.
        field: Vec<String>,
        /// The name of the field manager.
        manager: String,
    },
    /// An administrator deactivates the job's Workload: Kueue evicts it.
    Deactivate {
        /// The job.
        job: JobName,
    },
    /// An administrator activates it again.
    Reactivate {
        /// The job.
        job: JobName,
    },
    /// The controller of the foreign check sets it Ready on the job's Workload.
    Approve {
        /// The job.
        job: JobName,
    },
    /// A subject is asked to stop (SIGTERM), and has stopped when the step ends.
    Terminate {
        /// Which.
        subject: Subject,
    },
    /// A subject is killed (SIGKILL), and has ended when the step ends.
    Kill {
        /// Which.
        subject: Subject,
    },
    /// A subject is started again, and is ready when the step ends. One that runs is killed first.
    Restart {
        /// Which.
        subject: Subject,
    },
    /// Kueue is restarted with these feature gates, and serves when the step ends.
    Kueue {
        /// The feature gates, by name.
        feature_gates: BTreeMap<String, bool>,
    },
    /// A subject, or a component of the cluster, stands still from now on (SIGSTOP).
    Freeze {
        /// Which.
        subject: Subject,
    },
    /// One that stands still goes on.
    Thaw {
        /// Which.
        subject: Subject,
    },
    /// From now on a fault waits for its requests.
    Place(Box<Fault>),
    /// What a fault holds goes on, and requests no longer meet it.
    GoOn {
        /// Which.
        fault: FaultName,
    },
    /// From here on each request is met by a fault in turn, in cases of their own.
    InTurn(Box<InTurn>),
}

impl Action {
    /// The word that names the step in a scenario.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Call(call) => call.word(),
            Self::AtOnce(_) => "at-once",
            Self::Begin(_) => "begin",
            Self::Finish(_) => "finish",
            Self::Submit { .. } | Self::SubmitWorkload { .. } => "submit",
            Self::Until { .. } => "until",
            Self::Linger { .. } => "linger",
            Self::LetGo { .. } => "let-go",
            Self::End { .. } => "end",
            Self::Delete { .. } => "delete",
            Self::Edit { .. } => "edit",
            Self::Apply { .. } => "apply",
            Self::Deactivate { .. } => "deactivate",
            Self::Reactivate { .. } => "reactivate",
            Self::Approve { .. } => "approve",
            Self::Terminate { .. } => "terminate",
            Self::Kill { .. } => "kill",
            Self::Restart { .. } => "restart",
            Self::Kueue { .. } => "kueue",
            Self::Freeze { .. } => "freeze",
            Self::Thaw { .. } => "thaw",
            Self::Place(fault) => fault.effect.word(),
            Self::GoOn { .. } => "go-on",
            Self::InTurn(_) => "in-turn",
        }
    }
}

/// How an administrator edits something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditPatch {
    /// By a JSON merge patch.
    Merge(Value),
    /// By a JSON patch (RFC 6902), which reaches into lists.
    Json(Value),
}

/// When what a deleted object owns goes: Kubernetes' propagation policies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Propagation {
    /// After it.
    #[default]
    Background,
    /// Before it.
    Foreground,
}

/// How long a job may run, where that is limited (`activeDeadlineSeconds`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobDeadline {
    /// So short that a scenario can wait for it, and long enough for its pods to run.
    Short,
}

/// The two priorities that jobs of a scenario have: one preempts the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Priority {
    /// Is preempted.
    Low,
    /// Preempts.
    High,
}

impl Priority {
    /// The word for it in a scenario.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::High => "high",
        }
    }
}

/// What somebody else than dispatch submits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum SubmitKind {
    /// A `TrainJob` whose name is not of dispatch's grammar.
    TrainJob,
    /// A plain `batch/v1` Job.
    Job,
}

/// How the containers of pods end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum EndAs {
    /// With exit code 0.
    Succeeded,
    /// With another exit code.
    Failed,
}

/// By when a step has to be done. A class and not a number, so that a scenario says nothing of how
/// fast a cluster is; stretched for slow clusters, never for the contract's own windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// One controller, or Kueue, reacts to one change.
    Reaction,
    /// A chain of controllers brings pods up or down: Kueue, Trainer, `JobSet`, Job, scheduler,
    /// kubelet.
    Chain,
}

impl Deadline {
    /// The time that it gives, before it is stretched.
    pub fn limit(self) -> Duration {
        match self {
            Self::Reaction => Duration::from_secs(30),
            Self::Chain => Duration::from_mins(1),
        }
    }

    /// The class that a fact needs when it is waited for.
    pub fn of(fact: &Fact) -> Self {
        match fact {
            Fact::Running(_) | Fact::Pod(_) | Fact::Gone(_) | Fact::Ended { .. } => Self::Chain,
            // Quota comes free once the pods of another job have ended.
            Fact::Workload(fact) if fact.quota_reserved == Some(true) => Self::Chain,
            Fact::Together(facts) | Fact::Any(facts) | Fact::InOrder(facts)
                if facts.iter().any(|fact| Self::of(fact) == Self::Chain) =>
            {
                Self::Chain
            }
            _ => Self::Reaction,
        }
    }
}
