//! One pass over one Workload: read, decide, write; after a raise, wait and decide once more.

use std::time::Duration;

use dispatch_contract::resources::JobSet;
use dispatch_contract::{AdmissionCount, names};
use dispatch_kubernetes::quiescence::Remainder;
use dispatch_kubernetes::raise::NotTakenOver;
use dispatch_kubernetes::request::{Outcome, RequestError};
use futures::{StreamExt, future, stream};
use thiserror::Error;
use tokio::time::{Instant, timeout_at};

use crate::apply::Applied;
use crate::decide::{Decision, WaitReason};
use crate::gather::GatherError;
use crate::metrics::Metrics;
use crate::parts::Parts;
use crate::raise::Raised;
use crate::snapshot::{Snapshot, WorkloadKey};

/// A pass ended early; another one is due.
#[derive(Debug, Error)]
pub(crate) enum PassError {
    /// A read failed.
    #[error(transparent)]
    Gather(#[from] GatherError),
    /// A write failed, or its outcome is unknown: only a fresh pass knows more (CA-05).
    #[error(transparent)]
    Write(#[from] RequestError),
    /// Trainer refused the raise.
    #[error("the raise was refused: {0}")]
    RaiseRefused(RequestError),
}

/// How a pass ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    /// Whatever is next comes with an event.
    Settled,
    /// An object has changed between read and write. Whoever changed it brings the Workload back by an
    /// event, if the watch is not behind.
    Overtaken,
    /// Something of the previous execution is left (RG-04). It goes by itself, within seconds most
    /// often, and the watch that says so may be behind: RG-15 counts from its end.
    Remains,
    /// The Workload waits for something else.
    Waiting,
}

/// How long a Job may take after the takeover until its controller has acted on the suspension. A
/// Job that was made just now has not; that is no reason to raise A once more.
const SETTLING: Duration = Duration::from_secs(3);

/// After this long it is looked again whether a Job has settled, and after twice as long each further
/// time: the `JobSet` may have told of the suspension before.
const FIRST_LOOK: Duration = Duration::from_millis(250);

/// What a pass works with.
#[derive(Clone)]
pub(crate) struct Pass {
    pub(crate) parts: Parts,
    pub(crate) metrics: Metrics,
    /// For how long Trainer may take to hand A on (RG-17).
    pub(crate) takeover: Duration,
}

impl Pass {
    /// One pass over a Workload.
    pub(crate) async fn run(&self, workload: &WorkloadKey) -> Result<Passed, PassError> {
        let began = Instant::now();
        let passed = self.pass(workload).await;
        self.metrics.passed(began.elapsed());
        passed
    }

