//! Writing to an object that exists: read, decide, write with the version of the read, and again
//! while others write in between (OP-03, CA-05).

use std::time::Duration;

use dispatch_contract::resources::TrainJob;
use dispatch_contract::{CallError, ErrorKind, ObjectRef, names};
use dispatch_kubernetes::request::{Limits, Outcome, Request, RequestError, send, send_optional};
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::error::{fail, not_found, of_request};

pub(crate) const TRAINJOBS: &str = "trainjobs.trainer.kubeflow.org";

/// What is to be done with an object, as decided from one read of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Step<T> {
    /// Nothing more: this is the answer.
    Done(T),
    /// This merge patch is to be written. It carries UID and resourceVersion of the read; its
    /// answer is decided upon again, so that what a webhook made of the write is seen.
    Write(Value),
    /// The call fails.
    Fail(CallError),
}

/// A merge patch of the annotations of `trainjob`, with the version of its read. `None` deletes a
/// key.
pub(crate) fn annotations_patch(trainjob: &TrainJob, values: &[(&str, Option<&str>)]) -> Value {
    let annotations: serde_json::Map<String, Value> =
        values.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    json!({"metadata": {
        "uid": trainjob.metadata.uid,
        "resourceVersion": trainjob.metadata.resource_version,
        "annotations": annotations,
    }})
}

/// Reads the object of this name and UID, live. `None` when it is gone, or another one.
pub(crate) async fn read(
    client: &Client,
    limits: Limits,
    namespace: &str,
    object: &ObjectRef,
) -> Result<Option<TrainJob>, CallError> {
    let found = read_by_name(client, limits, namespace, &object.name).await?;
    Ok(found.filter(|trainjob| trainjob.uid().as_deref() == Some(object.uid.as_str())))
}

/// Reads the `TrainJob` of this name, live, whatever its UID.
pub(crate) async fn read_by_name(
    client: &Client,
    limits: Limits,
    namespace: &str,
    name: &str,
) -> Result<Option<TrainJob>, CallError> {
    let api = Api::<TrainJob>::namespaced(client.clone(), namespace);
    let request = Request::new("get", TRAINJOBS, format!("{namespace}/{name}"));
    send_optional(limits, request, api.get(name)).await.map_err(of_request)
}

/// Reads the object, decides, and writes until there is nothing more to do.
///
/// A conflict means that somebody wrote in between: the object is read and decided upon again, for
/// as long as one request may take. After a write of unknown outcome a fresh read decides. A write
/// whose answer asks for the same write again was undone by the API server, which is refused.
pub(crate) async fn settle<T>(
    client: &Client,
    limits: Limits,
    namespace: &str,
    object: &ObjectRef,
    decide: impl Fn(&TrainJob) -> Step<T>,
) -> Result<T, CallError> {
    let api = Api::<TrainJob>::namespaced(client.clone(), namespace);
    let params = PatchParams { field_manager: Some(manager()), ..PatchParams::default() };
    let budget = Budget::new(limits.request);
    let mut unanswered: Option<RequestError> = None;
    loop {
        let Some(trainjob) = read(client, limits, namespace, object)
            .await
            .map_err(|error| unanswered.clone().map_or(error, of_request))?
        else {
            return Err(not_found(namespace, object));
        };
        let patch = match decide(&trainjob) {
            Step::Done(answer) => return Ok(answer),
            Step::Fail(error) => return Err(error),
            Step::Write(patch) => patch,
        };
        if budget.is_spent() {
            return Err(unanswered.map_or_else(|| too_busy(namespace, object), of_request));
        }
        let request = Request::new("patch", TRAINJOBS, format!("{namespace}/{}", object.name));
        let patch = Patch::Merge(patch);
        let sent = api.patch(&object.name, &params, &patch);
        match send(limits, request, sent).await {
            Ok(answer) => return accepted(namespace, &answer, &decide),
            Err(error) if error.outcome == Outcome::Conflict => unanswered = None,
            Err(error) if error.outcome == Outcome::Unknown => unanswered = Some(error),
            Err(error) if error.outcome == Outcome::NotFound => {
                return Err(not_found(namespace, object));
            }
            Err(error) => return Err(of_request(error)),
        }
    }
}

/// What the answer to a write says, decided upon like a read.
fn accepted<T>(
    namespace: &str,
    answer: &TrainJob,
    decide: &impl Fn(&TrainJob) -> Step<T>,
) -> Result<T, CallError> {
    match decide(answer) {
        Step::Done(answer) => Ok(answer),
        Step::Fail(error) => Err(error),
        Step::Write(patch) => {
            let message = format!(
                "the API server took the write to TrainJob {namespace}/{}, and its answer does \
                 not show it; a webhook may undo it. Still to be written: {}",
                answer.name_any(),
                patch["metadata"]["annotations"]
            );
            Err(fail(ErrorKind::Refused, message, &["OP-03"]))
        }
    }
}

fn too_busy(namespace: &str, object: &ObjectRef) -> CallError {
    let message = format!(
        "TrainJob {namespace}/{} was changed by others between every read and write of ours; \
         nothing was done, try again",
        object.name
    );
    fail(ErrorKind::Unavailable, message, &["OP-03"])
}

/// The time that is left for writing the same thing again.
pub(crate) struct Budget {
    until: Instant,
}

impl Budget {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { until: Instant::now() + limit }
    }

    pub(crate) fn is_spent(&self) -> bool {
        Instant::now() >= self.until
    }
}

pub(crate) fn manager() -> String {
    names::FIELD_MANAGER_ADAPTER.to_owned()
}

#[cfg(test)]
mod tests;
