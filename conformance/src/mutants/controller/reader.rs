//! What the broken readers share: everything that they do by the contract.

use dispatch_admission::{Gather, GatherError, LiveReader, Object, Raised, Snapshot, WorkloadKey};
use dispatch_contract::resources::{JobSet, Workload};
use futures::future::BoxFuture;
use futures::stream::BoxStream;

/// Where a broken reader differs from the contract's.
pub(super) trait Differs: Send + Sync {
    /// The contract's reader.
    fn contract(&self) -> &LiveReader;

    /// As [`Gather::may_concern`].
    fn may_concern(&self, workload: &Workload) -> bool {
        self.contract().may_concern(workload)
    }

    /// As [`Gather::gather`].
    fn gather<'a>(
        &'a self,
        workload: &'a WorkloadKey,
    ) -> BoxFuture<'a, Result<Option<Snapshot>, GatherError>>;

    /// As [`Gather::gather_again`].
    fn gather_again<'a>(
        &'a self,
        first: &'a Snapshot,
        raised: &'a Raised,
    ) -> BoxFuture<'a, Result<Snapshot, GatherError>> {
        self.contract().gather_again(first, raised)
    }
}

/// A broken reader.
pub(super) struct Reader<D>(pub(super) D);

impl<D: Differs> Gather for Reader<D> {
    fn may_concern(&self, workload: &Workload) -> bool {
        self.0.may_concern(workload)
    }

    fn gather<'a>(
        &'a self,
        workload: &'a WorkloadKey,
    ) -> BoxFuture<'a, Result<Option<Snapshot>, GatherError>> {
        self.0.gather(workload)
    }

    fn gather_again<'a>(
        &'a self,
        first: &'a Snapshot,
        raised: &'a Raised,
    ) -> BoxFuture<'a, Result<Snapshot, GatherError>> {
        self.0.gather_again(first, raised)
    }

    fn jobset_versions(&self, object: &Object) -> BoxStream<'static, JobSet> {
        self.0.contract().jobset_versions(object)
    }

    fn last_warning<'a>(&'a self, object: &'a Object) -> BoxFuture<'a, Option<String>> {
        self.0.contract().last_warning(object)
    }
}
