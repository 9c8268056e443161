//! The glue between triggers and passes.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt, StreamExt, future};
use kube::runtime::controller::{Action, Config, applier};
use kube::runtime::reflector::Store;
use kube::{Resource, ResourceExt};
use tracing::Instrument;

use crate::lease::Claim;
use crate::pass::{Pass, PassError, Passed};
use crate::retries::Retries;
use crate::snapshot::WorkloadKey;
use crate::triggers::{Queue, WatchedWorkload};

/// What the reconciler of Workloads works with.
pub(crate) struct Context {
    pub(crate) pass: Pass,
    pub(crate) claim: Claim,
    pub(crate) resync: Duration,
    pub(crate) retries: Retries,
}

/// Serves the Workloads that `changed` brings, until it ends and the passes under way are over.
pub(crate) fn serve(
    context: Context,
    kept: Store<WatchedWorkload>,
    changed: Queue<WatchedWorkload>,
    concurrency: u16,
) -> impl Future<Output = ()> + Send {
    let each = |watched: Arc<WatchedWorkload>, context: Arc<Context>| {
        let span = tracing::info_span!("pass", workload = %key_of(&watched));
        reconcile(watched, context).instrument(span).boxed()
    };
    let on_error = |watched: Arc<WatchedWorkload>, error: &PassError, context: Arc<Context>| {
        let key = key_of(&watched);
        tracing::warn!(workload = %key, %error, "a pass failed; it is made again");
        Action::requeue(context.retries.next(&key))
    };
    let config = Config::default().concurrency(concurrency);
    applier(each, on_error, Arc::new(context), kept, changed, config)
        .for_each(|_| future::ready(()))
}

/// One pass, where this replica leads and the Workload may concern it.
async fn reconcile(
    watched: Arc<WatchedWorkload>,
    context: Arc<Context>,
) -> Result<Action, PassError> {
    if !context.claim.is_held() {
        return Ok(Action::await_change());
    }
    match &watched.0 {
        Ok(workload) if context.pass.parts.gather.may_concern(workload) => {}
        Ok(_) => return Ok(Action::await_change()),
        Err(odd) => {
            tracing::error!(error = %odd.error, "the Workload cannot be understood; left alone");
            return Ok(Action::await_change());
        }
    }
    let key = key_of(&watched);
    let passed = context.pass.run(&key).await?;
    if matches!(passed, Passed::Settled | Passed::Waiting) {
        context.retries.forget(&key);
    }
    Ok(match passed {
        Passed::Settled => Action::await_change(),
        Passed::Overtaken | Passed::Remains => Action::requeue(context.retries.next(&key)),
        Passed::Waiting => Action::requeue(context.resync),
    })
}

fn key_of(watched: &WatchedWorkload) -> WorkloadKey {
    let namespace = watched.meta().namespace.clone().unwrap_or_default();
    WorkloadKey { namespace, name: watched.name_any() }
}
