//! The controller that takes the `TrainJob` for what runs.
//!
//! Pods come from the `JobSet`, which Trainer writes when it gets to it. Who sets Ready once A stands
//! in the `TrainJob` races with Trainer, and with a write of Trainer's that is still on its way.

use std::sync::Arc;

use dispatch_admission::{
    Applied, Apply, Decision, Environment, LiveWriter, Parts, Raise, Snapshot,
};
use dispatch_kubernetes::request::RequestError;
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "ignores-takeover",
    about: "sets the check Ready right after the raise, before the JobSet carries A",
    breaks: &["RG-17"],
    judged_by: &["readmission/late-apply"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    let reference = Parts::reference(environment);
    let Environment { client, limits, clock, .. } = environment.clone();
    Parts { apply: Arc::new(IgnoresTakeover(LiveWriter::new(client, limits, clock))), ..reference }
}

struct IgnoresTakeover(LiveWriter);

impl IgnoresTakeover {
    async fn both(&self, snapshot: &Snapshot, raise: &Raise) -> Result<Applied, RequestError> {
        let applied = self.0.apply(snapshot, &Decision::Raise(raise.clone())).await?;
        if !matches!(applied, Applied::Raised { .. }) {
            return Ok(applied);
        }
        let ready = Decision::Approve { a: raise.to, unreadable: Vec::new() };
        self.0.apply(snapshot, &ready).await
    }
}

impl Apply for IgnoresTakeover {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::told::Told;
    use crate::mutants::told::breaks_its_own_rule_first;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        // Trainer's write with A=1 is on its way all the time, and lands when the job goes again.
        let history = Told::kueue()
            .waits()
            .raises(1)
            .sets("Ready")
            .admits()
            .evicts()
            .unreserves()
            .reserves()
            .raises(2)
            .sets("Ready")
            .admits()
            .resumes()
            .takes_over(1)
            .pod("pod-1", "1")
            .history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
