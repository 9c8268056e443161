//! The only writer of a pass.

use dispatch_kubernetes::raise::NotRaised;
use dispatch_kubernetes::request::RequestError;
use futures::future::BoxFuture;

use crate::decide::Decision;
use crate::snapshot::Snapshot;

mod checks;
mod live;

pub use live::LiveWriter;

/// What became of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// The decision asks for no write, or for one that would change nothing.
    Nothing,
    /// Written.
    Written,
    /// The raise is written, and this is the generation that the `TrainJob` has by it.
    Raised {
        /// As the answer has it.
        generation: i64,
    },
    /// The raise was taken, and its answer does not carry it: a webhook changed the write (RG-05).
    Altered(NotRaised),
}

/// Writes what was decided.
pub trait Apply: Send + Sync {
    /// Makes at most one write, which carries the version of the read in `snapshot` that the
    /// decision was made from (RG-06).
    fn apply<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        decision: &'a Decision,
    ) -> BoxFuture<'a, Result<Applied, RequestError>>;
}
