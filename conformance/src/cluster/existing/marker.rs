//! The object that says that scenarios may be played on a cluster. The suite never makes it.

use super::question::Answer;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};

/// The namespace that it is in, and the Leases of the runs.
pub const NAMESPACE: &str = "dispatch-conformance";

/// The name of the `ConfigMap`. What is in it says nothing.
pub const NAME: &str = "scenarios-may-run-here";

/// Whether it is there.
pub(super) async fn is_there(client: &Client) -> Answer<bool> {
    let api = Api::<ConfigMap>::namespaced(client.clone(), NAMESPACE);
    super::question::ask(api.get_opt(NAME)).await.map(|found| found.is_some())
}

/// The commands that put it there; each begins with `kubectl`.
pub(super) fn commands(kubectl: &str) -> String {
    format!(
        "{kubectl} create namespace {NAMESPACE}\n\
         {kubectl} create configmap {NAME} --namespace {NAMESPACE}"
    )
}
