//! The controller that makes the two writes in the other order.
//!
//! Kueue acts on Ready at once: the job starts with the number that it had, and the raise comes too
//! late for it.

use std::sync::Arc;

use dispatch_admission::{
    Applied, Apply, Decision, Environment, LiveWriter, Parts, Raise, Snapshot,
};
use dispatch_kubernetes::request::RequestError;
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "ready-before-raise",
    about: "sets the check Ready first, and raises A then",
    breaks: &["RG-05"],
    judged_by: &["start-gate/first-execution"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    let reference = Parts::reference(environment);
    let Environment { client, limits, clock, .. } = environment.clone();
    Parts { apply: Arc::new(ReadyBeforeRaise(LiveWriter::new(client, limits, clock))), ..reference }
}

struct ReadyBeforeRaise(LiveWriter);

impl ReadyBeforeRaise {
    async fn both(&self, snapshot: &Snapshot, raise: &Raise) -> Result<Applied, RequestError> {
        let ready = Decision::Approve { a: raise.to, unreadable: Vec::new() };
        self.0.apply(snapshot, &ready).await?;
        self.0.apply(snapshot, &Decision::Raise(raise.clone())).await
    }
}

impl Apply for ReadyBeforeRaise {
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
    use crate::history::told::Told;
    use crate::mutants::told::breaks_its_own_rule_first;

    use super::*;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let history = Told::kueue()
            .waits()
            .sets("Ready")
            .raises(1)
            .admits()
            .resumes()
            .pod("pod-1", "0")
            .history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
