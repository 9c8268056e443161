//! The only reader of a pass.

use dispatch_contract::resources::{JobSet, Workload};
use dispatch_kubernetes::request::RequestError;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use thiserror::Error;

use crate::raise::Raised;
use crate::snapshot::{Object, Snapshot, Unversioned, WorkloadKey};

mod live;
mod owner;
mod warning;

#[cfg(test)]
mod tests;

pub use live::LiveReader;

/// A read failed.
#[derive(Debug, Error)]
pub enum GatherError {
    /// A request failed.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// An answer is none.
    #[error(transparent)]
    Unversioned(#[from] Unversioned),
    /// The object that was raised is not there any more.
    #[error("the TrainJob {name} is gone")]
    Gone {
        /// Its namespace and name.
        name: String,
    },
}

/// Reads what decisions are made from.
pub trait Gather: Send + Sync {
    /// Whether anything may have to be done about a Workload, as far as a version of it tells that a
    /// watch delivered: reads are spent on those alone. One that is newly of concern comes with an
    /// event of its own.
    fn may_concern(&self, workload: &Workload) -> bool;

    /// Reads everything about a Workload, live; `None` where it is gone.
    fn gather<'a>(
        &'a self,
        workload: &'a WorkloadKey,
    ) -> BoxFuture<'a, Result<Option<Snapshot>, GatherError>>;

    /// Reads the object below the same version of the Workload again, after this pass raised A
    /// (RG-17).
    ///
    /// The Workload is not read again: Ready has to carry the version from before the raise, since
    /// any execution that could have used the raised A has changed the Workload.
    fn gather_again<'a>(
        &'a self,
        first: &'a Snapshot,
        raised: &'a Raised,
    ) -> BoxFuture<'a, Result<Snapshot, GatherError>>;

    /// The versions of the object's `JobSet` from now on, as a watch delivers them, the current one
    /// first. They say when a read is worth its while, and decide nothing.
    fn jobset_versions(&self, object: &Object) -> BoxStream<'static, JobSet>;

    /// What Trainer last warned of about the object, for people; `None` where nothing can be read.
    fn last_warning<'a>(&'a self, object: &'a Object) -> BoxFuture<'a, Option<String>>;
}
