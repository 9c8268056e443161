//! The controller that raises A once more than it has to.
//!
//! After a crash between raise and Ready the next pass raises again (RG-09), so that no execution is
//! promised a number: only one that is higher than all before it. Whoever expects the second execution
//! to have A=2 blames a controller that did nothing wrong.

use std::sync::Arc;

use dispatch_admission::{
    Applied, Apply, Contract, Decide, Decision, Environment, Gather, GatherError, LiveReader,
    LiveWriter, Parts, Raise, Raised, Snapshot,
};
use dispatch_kubernetes::request::RequestError;
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "skips-numbers",
    about: "raises A twice before each Ready, by one each time, so that numbers are skipped",
    breaks: &[],
    judged_by: &[
        "readmission/preemption-mid-execution",
        "readmission/crash-between-raise-and-ready",
        "calls/hold-and-release",
        "readmission/late-apply",
        "executions/late-pod",
        "readmission/count-lowered",
    ],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    let reference = Parts::reference(environment);
    let Environment { client, limits, clock, checks, .. } = environment.clone();
    let reader = LiveReader::new(client.clone(), limits, checks);
    let writer = LiveWriter::new(client, limits, clock);
    Parts { apply: Arc::new(SkipsNumbers { reader, writer }), ..reference }
}

struct SkipsNumbers {
    reader: LiveReader,
    writer: LiveWriter,
}

impl SkipsNumbers {
    /// The second raise is one by every rule: decided from reads that were made after the first, as
    /// by a pass that knows nothing of it.
    async fn twice(&self, snapshot: &Snapshot, raise: &Raise) -> Result<Applied, RequestError> {
        let first = self.writer.apply(snapshot, &Decision::Raise(raise.clone())).await?;
        let Applied::Raised { generation } = first else { return Ok(first) };
        let raised = Raised { raise: raise.clone(), generation };
        let again = match self.reader.gather_again(snapshot, &raised).await {
            Ok(again) => Snapshot { raised: None, ..again },
            Err(GatherError::Request(error)) => return Err(error),
            Err(_) => return Ok(first),
        };
        let second = Contract.decide(&again);
        if !matches!(second, Decision::Raise(_)) {
            return Ok(first);
        }
        match self.writer.apply(&again, &second).await? {
            // The pass goes on from its own raise: what was raised since, it takes for another
            // replica's.
            Applied::Raised { .. } => Ok(first),
            other => Ok(other),
        }
    }
}

impl Apply for SkipsNumbers {
    fn apply<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        decision: &'a Decision,
    ) -> BoxFuture<'a, Result<Applied, RequestError>> {
        match decision {
            Decision::Raise(raise) => self.twice(snapshot, raise).boxed(),
            _ => self.writer.apply(snapshot, decision),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::told::{CONTROLLER, Told};
    use crate::mutants::told::{annotated, breaks_nothing, quiet};

    #[test]
    fn by_the_contract_a_pass_that_finds_a_raise_raises_again() {
        let to = |snapshot: &Snapshot| match Contract.decide(snapshot) {
            Decision::Raise(raise) => raise.to.get(),
            decision => panic!("{decision:?}"),
        };
        let count = dispatch_contract::names::ADMISSION_COUNT;
        assert_eq!([to(&quiet()), to(&annotated(quiet(), count, Some("2")))], [2, 3]);
    }

    #[test]
    fn what_it_does_breaks_nothing() {
        let mut told = Told::kueue();
        told.waits().raises(1).goes(2).is_preempted(2).reserves().raises(3).goes(4);
        breaks_nothing(&told.history());
    }

    #[test]
    fn what_it_asks_for_breaks_nothing() {
        let mut told = Told::kueue();
        told.waits().looks(CONTROLLER).raises_by(CONTROLLER, 1).looks(CONTROLLER);
        told.raises_by(CONTROLLER, 2).takes_over(2).looks(CONTROLLER);
        told.sets_by(CONTROLLER, "Ready").admits().resumes().pod("pod-2", "2");
        breaks_nothing(&told.history());
    }
}
