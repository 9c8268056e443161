//! The small reconciler: every `AdmissionCheck` that names this controller is Active (RG-10, RG-14).
//!
//! Kueue reserves no quota in a `ClusterQueue` one of whose checks is not Active. It is never taken
//! back, so that a controller that goes does not stop the queues.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use dispatch_contract::names;
use dispatch_contract::resources::{AdmissionCheck, Conditions};
use dispatch_kubernetes::request::{Outcome, Request, RequestError, send};
use futures::{FutureExt, StreamExt, future};
use jiff::Timestamp;
use kube::Api;
use kube::api::{Patch, PatchParams};
use kube::runtime::controller::{Action, Config, applier};
use kube::runtime::reflector::Store;
use serde_json::{Value, json};

use crate::lease::Claim;
use crate::parts::Environment;
use crate::served_checks::WatchedCheck;
use crate::triggers::Queue;

/// After how long a failed write is made again.
const RETRY: Duration = Duration::from_secs(2);

/// What the reconciler of `AdmissionChecks` works with.
pub(crate) struct Context {
    pub(crate) environment: Environment,
    pub(crate) claim: Claim,
}

/// Serves the checks that `changed` brings, until it ends.
pub(crate) fn serve(
    context: Context,
    kept: Store<WatchedCheck>,
    changed: Queue<WatchedCheck>,
) -> impl Future<Output = ()> + Send {
    let on_error = |_, error: &RequestError, _| {
        tracing::warn!(%error, "an AdmissionCheck could not be set Active; trying again");
        Action::requeue(RETRY)
    };
    let each = |check, context| reconcile(check, context).boxed();
    applier(each, on_error, Arc::new(context), kept, changed, Config::default())
        .for_each(|_| future::ready(()))
}

/// Sets the condition Active of a served check, where it is not as it has to be.
async fn reconcile(
    check: Arc<WatchedCheck>,
    context: Arc<Context>,
) -> Result<Action, RequestError> {
    let Context { environment, claim } = &*context;
    let Ok(watched) = &check.0 else { return Ok(Action::await_change()) };
    if !claim.is_held() || !environment.checks.is_served(&check) {
        return Ok(Action::await_change());
    }
    let Some(body) = active_body(watched, environment.clock.now()) else {
        return Ok(Action::await_change());
    };
    let name = watched.metadata.name.clone().unwrap_or_default();
    let api = Api::<AdmissionCheck>::all(environment.client.clone());
    let by = PatchParams::apply(names::FIELD_MANAGER_ADMISSION).force();
    let patch = Patch::Apply(body);
    let request = Request::new("patch", "admissionchecks.kueue.x-k8s.io/status", name.clone());
    match send(environment.limits, request, api.patch_status(&name, &by, &patch)).await {
        Ok(_) => tracing::info!(check = %name, "AdmissionCheck set Active"),
        Err(error) if matches!(error.outcome, Outcome::Conflict | Outcome::NotFound) => {}
        Err(error) => return Err(error),
    }
    Ok(Action::await_change())
}

/// The server-side apply of the condition, with the version of the read; `None` where the check is
/// Active for its current generation, or is being deleted.
fn active_body(check: &AdmissionCheck, now: Timestamp) -> Option<Value> {
    let metadata = &check.metadata;
    let conditions = check.status.as_ref().map(|status| status.conditions.as_slice());
    let found = conditions.unwrap_or_default().find("Active");
    let active = found.filter(|condition| condition.status == "True");
    let current = active.is_some_and(|condition| {
        condition.observed_generation.unwrap_or_default() >= metadata.generation.unwrap_or_default()
    });
    if current || metadata.deletion_timestamp.is_some() {
        return None;
    }
    let since = match active.and_then(|condition| condition.last_transition_time.as_ref()) {
        Some(since) => json!(since),
        None => json!(now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
    };
    Some(json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "AdmissionCheck",
        "metadata": {
            "name": metadata.name,
            "uid": metadata.uid,
            "resourceVersion": metadata.resource_version,
        },
        "status": {"conditions": [{
            "type": "Active",
            "status": "True",
            "reason": "Active",
            "message": "served by dispatch-admission",
            "observedGeneration": metadata.generation,
            "lastTransitionTime": since,
        }]},
    }))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn check(condition: &Value, deleted: bool) -> AdmissionCheck {
        let deletion = deleted.then_some("2026-01-01T00:00:00Z");
        serde_json::from_value(json!({
            "metadata": {"name": "c", "uid": "u", "resourceVersion": "7", "generation": 2,
                "deletionTimestamp": deletion},
            "spec": {"controllerName": "a.io/b"},
            "status": {"conditions": condition},
        }))
        .unwrap()
    }

    fn active(status: &str, generation: i64) -> Value {
        json!([{"type": "Active", "status": status, "observedGeneration": generation,
            "lastTransitionTime": "2025-05-05T05:05:05Z"}])
    }

    const NOW: &str = "2026-02-03T04:05:06Z";

    #[rstest]
    #[case::never_set(check(&json!([]), false), Some(NOW))]
    #[case::set_false(check(&active("False", 2), false), Some(NOW))]
    #[case::of_an_older_generation(check(&active("True", 1), false), Some("2025-05-05T05:05:05Z"))]
    #[case::as_it_has_to_be(check(&active("True", 2), false), None)]
    #[case::being_deleted(check(&json!([]), true), None)]
    fn active_is_written_only_where_it_changes_something(
        #[case] check: AdmissionCheck,
        #[case] since: Option<&str>,
    ) {
        let body = active_body(&check, NOW.parse().unwrap());
        let found = body.map(|body| {
            assert_eq!(body["metadata"]["resourceVersion"], "7");
            let condition = &body["status"]["conditions"][0];
            assert_eq!(condition["status"], "True");
            assert_eq!(condition["observedGeneration"], 2);
            condition["lastTransitionTime"].as_str().unwrap().to_owned()
        });
        assert_eq!(found.as_deref(), since);
    }
}
