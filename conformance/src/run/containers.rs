//! Who moves the pods of a scenario's jobs: the stand-in kubelet, or what tells real containers.

use std::sync::Arc;

use dispatch_contract::Clock;
use dispatch_kubernetes::request::RequestError;
use kube::Client;

use super::Names;
use super::error::StepError;
use crate::containers::{Choice, NotTold, Pod, Real};
use crate::history::recorder::Journal;
use crate::history::{History, Kind, Trail, Version};
use crate::kubelet::{Ending, Kubelet};

/// The containers of a scenario's jobs, as its steps speak of them.
pub(super) enum Containers {
    /// There are none.
    StandIn(Kubelet),
    /// Kubelets run them.
    Real(Real),
}

impl Containers {
    /// What a scenario has of them before its first step.
    pub(super) async fn start(
        choice: &Choice,
        client: &Client,
        names: &Names,
        (clock, journal): (Arc<dyn Clock>, Arc<Journal>),
    ) -> Result<Self, RequestError> {
        let (client, namespace) = (client.clone(), names.namespace());
        Ok(match choice {
            Choice::StandIn => {
                Self::StandIn(Kubelet::start(client, names.nodes(), &namespace, clock).await?)
            }
            Choice::Real { .. } => Self::Real(Real::start(client, &namespace, journal)),
        })
    }

    /// Makes the pods of a job linger in Terminating once they are deleted, those to come included.
    /// `running` are those that run now.
    pub(super) async fn linger(&self, job: &str, running: &[Pod]) -> Result<(), StepError> {
        match self {
            Self::StandIn(kubelet) => {
                kubelet.linger(job, true);
                Ok(())
            }
            Self::Real(real) => real.linger(job, running).await.map_err(|error| failed(&error)),
        }
    }

    /// Lets the pods of a job go.
    pub(super) async fn let_go(&self, job: &str) -> Result<(), StepError> {
        match self {
            Self::StandIn(kubelet) => {
                kubelet.linger(job, false);
                Ok(())
            }
            Self::Real(real) => real.let_go(job).await.map_err(|error| failed(&error)),
        }
    }

    /// Ends the containers of these pods.
    pub(super) async fn end(&self, pods: &[Pod], ending: Ending) -> Result<(), StepError> {
        match self {
            Self::StandIn(kubelet) => {
                kubelet.end(pods.iter().map(|pod| pod.uid.clone()).collect(), ending);
                Ok(())
            }
            Self::Real(real) => real.end(pods, ending).await.map_err(|error| failed(&error)),
        }
    }

    /// Returns once the history has what the containers said of all that it shows; nothing is written
    /// after that, and everything can be removed.
    pub(super) async fn finish(&mut self, history: &History) {
        match self {
            Self::StandIn(kubelet) => kubelet.let_all_go(),
            Self::Real(real) => {
                real.stop_listening(&pods(history, has_run), &pods(history, has_ended)).await;
                real.let_all_go().await;
            }
        }
    }
}

fn failed(error: &NotTold) -> StepError {
    StepError::failed(error.to_string())
}

/// The pods of which this is so.
fn pods(history: &History, is: fn(&Trail) -> bool) -> Vec<Pod> {
    let pods = history.of_kind(Kind::Pod).filter(|pod| is(pod));
    pods.map(|pod| Pod { name: pod.name.clone(), uid: pod.uid.clone() }).collect()
}

fn phase(version: &Version) -> Option<&str> {
    version.pod()?.status.as_ref()?.phase.as_deref()
}

/// Whether a pod has run, as the API server has it.
fn has_run(pod: &Trail) -> bool {
    pod.versions().iter().any(|version| matches!(phase(version), Some("Running" | "Succeeded")))
}

/// Whether a pod has run, and nothing of it does any more.
fn has_ended(pod: &Trail) -> bool {
    has_run(pod) && pod.dead().is_some()
}
