//! The words that steps, facts and expectations share.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

use crate::history::Role;

/// A place in a scenario file. Both counts begin at 1; columns count characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// The name that a scenario gives to a job. The object in the cluster has a name of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobName(String);

impl JobName {
    /// The reserved name of preflight's probes.
    pub const PROBE: &str = "probe";

    /// A name. `None` unless it is 1 to 20 lower-case letters, digits and hyphens that begin with
    /// a letter: the suite makes names of objects from it, and those have little room.
    pub fn new(text: &str) -> Option<Self> {
        let letters =
            text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        let begins = text.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
        (letters && begins && text.len() <= 20 && !text.ends_with('-'))
            .then(|| Self(text.to_owned()))
    }

    /// The name as the scenario has it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it stands for preflight's probes, which no step starts.
    pub fn is_probe(&self) -> bool {
        self.0 == Self::PROBE
    }
}

impl fmt::Display for JobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Things of a job, such as `pods-of train`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// Which of its things.
    pub kind: TargetKind,
    /// The job.
    pub of: JobName,
}

/// The things of a job that steps and facts speak of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TargetKind {
    /// Its pods: those that a `JobSet` or Job of it made.
    Pods,
    /// Its `JobSet`.
    JobSet,
    /// Its `TrainJob`.
    TrainJob,
    /// Its Workload: the latest one.
    Workload,
}

impl TargetKind {
    /// Every kind, in the order of the documentation.
    pub const ALL: [Self; 4] = [Self::Pods, Self::JobSet, Self::TrainJob, Self::Workload];

    /// The word for it in a scenario.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pods => "pods-of",
            Self::JobSet => "jobset-of",
            Self::TrainJob => "trainjob-of",
            Self::Workload => "workload-of",
        }
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (word, job) = text.split_once(' ').ok_or("expected such as `pods-of train`")?;
        let kind = TargetKind::ALL.into_iter().find(|kind| kind.as_str() == word);
        let kind = kind.ok_or_else(|| format!("there is no `{word}` to speak of"))?;
        let of = JobName::new(job.trim()).ok_or_else(|| format!("`{job}` is not a job's name"))?;
        Ok(Self { kind, of })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.as_str(), self.of)
    }
}

/// Something that an administrator edits or deletes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Thing {
    /// Something of a job.
    Of(Target),
    /// Something that the scenario has to itself.
    Own(OwnThing),
}

impl fmt::Display for Thing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Of(target) => target.fmt(f),
            Self::Own(thing) => f.write_str(thing.as_str()),
        }
    }
}

/// What a scenario has to itself, beside its jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OwnThing {
    /// The `TrainingRuntime`.
    Runtime,
    /// The `ClusterQueue`.
    ClusterQueue,
    /// The `LocalQueue`.
    LocalQueue,
    /// The `AdmissionCheck`.
    AdmissionCheck,
    /// The controller's Lease.
    Lease,
}

impl OwnThing {
    /// All, in the order of the documentation.
    pub const ALL: [Self; 5] =
        [Self::Runtime, Self::ClusterQueue, Self::LocalQueue, Self::AdmissionCheck, Self::Lease];

    /// The word for it in a scenario.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Runtime => "runtime",
            Self::ClusterQueue => "cluster-queue",
            Self::LocalQueue => "local-queue",
            Self::AdmissionCheck => "admission-check",
            Self::Lease => "lease",
        }
    }
}

/// A part of the cluster whose requests can be led through a proxy of the suite. Some of them can
/// also be made to stand still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Component {
    /// Kueue: admits Workloads, starts and suspends their jobs.
    Kueue,
    /// Trainer: makes and changes the `JobSet` of a `TrainJob`.
    Trainer,
    /// `JobSet`: makes and changes Jobs.
    #[serde(rename = "jobset")]
    JobSet,
    /// The controllers of Kubernetes itself. While they stand still no Job makes or deletes a pod,
    /// or says how many it has.
    KubeControllerManager,
}

impl Component {
    /// Every component.
    pub const ALL: [Self; 4] =
        [Self::Kueue, Self::Trainer, Self::JobSet, Self::KubeControllerManager];

    /// The word for it in a scenario, which is its own name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kueue => "kueue",
            Self::Trainer => "trainer",
            Self::JobSet => "jobset",
            Self::KubeControllerManager => "kube-controller-manager",
        }
    }

    /// The component that has this role; `None` of what is judged.
    pub fn of(role: Role) -> Option<Self> {
        match role {
            Role::Adapter | Role::Controller => None,
            Role::Kueue => Some(Self::Kueue),
            Role::Trainer => Some(Self::Trainer),
            Role::Jobset => Some(Self::JobSet),
            Role::KubeControllerManager => Some(Self::KubeControllerManager),
        }
    }

    /// Whether it can be made to stand still as a whole. One whose webhooks the API server calls
    /// cannot: with these away too, the API server refuses writes of everybody else.
    pub fn can_stand_still(self) -> bool {
        match self {
            Self::Kueue | Self::Trainer | Self::JobSet => false,
            Self::KubeControllerManager => true,
        }
    }
}

/// The names of the states that Status answers, in the order in which it looks for them.
pub(super) const STATE_NAMES: [&str; 13] = [
    "not-found",
    "ended",
    "held",
    "deactivated-by-another",
    "gated",
    "held-by-administrator",
    "running",
    "draining",
    "suspended-by-another",
    "waiting-at-check",
    "starting",
    "gate-gone",
    "queued",
];
