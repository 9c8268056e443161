//! Facts: the small language that steps, expectations and witness share.

use dispatch_contract::AdmissionCount;
use dispatch_contract::resources::CheckState;
use serde::Deserialize;

use super::{EndAs, FaultName, JobName, Target};
use crate::history::{Subject, Verb};

/// Something that is so, or is not so, at a point of a history.
///
/// Attributes that are absent ask for nothing. A fact about an object that does not exist is false.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// `workload: train`: the job's Workload is like this.
    Workload(WorkloadFact),
    /// `trainjob: train`: the job's `TrainJob` is there, and like this.
    TrainJob(TrainJobFact),
    /// `jobset: train`: the job's `JobSet` is there, and like this.
    JobSet(JobSetFact),
    /// `running: train`: the job has live pods, and all of them run: phase Running, not
    /// Terminating.
    Running(RunningFact),
    /// `pod-of: train`: the job has a live pod like this.
    Pod(PodFact),
    /// `gone: pods-of train`: there is none of it left. Pods that have ended count as gone.
    Gone(Target),
    /// `ended: train`: the job ended, by its own condition.
    Ended {
        /// The job.
        job: JobName,
        /// How: [`EndAs::Succeeded`] is the condition Complete.
        end: EndAs,
    },
    /// `called: open`: the adapter was called so. True from just before the first such call on.
    Called(CalledFact),
    /// `controller: 0`, `adapter: stopped`: a subject's process is like this.
    Process(ProcessFact),
    /// `admission-check: active`: the scenario's `AdmissionCheck` has the condition Active.
    AdmissionCheckActive {
        /// Whether it has, or has not.
        active: bool,
    },
    /// `preflight: proved`: what the last preflight found.
    Preflight(PreflightVerdict),
    /// `together: [...]`: all of them are true at one point.
    Together(Vec<Fact>),
    /// `any: [...]`: at least one of them is true.
    Any(Vec<Fact>),
    /// `in-order: [...]`: the first was true at a point up to this one, then, at the same point or
    /// later, the second, and so on.
    InOrder(Vec<Fact>),
    /// `met: stale-ready`: a request met the fault. True from then on.
    Met(FaultName),
    /// `sent: stale-ready`: a request that met the fault was sent on to the API server. True from
    /// then on.
    Sent(FaultName),
    /// `answered: stale-ready`: a request that met the fault was answered, by the API server or in
    /// its place. True from then on.
    Answered {
        /// The fault.
        fault: FaultName,
        /// The status of the answer.
        status: Option<u16>,
    },
}

impl AdmissionIs {
    /// Whether an annotation is so. `now` is the count of the `TrainJob`, where it is readable.
    pub(super) fn is_met_by(self, annotation: Option<&str>, now: Option<AdmissionCount>) -> bool {
        let count = annotation.and_then(|text| text.parse::<AdmissionCount>().ok());
        match self {
            Self::Absent => annotation.is_none(),
            Self::Exactly(asked) => count == Some(asked),
            Self::AtLeast(least) => count.is_some_and(|count| count >= least),
            Self::Outdated => count.zip(now).is_some_and(|(count, now)| count < now),
        }
    }
}

impl Fact {
    /// Whether it speaks of this fault.
    pub(crate) fn is_of_fault(&self, name: &FaultName) -> bool {
        match self {
            Self::Met(fault) | Self::Sent(fault) | Self::Answered { fault, .. } => fault == name,
            Self::Together(facts) | Self::Any(facts) | Self::InOrder(facts) => {
                facts.iter().any(|fact| fact.is_of_fault(name))
            }
            _ => false,
        }
    }

    /// Whether it is about what became of requests.
    pub(super) fn is_about_requests(&self) -> bool {
        match self {
            Self::Sent(_) | Self::Answered { .. } => true,
            Self::Together(facts) | Self::Any(facts) | Self::InOrder(facts) => {
                facts.iter().any(Self::is_about_requests)
            }
            _ => false,
        }
    }
}

