//! Status: what state an object is in, and what contradicts the contract.

use dispatch_contract::resources::{TrainJob, Workload};
use dispatch_contract::{CallError, ObjectRef, State, StatusAnswer};
use dispatch_kubernetes::owned::{self, Owned};
use dispatch_kubernetes::request::{Request, send};
use dispatch_kubernetes::runtime::{self, RuntimeState};
use k8s_openapi::api::core::v1::Event;
use kube::api::ListParams;
use kube::{Api, ResourceExt};

use crate::Adapter;
use crate::error::of_request;
use crate::lease::{self, Heartbeat};
use crate::workload::{find, pick, read_all};
use crate::write::read;

mod decide;
mod violations;

pub use decide::state;
pub use violations::violations;

/// What is known of an object when its state is decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// The object.
    pub trainjob: TrainJob,
    /// Its Workload.
    pub workload: Option<Workload>,
    /// Its `JobSet`, Jobs and pods.
    pub owned: Owned,
    /// The name of the `AdmissionCheck` that dispatch's controller serves.
    pub check: String,
    /// The controller's Lease, where the object waits for the controller.
    pub heartbeat: Option<Heartbeat>,
    /// What refuses to start the object, where it is starting and that can be read.
    pub refused_by: Option<String>,
}

/// How often Status begins anew with an object that changed while it was read.
const LOOKS: usize = 3;

pub(crate) async fn status(
    adapter: &Adapter,
    object: &ObjectRef,
) -> Result<StatusAnswer, CallError> {
    let (client, limits, namespace) = (adapter.client(), adapter.limits(), adapter.namespace());
    let mut found = read(client, limits, namespace, object).await?;
    for look in 1.. {
        let Some(trainjob) = found else { break };
        let version = trainjob.resource_version();
        let answer = look_at(adapter, trainjob, &object.uid).await?;
        let drains = matches!(answer.state, State::Draining { .. });
        if !drains || look == LOOKS {
            return Ok(answer);
        }
        // The pods of an object that was resumed after it was read drain nothing: they start.
        found = read(client, limits, namespace, object).await?;
        if found.as_ref().is_some_and(|now| now.resource_version() == version) {
            return Ok(answer);
        }
    }
    Ok(StatusAnswer { state: State::NotFound, admission: None, violations: Vec::new() })
}

/// What is to be said of an object that was just read.
async fn look_at(
    adapter: &Adapter,
    trainjob: TrainJob,
    uid: &str,
) -> Result<StatusAnswer, CallError> {
    let workload = find(adapter, uid).await?;
    let owned = owned::read(adapter.client(), adapter.limits(), &trainjob).await;
    let mut observed = Observed {
        trainjob,
        workload,
        owned: owned.map_err(of_request)?,
        check: adapter.check().to_owned(),
        heartbeat: None,
        refused_by: None,
    };
    let state = closer(adapter, &mut observed).await?;
    Ok(StatusAnswer {
        state,
        admission: observed.trainjob.admission_count().and_then(Result::ok),
        violations: adapter.decisions().violations(&observed),
    })
}

/// The state, after a second look where the first one asks for it: at the Lease of a controller
/// that is waited for, at the reason why nothing starts.
async fn closer(adapter: &Adapter, observed: &mut Observed) -> Result<State, CallError> {
    let first = adapter.decisions().state(observed);
    match first {
        State::WaitingAtCheck { .. } => {
            observed.heartbeat = Some(lease::glance(adapter).await?);
        }
        State::Starting { .. } => {
            observed.refused_by = refusal(adapter, &observed.trainjob).await?;
        }
        _ => return Ok(first),
    }
    Ok(adapter.decisions().state(observed))
}

/// What keeps Trainer from starting an object: an edited runtime, or what its last warning says.
async fn refusal(adapter: &Adapter, trainjob: &TrainJob) -> Result<Option<String>, CallError> {
    let state = runtime::state(adapter.client(), adapter.limits(), trainjob).await;
    let runtime = runtime::describe(trainjob);
    match state.map_err(of_request)? {
        RuntimeState::Differs => {
            return Ok(Some(format!(
                "the runtime {runtime} is not the one that Start resolved; JobSet takes no other \
                 template"
            )));
        }
        RuntimeState::Missing => return Ok(Some(format!("the runtime {runtime} is gone"))),
        RuntimeState::Same | RuntimeState::NotRecorded => {}
    }
    let uid = trainjob.uid().unwrap_or_default();
    let api = Api::<Event>::namespaced(adapter.client().clone(), adapter.namespace());
    let params = ListParams::default().fields(&format!("involvedObject.uid={uid},type=Warning"));
    let request = Request::new("list", "events", format!("in namespace {}", adapter.namespace()));
    let events = send(adapter.limits(), request, api.list(&params)).await.map_err(of_request)?;
    Ok(latest_warning(events.items))
}

