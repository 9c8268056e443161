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

pub(crate) async fn status(
    adapter: &Adapter,
    object: &ObjectRef,
) -> Result<StatusAnswer, CallError> {
    let (client, limits, namespace) = (adapter.client(), adapter.limits(), adapter.namespace());
    let Some(trainjob) = read(client, limits, namespace, object).await? else {
        return Ok(StatusAnswer {
            state: State::NotFound,
            admission: None,
            violations: Vec::new(),
        });
    };
    let workload = find(adapter, &object.uid).await?;
    let owned = owned::read(client, limits, &trainjob).await.map_err(of_request)?;
    let mut observed = Observed {
        trainjob,
        workload,
        owned,
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
    use serde_json::json;

    use super::*;

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
