//! What keeps a scenario from being played, and what makes a step fail.

use std::path::PathBuf;

use dispatch_contract::rules::RuleId;
use dispatch_kubernetes::request::RequestError;
use thiserror::Error;

use super::HostError;
use crate::history::recorder::{JournalError, RecorderError};
use crate::proxy::ProxyError;
use crate::scenario::Component;
use crate::subject::SubjectError;

/// A scenario could not be played.
#[derive(Debug, Error)]
pub enum RunError {
    /// The folder for the results cannot be made.
    #[error("cannot make the folder {} for the results", path.display())]
    Results {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The folder for the subjects' credentials cannot be made.
    #[error("cannot make a private folder for the subjects' credentials")]
    Private(#[source] std::io::Error),
    /// The history cannot be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Nothing can be recorded.
    #[error(transparent)]
    Recorder(#[from] RecorderError),
    /// The cluster refuses what the scenario needs before its first step.
    #[error("the cluster refuses what the scenario needs: {what}")]
    Prepare {
        /// What was prepared.
        what: &'static str,
        /// The request.
        #[source]
        source: RequestError,
    },
    /// The manifests that a subject ships cannot be read.
    #[error("the manifests of the {account} cannot be read: {why}")]
    Manifests {
        /// Which subject.
        account: &'static str,
        /// Why.
        why: String,
    },
    /// The proxy cannot be started, or does not listen.
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    /// The cluster's components cannot be led through the proxy.
    #[error("the cluster's components cannot be led through the proxy")]
    Lead(#[source] HostError),
    /// A subject cannot be driven.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// A controller did not become ready before the first step.
    #[error("the scenario cannot begin: {why}")]
    NotReady {
        /// Which, and why.
        why: String,
    },
    /// The cluster's feature gates cannot be set.
    #[error("Kueue's feature gates cannot be set")]
    FeatureGates(#[source] HostError),
    /// A component of the cluster cannot be made to stand still.
    #[error("{} cannot be frozen", component.as_str())]
    Freeze {
        /// Which.
        component: Component,
        /// Why.
        #[source]
        source: HostError,
    },
    /// What the scenario makes cannot be claimed as its own.
    #[error("what the scenario makes cannot be claimed as its own")]
    Claim(#[source] HostError),
    /// It cannot be seen what runs have left.
    #[error("the objects of the kind {kind} cannot be listed")]
    Sweep {
        /// The kind.
        kind: &'static str,
        /// The request.
        #[source]
        source: RequestError,
    },
    /// The cluster ended while the scenario was played.
    #[error("the cluster ended while the scenario was played")]
    ClusterEnded(#[source] HostError),
    /// The engine has a fault.
    #[error("the engine has a fault: {0}")]
    Panicked(String),
}

/// A step did not end as it should.
#[derive(Debug, Error)]
pub(super) enum StepError {
    /// What it does was refused, or what it waits for did not come: the scenario has failed.
    #[error("{why}")]
    Failed {
        /// What was expected, and what was the case.
        why: String,
        /// The rule that this speaks against, where the step names one.
        rule: Option<RuleId>,
    },
    /// The scenario cannot be played on.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl StepError {
    /// A step that failed, and speaks against no rule by itself.
    pub(super) fn failed(why: impl Into<String>) -> Self {
        Self::Failed { why: why.into(), rule: None }
    }
}

impl From<JournalError> for StepError {
    fn from(error: JournalError) -> Self {
        Self::Run(error.into())
    }
}

impl From<RequestError> for StepError {
    /// An administrator's request that the cluster refuses.
    fn from(error: RequestError) -> Self {
        Self::failed(error.to_string())
    }
}