    async fn pass(&self, workload: &WorkloadKey) -> Result<Passed, PassError> {
        let Some(snapshot) = self.parts.gather.gather(workload).await? else {
            return Ok(Passed::Settled);
        };
        let decision = self.decide(&snapshot);
        let Decision::Raise(raise) = &decision else {
            return self.apply(&snapshot, &decision).await;
        };
        match self.write(&snapshot, &decision).await {
            Ok(Applied::Altered(why)) => {
                let altered = Decision::Wait(WaitReason::NotRaised(why));
                self.apply(&snapshot, &altered).await
            }
            Ok(Applied::Raised { generation }) => {
                let raised = Raised { raise: raise.clone(), generation };
                self.after_raise(&snapshot, &raised).await
            }
            Ok(Applied::Nothing | Applied::Written) => Ok(Passed::Settled),
            Err(error) if error.outcome == Outcome::Conflict => Ok(Passed::Overtaken),
            Err(error) if error.outcome == Outcome::Denied => {
                let why = error.message.clone();
                let refused = Decision::Wait(WaitReason::RaiseRefused { why });
                self.apply(&snapshot, &refused).await?;
                Err(PassError::RaiseRefused(error))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until the `JobSet` shows the raised A, and decides from what is read then (RG-17).
    async fn after_raise(&self, first: &Snapshot, raised: &Raised) -> Result<Passed, PassError> {
        let deadline = Instant::now() + self.takeover;
        // The watch begins with the version there is, so that none is missed.
        let versions = first.object().map(|object| self.parts.gather.jobset_versions(object));
        let mut versions = stream::iter(versions)
            .flatten()
            .filter(|jobset| future::ready(shows(jobset, raised.raise.to)))
            .chain(stream::pending())
            .boxed();
        let (mut until, mut pause) = (deadline, None::<Duration>);
        loop {
            let look = pause.map_or(until, |pause| until.min(Instant::now() + pause));
            let in_time = timeout_at(look, versions.next()).await.is_ok() || look < until;
            let later = self.parts.gather.gather_again(first, raised).await?;
            match self.decide(&later) {
                Decision::AwaitTakeover(_) if in_time => {}
                // The `JobSet` tells of the suspension in its status.
                decision if in_time && is_a_job_settling(&decision) => {
                    until = until.min(Instant::now() + SETTLING);
                    pause = Some(pause.map_or(FIRST_LOOK, |before| before * 2));
                }
                Decision::AwaitTakeover(why) => return self.too_late(&later, why).await,
                decision => return self.apply(&later, &decision).await,
            }
        }
    }

    /// Trainer has not handed A on in time: the check says so, and why. The next pass raises again,
    /// since nothing is remembered of this one (RG-09).
    async fn too_late(&self, later: &Snapshot, why: NotTakenOver) -> Result<Passed, PassError> {
        let warning = match later.object() {
            Some(object) => self.parts.gather.last_warning(object).await,
            None => None,
        };
        let wait = Decision::Wait(WaitReason::NotTakenOver { why, warning });
        self.apply(later, &wait).await
    }

    fn decide(&self, snapshot: &Snapshot) -> Decision {
        let decision = self.parts.decide.decide(snapshot);
        self.metrics.decided(&decision);
        tracing::debug!(decision = decision.name(), ?decision, "decided");
        decision
    }

    async fn write(
        &self,
        snapshot: &Snapshot,
        decision: &Decision,
    ) -> Result<Applied, RequestError> {
        let applied = self.parts.apply.apply(snapshot, decision).await;
        self.metrics.written(decision, &applied);
        match &applied {
            Ok(Applied::Nothing) => {}
            Ok(_) => tracing::info!(decision = decision.name(), "{decision}"),
            Err(error) if error.outcome == Outcome::Conflict => {
                tracing::info!(
                    decision = decision.name(),
                    "the object has changed; deciding again"
                );
            }
            Err(error) => tracing::warn!(decision = decision.name(), %error, "not written"),
        }
        applied
    }

    async fn apply(&self, snapshot: &Snapshot, decision: &Decision) -> Result<Passed, PassError> {
        match self.write(snapshot, decision).await {
            Ok(_) if matches!(decision, Decision::Wait(WaitReason::Remainder(_))) => {
                Ok(Passed::Remains)
            }
            Ok(_) if matches!(decision, Decision::Wait(_)) => Ok(Passed::Waiting),
            Ok(_) => Ok(Passed::Settled),
            Err(error) if error.outcome == Outcome::Conflict => Ok(Passed::Overtaken),
            Err(error) if error.outcome == Outcome::NotFound => Ok(Passed::Settled),
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether nothing is waited for but that a Job is suspended.
fn is_a_job_settling(decision: &Decision) -> bool {
    matches!(decision, Decision::Wait(WaitReason::Remainder(Remainder::Job { .. })))
}

/// Whether a version of the `JobSet` shows the raised A or a later one, so that a live read is worth
/// its while.
fn shows(jobset: &JobSet, raised: AdmissionCount) -> bool {
    let jobs = &jobset.spec.replicated_jobs;
    let shown = |text: &str| text.parse::<AdmissionCount>().is_ok_and(|count| count >= raised);
    jobs.iter().all(|job| job.pod_annotation(names::POD_ADMISSION).is_some_and(shown))
}

#[cfg(test)]
mod tests;
