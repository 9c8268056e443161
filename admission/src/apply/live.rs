//! The writer of the contract: one preconditioned write a decision.

use std::sync::Arc;

use dispatch_contract::resources::{TrainJob, Workload};
use dispatch_contract::{Clock, names};
use dispatch_kubernetes::request::{Limits, Request, RequestError, send};
use dispatch_kubernetes::{ended, raise};
use futures::FutureExt;
use futures::future::BoxFuture;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::Value;

use super::checks::{self, Change};
use super::{Applied, Apply};
use crate::decide::Decision;
use crate::raise::Raise;
use crate::snapshot::{At, Snapshot};

/// Writes to the API server.
#[derive(Clone)]
pub struct LiveWriter {
    client: Client,
    limits: Limits,
    clock: Arc<dyn Clock>,
}

impl LiveWriter {
    /// A writer over `client`.
    pub fn new(client: Client, limits: Limits, clock: Arc<dyn Clock>) -> Self {
        Self { client, limits, clock }
    }

    async fn write(
        &self,
        snapshot: &Snapshot,
        decision: &Decision,
    ) -> Result<Applied, RequestError> {
        if let Some(change) = Change::of(decision) {
            let body = checks::apply_body(snapshot, &change, self.clock.now());
            return self.check(snapshot, body).await;
        }
        match (decision, snapshot.object()) {
            (Decision::Raise(raise), Some(object)) => self.raise(&object.trainjob, raise).await,
            (Decision::MarkEnded { how }, Some(object)) => {
                self.mark_ended(&object.trainjob, how).await
            }
            _ => Ok(Applied::Nothing),
        }
    }

    /// Server-side apply of this controller's entries alone (RG-11). With force, since Kueue owns
    /// them too; the resourceVersion in the body is what a stale write fails on.
    async fn check(
        &self,
        snapshot: &Snapshot,
        body: Option<Value>,
    ) -> Result<Applied, RequestError> {
        let Some(body) = body else { return Ok(Applied::Nothing) };
        let workload = &snapshot.workload.object;
        let (namespace, name) = (workload.namespace().unwrap_or_default(), workload.name_any());
        let api = Api::<Workload>::namespaced(self.client.clone(), &namespace);
        let by = PatchParams::apply(names::FIELD_MANAGER_ADMISSION).force();
        let patch = Patch::Apply(body);
        let object = format!("{namespace}/{name}");
        let request = Request::new("patch", "workloads.kueue.x-k8s.io/status", object);
        send(self.limits, request, api.patch_status(&name, &by, &patch)).await?;
        Ok(Applied::Written)
    }

    async fn raise(
        &self,
        trainjob: &At<TrainJob>,
        decided: &Raise,
    ) -> Result<Applied, RequestError> {
        let Raise { to, jobs, raised_for, .. } = decided;
        let body = raise::apply_body(&trainjob.object, jobs, *to, raised_for);
        let by = PatchParams::apply(names::FIELD_MANAGER_RAISE).force();
        let answer = self.patch(&trainjob.object, &by, &Patch::Apply(body)).await?;
        Ok(match raise::check_answer(&answer, jobs, *to) {
            Ok(()) => {
                Applied::Raised { generation: answer.metadata.generation.unwrap_or_default() }
            }
            Err(altered) => Applied::Altered(altered),
        })
    }

    async fn mark_ended(
        &self,
        trainjob: &At<TrainJob>,
        how: &str,
    ) -> Result<Applied, RequestError> {
        let by = PatchParams {
            field_manager: Some(names::FIELD_MANAGER_ADMISSION.to_owned()),
            ..PatchParams::default()
        };
        let body = ended::mark_body(&trainjob.object, how);
        self.patch(&trainjob.object, &by, &Patch::Merge(body)).await?;
        Ok(Applied::Written)
    }

    async fn patch(
        &self,
        trainjob: &TrainJob,
        by: &PatchParams,
        patch: &Patch<Value>,
    ) -> Result<TrainJob, RequestError> {
        let (namespace, name) = (trainjob.namespace().unwrap_or_default(), trainjob.name_any());
        let api = Api::<TrainJob>::namespaced(self.client.clone(), &namespace);
        let object = format!("{namespace}/{name}");
        let request = Request::new("patch", "trainjobs.trainer.kubeflow.org", object);
        send(self.limits, request, api.patch(&name, by, patch)).await
    }
}

impl Apply for LiveWriter {
    fn apply<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        decision: &'a Decision,
    ) -> BoxFuture<'a, Result<Applied, RequestError>> {
        self.write(snapshot, decision).boxed()
    }
}
