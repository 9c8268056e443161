//! The name of a probe, and the runtime that a probe has to itself under the same name.

use dispatch_contract::{CallError, names};
use dispatch_kubernetes::request::{Outcome, Request, send};
use kube::Api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Preconditions};
use serde_json::{Value, json};

use crate::Adapter;
use crate::error::of_request;

/// Probes have names of their own, never an object's.
pub(super) const PREFIX: &str = "dispatch-probe-";

/// The label that the probe's node selector asks for; no node has it.
const NOWHERE: &str = "dispatch.phpboyscout.uk/no-such-node";

pub(super) const RUNTIMES: &str = "trainingruntimes.trainer.kubeflow.org";

/// Whether this is the name of a probe.
pub(crate) fn is_probe(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// The runtimes of the adapter's namespace.
pub(super) fn runtime_api(adapter: &Adapter) -> Api<DynamicObject> {
    let resource = ApiResource::erase::<dispatch_contract::resources::TrainingRuntime>(&());
    Api::namespaced_with(adapter.client().clone(), adapter.namespace(), &resource)
}

/// A runtime of the smallest size, for one pod that fits nowhere. It asks for no resources, so that
/// no quota is too small for it, and tolerates everything, so that no flavor is closed to it.
pub(super) fn runtime(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": name, "namespace": namespace, "labels": {names::PROBE: names::TRUE}},
        "spec": {
            "mlPolicy": {"numNodes": 1},
            "template": {"spec": {"replicatedJobs": [{
                "name": "node",
                "template": {
                    "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                    "spec": {
                        "podReplacementPolicy": "Failed",
                        "template": {"spec": {
                            "nodeSelector": {NOWHERE: names::TRUE},
                            "tolerations": [{"operator": "Exists"}],
                            "containers": [{
                                "name": "node",
                                "image": "registry.k8s.io/pause:3.10",
                            }],
                        }},
                    },
                },
            }]}},
        },
    })
}

/// Deletes the runtime of a probe, if it is there, and of this UID where one is given.
pub(super) async fn remove_runtime(
    adapter: &Adapter,
    name: &str,
    uid: Option<String>,
) -> Result<(), CallError> {
    let params = DeleteParams {
        preconditions: uid.map(|uid| Preconditions { uid: Some(uid), resource_version: None }),
        ..DeleteParams::default()
    };
    let request = Request::new("delete", RUNTIMES, format!("{}/{name}", adapter.namespace()));
    let api = runtime_api(adapter);
    match send(adapter.limits(), request, api.delete(name, &params)).await {
        Ok(_) => Ok(()),
        Err(error) if matches!(error.outcome, Outcome::NotFound | Outcome::Conflict) => Ok(()),
        Err(error) => Err(of_request(error)),
    }
}