/// What the latest of these events says.
fn latest_warning(events: Vec<Event>) -> Option<String> {
    let time = |event: &Event| {
        let series = event.series.as_ref().and_then(|series| series.last_observed_time.clone());
        series
            .map(|time| time.0)
            .or_else(|| event.last_timestamp.as_ref().map(|time| time.0))
            .or_else(|| event.event_time.as_ref().map(|time| time.0))
    };
    let latest = events.into_iter().max_by_key(time)?;
    let reason = latest.reason.unwrap_or_default();
    Some(format!("{reason}: {}", latest.message.unwrap_or_default()))
}

/// The states of all objects of the namespace, each with what List needs to name it.
pub(crate) async fn states(
    adapter: &Adapter,
    objects: Vec<TrainJob>,
) -> Result<Vec<(TrainJob, State)>, CallError> {
    let workloads = read_all(adapter).await?;
    let below = owned::read_namespace(adapter.client(), adapter.limits(), adapter.namespace());
    let below = below.await.map_err(of_request)?;
    Ok(objects
        .into_iter()
        .map(|trainjob| {
            let uid = trainjob.uid().unwrap_or_default();
            let observed = Observed {
                workload: pick(workloads.clone(), &uid),
                owned: below.of(&trainjob),
                check: adapter.check().to_owned(),
                heartbeat: None,
                refused_by: None,
                trainjob,
            };
            let state = adapter.decisions().state(&observed);
            (observed.trainjob, state)
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use dispatch_contract::driver::Config;
    use dispatch_contract::{OsEntropy, SystemClock};
    use http::{Request, Response};
    use kube::Client;
    use kube::client::Body;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    const NAME: &str = "dj-01arz3ndektsv4rrffq69g5fav-s1";

    /// What an API server answers in which an object with one pod is suspended for that many reads.
    fn answer(path: &str, reads: &AtomicU64, suspended_for: u64) -> Value {
        let owned_by = |kind: &str, uid: &str| json!([{"apiVersion": "v1", "kind": kind, "name": NAME, "uid": uid, "controller": true}]);
        let list = |items: Value| json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items});
        let resource = path.split_once("/namespaces/n/").map_or("", |(_, rest)| rest);
        match resource.split('/').next() {
            Some("trainjobs") => {
                let suspended = reads.fetch_add(1, Ordering::Relaxed) < suspended_for;
                json!({"metadata": {"name": NAME, "namespace": "n", "uid": "u",
                    "resourceVersion": if suspended { "1" } else { "2" },
                    "annotations": {dispatch_contract::names::ADMISSION_COUNT: "1"}},
                    "spec": {"suspend": suspended}})
            }
            Some("jobsets") => json!({"metadata": {"name": NAME, "namespace": "n", "uid": "js",
                "ownerReferences": owned_by("TrainJob", "u")}, "spec": {}}),
            Some("jobs") => list(json!([{"metadata": {"name": NAME, "uid": "j",
                "ownerReferences": owned_by("JobSet", "js")}}])),
            Some("pods") => list(json!([{"metadata": {"name": "pod", "uid": "p",
                "ownerReferences": owned_by("Job", "j")}, "status": {"phase": "Running"}}])),
            _ => list(json!([])),
        }
    }

    async fn status_of_one_suspended_for(reads: u64) -> State {
        let counted = Arc::new(AtomicU64::new(0));
        let service = tower::service_fn(move |request: Request<Body>| {
            let answer = answer(request.uri().path(), &counted, reads).to_string();
            async { Ok::<_, Infallible>(Response::new(Body::from(answer.into_bytes()))) }
        });
        let config = Config::kueue("n", "q", "check");
        let client = Client::new(service, "n");
        let adapter = Adapter::new(config, client, Arc::new(SystemClock), Arc::new(OsEntropy));
        let object = ObjectRef { name: NAME.to_owned(), uid: "u".to_owned() };
        status(&adapter, &object).await.unwrap().state
    }

    #[rstest]
    #[case::it_is_suspended(u64::MAX, "draining")]
    #[case::it_was_resumed_while_it_was_read(1, "running")]
    #[case::it_runs(0, "running")]
    #[tokio::test]
    async fn pods_of_an_object_that_is_resumed_do_not_drain(
        #[case] suspended_for: u64,
        #[case] expected: &str,
    ) {
        assert_eq!(status_of_one_suspended_for(suspended_for).await.name(), expected);
    }

    #[test]
    fn the_latest_warning_is_what_refuses() {
        let event = |time: &str, message: &str| -> Event {
            serde_json::from_value(json!({"metadata": {}, "involvedObject": {}, "reason":
                "TrainJobResourcesCreationFailed", "message": message, "lastTimestamp": time}))
            .unwrap()
        };
        let events = vec![
            event("2026-01-01T00:00:02Z", "field is immutable"),
            event("2026-01-01T00:00:01Z", "webhook not ready"),
        ];
        assert_eq!(
            latest_warning(events).as_deref(),
            Some("TrainJobResourcesCreationFailed: field is immutable")
        );
        assert_eq!(latest_warning(Vec::new()), None);
    }
}