/// What is asked of a Workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadFact {
    /// The job whose Workload it is; `probe` is preflight's.
    pub job: JobName,
    /// Whether Kueue holds it for a gate: `QuotaReserved` is False with the reason
    /// `AdmissionGated`.
    pub gated: Option<bool>,
    /// The condition `QuotaReserved`.
    pub quota_reserved: Option<bool>,
    /// The state of dispatch's check on it.
    pub check: Option<CheckState>,
    /// The state of the foreign check on it.
    pub foreign_check: Option<CheckState>,
    /// The condition Admitted.
    pub admitted: Option<bool>,
    /// The condition Evicted.
    pub evicted: Option<bool>,
    /// The condition Finished: Kueue has recorded the end.
    pub finished: Option<bool>,
    /// Whether `spec.active` is not false.
    pub active: Option<bool>,
    /// `names: pods-of train`: the message of dispatch's check names each live pod of that job.
    pub names_pods_of: Option<JobName>,
    /// `says: runtime`: the message of dispatch's check contains this word, in whatever case.
    pub says: Option<String>,
    /// `of: jobset`: it is the Workload that the job's `JobSet` owns, and not the job's own.
    pub of_jobset: bool,
}

/// What is asked of a `TrainJob`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainJobFact {
    /// The job.
    pub job: JobName,
    /// Whether `spec.suspend` is true.
    pub suspended: Option<bool>,
    /// Whether it carries the opened mark.
    pub opened: Option<bool>,
    /// Whether it carries the hold mark.
    pub held: Option<bool>,
    /// Whether it carries the ended mark.
    pub ended_mark: Option<bool>,
    /// A, as its annotation has it.
    pub admission: Option<AdmissionIs>,
}

/// What is asked of a `JobSet`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSetFact {
    /// The job.
    pub job: JobName,
    /// That it is the job's nth `JobSet`, counted by UID from 1.
    pub nth: Option<u32>,
    /// Whether `spec.suspend` is true.
    pub suspended: Option<bool>,
    /// Whether its status counts an active Job: one whose controller has told of its pods.
    pub active: Option<bool>,
    /// A, as the pods of all its replicated jobs will carry it.
    pub admission: Option<AdmissionIs>,
}

/// What is asked of a running job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningFact {
    /// The job.
    pub job: JobName,
    /// Which execution runs, counted from 1.
    pub execution: Option<u32>,
    /// A, as all its live pods carry it.
    pub admission: Option<AdmissionIs>,
}

/// What is asked of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodFact {
    /// The job.
    pub job: JobName,
    /// Whether its deletion was asked for.
    pub terminating: Option<bool>,
    /// A, as it carries it.
    pub admission: Option<AdmissionIs>,
}

/// What is asked of an admission count. An absent one is not an empty one, and not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmissionIs {
    /// It is readable and equal.
    Exactly(AdmissionCount),
    /// It is readable, and this or more: a controller may skip numbers (RG-09), so that what a
    /// number was raised to says less than that it was raised.
    AtLeast(AdmissionCount),
    /// It is readable, and less than the count of the `TrainJob` that the pod belongs to. False
    /// where that has no readable count.
    Outdated,
    /// There is no such annotation.
    Absent,
}

/// What is asked of the adapter's calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalledFact {
    /// The call.
    pub call: Verb,
    /// The job that it was for.
    pub job: Option<JobName>,
}

/// What is asked of a subject's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessFact {
    /// Whose.
    pub subject: Subject,
    /// What it is.
    pub is: ProcessIs,
}

/// What a subject's process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessIs {
    /// It was started, and has neither stopped since nor been frozen.
    Started,
    /// It was frozen, and not thawed since.
    Frozen,
    /// It has stopped, was killed, or died.
    Stopped,
}

/// What preflight found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PreflightVerdict {
    /// The gate holds.
    Proved,
    /// It does not, or that could not be proved.
    ObserveOnly,
}
