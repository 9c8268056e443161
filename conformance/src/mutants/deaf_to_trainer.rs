//! The controller that does not wait for Trainer.
//!
//! The raise is in the `TrainJob`, and the pods are made from the `JobSet`. Who sets the check Ready
//! with the raise lets the job start before Trainer has handed the number on.

use std::sync::Arc;

use dispatch_admission::{
    Applied, Apply, Decision, Environment, LiveWriter, Parts, Raise, Snapshot,
};
use dispatch_kubernetes::request::RequestError;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::Mutant;

pub(super) const MUTANT: Mutant = Mutant {
    name: "deaf-to-trainer",
    about: "sets the check Ready with the raise, before the JobSet carries the number",
    breaks: &["RG-17"],
    caught_by: &["start-gate/first-execution", "readmission/preemption-mid-execution"],
    parts,
};

fn parts(environment: &Environment) -> Parts {
    let reference = Parts::reference(environment);
    let Environment { client, limits, clock, .. } = environment.clone();
    Parts { apply: Arc::new(DeafToTrainer(LiveWriter::new(client, limits, clock))), ..reference }
}

struct DeafToTrainer(LiveWriter);

impl DeafToTrainer {
    async fn both(&self, snapshot: &Snapshot, raise: &Raise) -> Result<Applied, RequestError> {
        let applied = self.0.apply(snapshot, &Decision::Raise(raise.clone())).await?;
        let ready = Decision::Approve { a: raise.to, unreadable: Vec::new() };
        self.0.apply(snapshot, &ready).await?;
        Ok(applied)
    }
}

impl Apply for DeafToTrainer {
    fn apply<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        decision: &'a Decision,
    ) -> BoxFuture<'a, Result<Applied, RequestError>> {
        match decision {
            Decision::Raise(raise) => self.both(snapshot, raise).boxed(),
            _ => self.0.apply(snapshot, decision),
        }
    }
}
