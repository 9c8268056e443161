//! Requests of the suite itself, as an administrator: objects of any kind, created, deleted and
//! waited for.

use std::collections::BTreeSet;
use std::time::Duration;

use dispatch_kubernetes::request::{Limits, Outcome, Request, RequestError, send, send_optional};
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams,
};
use kube::core::GroupVersionKind;
use kube::runtime::wait::{await_condition, conditions::is_deleted};
use kube::{Api, Client, ResourceExt};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::follow::{Collection, Seen, follow};
use crate::scenario::{EditPatch, Propagation};

/// The field manager of what the suite makes.
const MANAGER: &str = "dispatch-conformance";

/// The field manager of what the suite writes as the controller of a foreign check.
const FOREIGN_MANAGER: &str = "dispatch-conformance-foreign";

/// The kinds that the suite makes or deletes, with their plurals.
const PLURALS: [(&str, &str); 19] = [
    ("Namespace", "namespaces"),
    ("Node", "nodes"),
    ("ServiceAccount", "serviceaccounts"),
    ("Pod", "pods"),
    ("Job", "jobs"),
    ("Role", "roles"),
    ("RoleBinding", "rolebindings"),
    ("ClusterRole", "clusterroles"),
    ("ClusterRoleBinding", "clusterrolebindings"),
    ("ResourceFlavor", "resourceflavors"),
    ("AdmissionCheck", "admissionchecks"),
    ("ClusterQueue", "clusterqueues"),
    ("LocalQueue", "localqueues"),
    ("WorkloadPriorityClass", "workloadpriorityclasses"),
    ("Workload", "workloads"),
    ("TrainingRuntime", "trainingruntimes"),
    ("TrainJob", "trainjobs"),
    ("JobSet", "jobsets"),
    ("Lease", "leases"),
];

/// An object by its kind and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) api_version: &'static str,
    pub(super) kind: &'static str,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
}

impl Named {
    /// An object of a kind without namespaces.
    pub(super) fn cluster(api_version: &'static str, kind: &'static str, name: String) -> Self {
        Self { api_version, kind, namespace: None, name }
    }

    /// An object in a namespace.
    pub(super) fn namespaced(
        api_version: &'static str,
        kind: &'static str,
        namespace: String,
        name: String,
    ) -> Self {
        Self { api_version, kind, namespace: Some(namespace), name }
    }

    fn api(&self, client: &Client) -> Api<DynamicObject> {
        api(client, self.api_version, self.kind, self.namespace.as_deref())
    }

    fn request(&self, verb: &'static str) -> Request {
        Request::new(verb, plural(self.kind), self.name.clone())
    }
}

/// Creates an object; gives it as the server has it.
pub(super) async fn create(client: &Client, object: Value) -> Result<DynamicObject, RequestError> {
    let text = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (kind, name) = (text("/kind"), text("/metadata/name"));
    let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str);
    let api = api(client, &text("/apiVersion"), &kind, namespace);
    let request = Request::new("create", plural(&kind), name);
    let parsed =
        serde_json::from_value(object).map_err(|error| malformed(request.clone(), &error))?;
    let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
    send(Limits::default(), request, api.create(&params, &parsed)).await
}

/// What became of an object that was deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Deleted {
    /// There was none.
    WasGone,
    /// It is gone.
    Gone,
    /// The object of this UID goes once its finalizers have run, or its grace period is over.
    Goes { uid: String },
}

/// Deletes an object, what it owns in the background.
pub(super) async fn delete(client: &Client, named: &Named) -> Result<Deleted, RequestError> {
    delete_as(client, named, DeleteParams::background()).await
}

/// Deletes an object, at once or with its grace period.
pub(super) async fn delete_with(
    client: &Client,
    named: &Named,
    propagation: Propagation,
    force: bool,
) -> Result<Deleted, RequestError> {
    let params = match propagation {
        Propagation::Background => DeleteParams::background(),
        Propagation::Foreground => DeleteParams::foreground(),
    };
    let params = if force { params.grace_period(0) } else { params };
    delete_as(client, named, params).await
}

async fn delete_as(
    client: &Client,
    named: &Named,
    params: DeleteParams,
) -> Result<Deleted, RequestError> {
    let api = named.api(client);
    let deleted = api.delete(&named.name, &params);
    let answer = send_optional(Limits::default(), named.request("delete"), deleted).await?;
    // Of an object that is gone at once most kinds answer with a status, and some with the object as
    // it was, which then has no deletion timestamp.
    let goes = |object: DynamicObject| match (&object.metadata.deletion_timestamp, object.uid()) {
        (Some(_), Some(uid)) => Deleted::Goes { uid },
        _ => Deleted::Gone,
    };
    Ok(answer.map_or(Deleted::WasGone, |answer| answer.either(goes, |_| Deleted::Gone)))
}

/// Every object of a kind, in all namespaces.
pub(super) async fn list(
    client: &Client,
    api_version: &str,
    kind: &str,
) -> Result<Vec<DynamicObject>, RequestError> {
    let (api, all) = (api(client, api_version, kind, None), ListParams::default());
    let request = Request::new("list", plural(kind), "");
    Ok(send(Limits::default(), request, api.list(&all)).await?.items)
}

