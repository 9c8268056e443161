//! List: every object of dispatch in the namespace (CA-08).

use dispatch_contract::resources::TrainJob;
use dispatch_contract::{CallError, ListEntry};
use dispatch_kubernetes::request::{Request, send};
use kube::api::ListParams;
use kube::core::DeserializeGuard;
use kube::{Api, ResourceExt};

use crate::Adapter;
use crate::error::of_request;
use crate::preflight::is_probe;
use crate::status::states;
use crate::write::TRAINJOBS;

/// Whether List names this `TrainJob`: an object by RG-03, ended or not, and no probe. Labels do
/// not matter.
pub fn is_listed(trainjob: &TrainJob) -> bool {
    trainjob.is_dispatch() && !is_probe(&trainjob.name_any())
}

pub(crate) async fn list(adapter: &Adapter) -> Result<Vec<ListEntry>, CallError> {
    let namespace = adapter.namespace();
    let api = Api::<DeserializeGuard<TrainJob>>::namespaced(adapter.client().clone(), namespace);
    let request = Request::new("list", TRAINJOBS, format!("in namespace {namespace}"));
    let sent = send(adapter.limits(), request, api.list(&ListParams::default())).await;
    let objects: Vec<TrainJob> = sent
        .map_err(of_request)?
        .items
        .into_iter()
        .filter_map(|guarded| guarded.0.ok())
        .filter(|trainjob| adapter.decisions().is_listed(trainjob))
        .collect();
    let mut entries: Vec<_> = states(adapter, objects)
        .await?
        .into_iter()
        .map(|(trainjob, state)| ListEntry {
            name: trainjob.name_any(),
            uid: trainjob.uid().unwrap_or_default(),
            state,
        })
        .collect();
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use dispatch_contract::names;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    #[rstest]
    #[case::by_name(json!({"metadata": {"name": "dj-01arz3ndektsv4rrffq69g5fav-s1"}}), true)]
    #[case::by_patch(
        json!({"metadata": {"name": "t"}, "spec": {"runtimePatches": [
            {"manager": names::RUNTIME_PATCH_MANAGER}]}}),
        true)]
    #[case::labels_only(
        json!({"metadata": {"name": "t", "labels": {names::MANAGED: "true"}}}), false)]
    #[case::labelled_as_a_probe(
        json!({"metadata": {"name": "dj-01arz3ndektsv4rrffq69g5fav-s1",
            "labels": {names::PROBE: "true"}}}),
        true)]
    #[case::probe(
        json!({"metadata": {"name": "dispatch-probe-01arz3ndektsv4rrffq69g5fav"},
            "spec": {"runtimePatches": [{"manager": names::RUNTIME_PATCH_MANAGER}]}}),
        false)]
    fn objects_are_listed_by_name_or_patch_and_probes_are_not(
        #[case] trainjob: Value,
        #[case] listed: bool,
    ) {
        let trainjob: TrainJob = serde_json::from_value(trainjob).unwrap();
        assert_eq!(is_listed(&trainjob), listed);
    }
}
