//! Calls of the adapter, as steps make them.

use std::collections::BTreeMap;

use dispatch_contract::ErrorKind;
use dispatch_contract::rules::RuleId;

use super::{JobDeadline, JobName, Priority};
use crate::history::Verb;

/// A call of the adapter. It has to end as the step says; another end breaks the step, and so the
/// scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdapterCall {
    /// The adapter's Start.
    Start {
        /// The job, from here on.
        job: JobName,
        /// The CPUs that each of its pods asks for.
        cpu: u32,
        /// How many pods it has.
        pods: u32,
        /// Labels that it is asked to have.
        labels: BTreeMap<String, String>,
        /// The job whose name in the cluster it gets, in place of one of its own.
        named_as: Option<JobName>,
        /// Its `WorkloadPriorityClass`.
        priority: Option<Priority>,
        /// How long it may run.
        deadline: Option<JobDeadline>,
        /// Whether the job was started before: then it keeps its name, and the same input has to
        /// give the same object (SG-07).
        again: bool,
        /// How it has to end. Where it is refused, nothing may have been created.
        end: CallEnd,
    },
    /// The adapter's Open.
    Open {
        /// The job.
        job: JobName,
        /// How it has to end.
        end: CallEnd,
    },
    /// The adapter's Hold.
    Hold {
        /// The job.
        job: JobName,
        /// How it has to end.
        end: CallEnd,
    },
    /// The adapter's Release.
    Release {
        /// The job.
        job: JobName,
        /// How it has to end.
        end: CallEnd,
    },
    /// The adapter's Stop.
    Stop {
        /// The job.
        job: JobName,
        /// How it has to end.
        end: CallEnd,
    },
    /// The adapter's Status, once.
    Status {
        /// The job.
        job: JobName,
        /// The state that it has to answer, by the names of [`dispatch_contract::State::name`].
        state: &'static str,
    },
    /// The adapter's List, once.
    List {
        /// The jobs that it has to answer: these and no others, in any order.
        jobs: Vec<JobName>,
    },
    /// The adapter's Preflight.
    Preflight {
        /// Whether it has to find the gate unproved.
        observe_only: bool,
        /// Rules that have to be among its reasons.
        because: Vec<RuleId>,
    },
}

impl AdapterCall {
    /// The word that names the step in a scenario.
    pub fn word(&self) -> &'static str {
        self.verb().as_str()
    }

    /// What is called.
    pub fn verb(&self) -> Verb {
        match self {
            Self::Start { .. } => Verb::Start,
            Self::Open { .. } => Verb::Open,
            Self::Hold { .. } => Verb::Hold,
            Self::Release { .. } => Verb::Release,
            Self::Stop { .. } => Verb::Stop,
            Self::Status { .. } => Verb::Status,
            Self::List { .. } => Verb::List,
            Self::Preflight { .. } => Verb::Preflight,
        }
    }

    /// How it has to end.
    pub fn end(&self) -> CallEnd {
        match self {
            Self::Start { end, .. }
            | Self::Open { end, .. }
            | Self::Hold { end, .. }
            | Self::Release { end, .. }
            | Self::Stop { end, .. } => *end,
            Self::Status { .. } | Self::List { .. } | Self::Preflight { .. } => CallEnd::default(),
        }
    }

    /// The job that it is for.
    pub fn job(&self) -> Option<&JobName> {
        match self {
            Self::Start { job, .. }
            | Self::Open { job, .. }
            | Self::Hold { job, .. }
            | Self::Release { job, .. }
            | Self::Stop { job, .. }
            | Self::Status { job, .. } => Some(job),
            Self::List { .. } | Self::Preflight { .. } => None,
        }
    }
}

/// How a call of the adapter has to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallEnd {
    /// With what.
    pub expected: Expected,
    /// Whether it is made again while its outcome is `unknown` or `unavailable` (CA-05).
    pub repeat: bool,
}

/// With what a call has to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expected {
    /// An answer.
    #[default]
    Success,
    /// An error of this kind.
    Refusal(ErrorKind),
    /// An unknown outcome: the adapter ends before it answers, or answers that it does not know.
    CutOff,
}