/// Changes an object.
pub(super) async fn patch(
    client: &Client,
    named: &Named,
    patch: &EditPatch,
) -> Result<(), RequestError> {
    let patch = match patch {
        EditPatch::Merge(merge) => Patch::Merge(merge.clone()),
        EditPatch::Json(operations) => {
            let read = serde_json::from_value(operations.clone());
            Patch::Json(read.map_err(|error| malformed(named.request("patch"), &error))?)
        }
    };
    patch_as(client, named, &patch, MANAGER).await
}

/// Applies fields of an object, with force, by server-side apply of this field manager.
pub(super) async fn apply(
    client: &Client,
    named: &Named,
    fields: Value,
    manager: &str,
) -> Result<(), RequestError> {
    let mut body = fields;
    body["apiVersion"] = named.api_version.into();
    body["kind"] = named.kind.into();
    body["metadata"]["name"] = named.name.clone().into();
    patch_as(client, named, &Patch::Apply(body), manager).await
}

async fn patch_as(
    client: &Client,
    named: &Named,
    patch: &Patch<Value>,
    manager: &str,
) -> Result<(), RequestError> {
    let force = matches!(patch, Patch::Apply(_));
    let params =
        PatchParams { field_manager: Some(manager.to_owned()), force, ..PatchParams::default() };
    let api = named.api(client);
    let patched = api.patch(&named.name, &params, patch);
    send(Limits::default(), named.request("patch"), patched).await.map(drop)
}

/// Applies the status of an object, as the controller that the suite plays for a foreign check.
pub(super) async fn apply_status(client: &Client, object: Value) -> Result<(), RequestError> {
    let text = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (kind, name) = (text("/kind"), text("/metadata/name"));
    let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str);
    let api = api(client, &text("/apiVersion"), &kind, namespace);
    let request = Request::new("patch", plural(&kind), name.clone());
    let (by, patch) = (PatchParams::apply(FOREIGN_MANAGER).force(), Patch::Apply(&object));
    send(Limits::default(), request, api.patch_status(&name, &by, &patch)).await.map(drop)
}

fn malformed(request: Request, error: &serde_json::Error) -> RequestError {
    RequestError { request, outcome: Outcome::Denied, message: error.to_string() }
}

/// An object, live.
pub(super) async fn get(client: &Client, named: &Named) -> Result<DynamicObject, RequestError> {
    let api = named.api(client);
    send(Limits::default(), named.request("get"), api.get(&named.name)).await
}

/// Waits until the object of this UID is gone; whether it went within the limit.
pub(super) async fn gone(client: &Client, named: &Named, uid: &str, limit: Duration) -> bool {
    let gone = await_condition(named.api(client), &named.name, is_deleted(uid));
    matches!(timeout(limit, gone).await, Ok(Ok(_)))
}

/// Deletes all objects of a kind in a namespace, what they own in the background.
pub(super) async fn delete_all(
    client: &Client,
    api_version: &str,
    kind: &str,
    namespace: &str,
) -> Result<(), RequestError> {
    let api = api(client, api_version, kind, Some(namespace));
    let (params, all) = (DeleteParams::background(), ListParams::default());
    let request = Request::new("deletecollection", plural(kind), namespace);
    send(Limits::default(), request, api.delete_collection(&params, &all)).await.map(drop)
}

/// Returns when there is no object of a kind in a namespace.
pub(super) async fn none_left(client: &Client, api_version: &str, kind: &str, namespace: &str) {
    let (sink, mut seen) = mpsc::unbounded_channel();
    let collection = Collection::new(api(client, api_version, kind, Some(namespace)), None);
    let followed = follow(collection, move |event| {
        // The receiver is gone only when this future is about to be dropped too.
        let _ = sink.send(event);
    });
    let emptied = async {
        let mut there = BTreeSet::new();
        while let Some(event) = seen.recv().await {
            let uid = |object: DynamicObject| object.uid().unwrap_or_default();
            match event {
                Seen::Listed(all) => there = all.into_iter().map(uid).collect(),
                Seen::Added(object) | Seen::Modified(object) => {
                    there.insert(uid(object));
                }
                Seen::Deleted(object) => {
                    there.remove(&uid(object));
                }
                Seen::Lost(_) | Seen::Trouble(_) => continue,
            }
            if there.is_empty() {
                return;
            }
        }
    };
    tokio::select! {
        biased;
        () = followed => {}
        () = emptied => {}
    }
}

fn api(
    client: &Client,
    api_version: &str,
    kind: &str,
    namespace: Option<&str>,
) -> Api<DynamicObject> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kind = GroupVersionKind::gvk(group, version, kind);
    let resource = ApiResource::from_gvk_with_plural(&kind, plural(&kind.kind));
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

fn plural(kind: &str) -> &'static str {
    PLURALS.iter().find(|(known, _)| *known == kind).map_or("objects", |(_, plural)| plural)
}
