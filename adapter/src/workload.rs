//! The Workload of an object: found by the UID of its owner, and its `spec.active`.

use dispatch_contract::resources::Workload;
use dispatch_contract::{CallError, ErrorKind, names};
use dispatch_kubernetes::request::{Outcome, Request, RequestError, send};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{FieldsV1, ManagedFieldsEntry};
use kube::api::{ListParams, Patch, PatchParams};
use kube::core::DeserializeGuard;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::Adapter;
use crate::error::{fail, of_request};
use crate::write::{Budget, manager};

pub(crate) const WORKLOADS: &str = "workloads.kueue.x-k8s.io";

/// Whether `workload` is the one that Kueue made for the object of this UID. Names never matter:
/// an object of the same name may have had one before.
pub(crate) fn belongs_to(workload: &Workload, uid: &str) -> bool {
    workload.controller_owner().is_some_and(|owner| owner.uid == uid)
}

/// Reads all Workloads of the namespace, live; those that cannot be read are passed over.
pub(crate) async fn read_all(adapter: &Adapter) -> Result<Vec<Workload>, CallError> {
    let namespace = adapter.namespace();
    let api = Api::<DeserializeGuard<Workload>>::namespaced(adapter.client().clone(), namespace);
    let request = Request::new("list", WORKLOADS, format!("in namespace {namespace}"));
    let sent = send(adapter.limits(), request, api.list(&ListParams::default())).await;
    let found = sent.map_err(of_request)?;
    Ok(found.items.into_iter().filter_map(|guarded| guarded.0.ok()).collect())
}

/// Reads the Workload of the object of this UID, live.
pub(crate) async fn find(adapter: &Adapter, uid: &str) -> Result<Option<Workload>, CallError> {
    Ok(pick(read_all(adapter).await?, uid))
}

/// The Workload of the object among those of the namespace; one that is not being deleted before
/// one that is.
pub(crate) fn pick(all: Vec<Workload>, uid: &str) -> Option<Workload> {
    let mut own: Vec<_> = all.into_iter().filter(|w| belongs_to(w, uid)).collect();
    own.sort_by_key(|workload| workload.metadata.deletion_timestamp.is_some());
    own.into_iter().next()
}

/// Whether the adapter was the one to set `spec.active`, as the API server recorded it.
pub(crate) fn is_deactivated_by_dispatch(workload: &Workload) -> bool {
    let owns_active = |entry: &ManagedFieldsEntry| {
        entry.manager.as_deref() == Some(names::FIELD_MANAGER_ADAPTER)
            && entry
                .fields_v1
                .as_ref()
                .is_some_and(|FieldsV1(fields)| fields.pointer("/f:spec/f:active").is_some())
    };
    !workload.is_active() && workload.metadata.managed_fields.iter().flatten().any(owns_active)
}

/// The merge patch of `spec.active`, with the version of the read.
pub(crate) fn active_patch(workload: &Workload, active: bool) -> Value {
    json!({
        "metadata": {
            "uid": workload.metadata.uid,
            "resourceVersion": workload.metadata.resource_version,
        },
        "spec": {"active": active},
    })
}

/// Brings `spec.active` of the object's Workload to what `decide` says, as long as one request may
/// take; `None` from it leaves the Workload as it is. `None` when there is no Workload.
pub(crate) async fn set_active<T>(
    adapter: &Adapter,
    uid: &str,
    decide: impl Fn(&Workload) -> Result<T, bool>,
) -> Result<Option<T>, CallError> {
    let api = Api::<Workload>::namespaced(adapter.client().clone(), adapter.namespace());
    let params = PatchParams { field_manager: Some(manager()), ..PatchParams::default() };
    let budget = Budget::new(adapter.limits().request);
    let mut unanswered: Option<RequestError> = None;
    loop {
        let found = find(adapter, uid).await;
        let found = found.map_err(|error| unanswered.clone().map_or(error, of_request))?;
        let Some(workload) = found else { return Ok(None) };
        let active = match decide(&workload) {
            Ok(answer) => return Ok(Some(answer)),
            Err(active) => active,
        };
        let name = workload.name_any();
        if budget.is_spent() {
            return Err(unanswered.map_or_else(|| too_busy(adapter, &name), of_request));
        }
        let object = format!("{}/{name}", adapter.namespace());
        let patch = Patch::Merge(active_patch(&workload, active));
        let sent = api.patch(&name, &params, &patch);
        match send(adapter.limits(), Request::new("patch", WORKLOADS, object), sent).await {
            Ok(_) => unanswered = None,
            Err(error) if matches!(error.outcome, Outcome::Conflict | Outcome::NotFound) => {
                unanswered = None;
            }
            Err(error) if error.outcome == Outcome::Unknown => unanswered = Some(error),
            Err(error) => return Err(of_request(error)),
        }
    }
}

fn too_busy(adapter: &Adapter, name: &str) -> CallError {
    let message = format!(
        "Workload {}/{name} was changed by others between every read and write of ours; try again",
        adapter.namespace()
    );
    fail(ErrorKind::Unavailable, message, &["OP-03"])
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "literals of JSON read best in place")]
mod tests {
    use rstest::rstest;

    use super::*;

    fn workload(active: bool, manager: &str, fields: Value) -> Workload {
        serde_json::from_value(json!({
            "metadata": {"name": "w", "managedFields": [{"manager": manager, "operation": "Update",
                "fieldsType": "FieldsV1", "fieldsV1": fields}]},
            "spec": {"active": active},
        }))
        .unwrap()
    }

    #[rstest]
    #[case::ours(
        workload(false, names::FIELD_MANAGER_ADAPTER, json!({"f:spec": {"f:active": {}}})), true)]
    #[case::ours_and_active_again(
        workload(true, names::FIELD_MANAGER_ADAPTER, json!({"f:spec": {"f:active": {}}})), false)]
    #[case::another(workload(false, "kueue", json!({"f:spec": {"f:active": {}}})), false)]
    #[case::ours_of_another_field(
        workload(false, names::FIELD_MANAGER_ADAPTER, json!({"f:metadata": {}})), false)]
    fn who_deactivated_a_workload_is_read_from_its_managed_fields(
        #[case] workload: Workload,
        #[case] expected: bool,
    ) {
        assert_eq!(is_deactivated_by_dispatch(&workload), expected);
    }

    #[test]
    fn a_workload_is_matched_by_the_uid_of_its_controller_and_never_by_name() {
        let of = |name: &str, uid: &str, deleted: bool| -> Workload {
            serde_json::from_value(json!({"metadata": {"name": name,
                "deletionTimestamp": deleted.then_some("2026-01-01T00:00:00Z"),
                "ownerReferences": [{"apiVersion": "x", "kind": "TrainJob", "name": "t",
                    "uid": uid, "controller": true}]}}))
            .unwrap()
        };
        let all = vec![of("old", "v", false), of("going", "u", true), of("new", "u", false)];
        assert_eq!(pick(all.clone(), "u").unwrap().name_any(), "new");
        assert_eq!(pick(all, "w"), None);
    }
}
