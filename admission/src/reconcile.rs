//! The glue between triggers and passes.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::{FutureExt, Stream, StreamExt, future};
use kube::runtime::controller::{Action, Config, ReconcileRequest, applier};
use kube::runtime::reflector::Store;
use kube::runtime::watcher;
use kube::{Resource, ResourceExt};
use tracing::Instrument;

use crate::check_status::ServedChecks;
use crate::lease::Claim;
use crate::pass::{Pass, PassError, Passed};
use crate::snapshot::{WorkloadKey, may_concern};
use crate::triggers::WatchedWorkload;

/// How long a Workload waits after a failed pass: from 250 ms, doubling, to 8 s at most.
const RETRY_FIRST: Duration = Duration::from_millis(250);
const DOUBLED_AT_MOST: u32 = 5;

/// What the reconciler of Workloads works with.
pub(crate) struct Context {
    pub(crate) pass: Pass,
    pub(crate) claim: Claim,
    pub(crate) checks: ServedChecks,
    pub(crate) resync: Duration,
    pub(crate) failures: Mutex<BTreeMap<WorkloadKey, u32>>,
}

/// Serves the Workloads that `changed` brings, until it ends and the passes under way are over.
pub(crate) fn serve(
    context: Context,
    kept: Store<WatchedWorkload>,
    changed: impl Stream<Item = watcher::Result<ReconcileRequest<WatchedWorkload>>> + Send + 'static,
    concurrency: u16,
) -> impl Future<Output = ()> + Send {
    let each = |workload, context| reconcile(workload, context).boxed();
    let config = Config::default().concurrency(concurrency);
    let on_error = |workload: Arc<WatchedWorkload>, error: &PassError, context: Arc<Context>| {
        after_error(&key_of(&workload), error, &context)
    };
    applier(each, on_error, Arc::new(context), kept, changed, config)
        .for_each(|_| future::ready(()))
}

/// One pass, where this replica leads and the Workload may concern it.
async fn reconcile(
    watched: Arc<WatchedWorkload>,
    context: Arc<Context>,
) -> Result<Action, PassError> {
    let key = key_of(&watched);
    match &watched.0 {
        _ if !context.claim.is_held() => return Ok(Action::await_change()),
        Err(odd) => {
            tracing::error!(workload = %key, error = %odd.error, "cannot be understood; left alone");
            return Ok(Action::await_change());
        }
        Ok(workload) if !may_concern(workload, |check| context.checks.serves(check)) => {
            return Ok(Action::await_change());
        }
        Ok(_) => {}
    }
    let span = tracing::info_span!("pass", workload = %key);
    let passed = context.pass.run(&key).instrument(span).await?;
    context.failures().remove(&key);
    Ok(match passed {
        Passed::Settled => Action::await_change(),
        Passed::Waiting => Action::requeue(context.resync),
    })
}

/// When a failed pass is made again.
fn after_error(key: &WorkloadKey, error: &PassError, context: &Context) -> Action {
    tracing::warn!(workload = %key, %error, "a pass failed; it is made again");
    let mut failures = context.failures();
    let doubled = failures.entry(key.clone()).and_modify(|times| *times += 1).or_default();
    Action::requeue(RETRY_FIRST * 2_u32.pow((*doubled).min(DOUBLED_AT_MOST)))
}

fn key_of(watched: &WatchedWorkload) -> WorkloadKey {
    let namespace = watched.meta().namespace.clone().unwrap_or_default();
    WorkloadKey { namespace, name: watched.name_any() }
}

impl Context {
    fn failures(&self) -> MutexGuard<'_, BTreeMap<WorkloadKey, u32>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
