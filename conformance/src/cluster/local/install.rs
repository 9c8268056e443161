//! What the API server has to be told, and the proofs that it and the controllers act on it.

use super::endpoint::{REQUEST_LIMIT, chain};
use super::waiting::Waits;
use crate::cluster::ClusterError;
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams,
};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client};
use serde_json::{Value, json};
use std::time::Duration;

/// Installs and proves, as the administrator.
pub(in crate::cluster) struct Install<'a> {
    /// The administrator's client.
    pub client: &'a Client,
    /// The waits of this start.
    pub waits: &'a Waits<'a>,
}

impl Install<'_> {
    /// Creates all definitions at once, and waits until the API serves them.
    pub(in crate::cluster) async fn definitions(
        &self,
        definitions: Vec<Value>,
    ) -> Result<(), ClusterError> {
        let seen = format!("{} CRDs are Established", definitions.len());
        let all = try_join_all(definitions.into_iter().map(|object| self.definition(object)));
        self.waits.step("definitions", &seen, all).await.map(drop)
    }

    async fn definition(&self, object: Value) -> Result<(), ClusterError> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        self.create("apiextensions.k8s.io/v1", "CustomResourceDefinition", object).await?;
        let api: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        await_condition(api, &name, conditions::is_crd_established()).await.map(drop).map_err(|e| {
            ClusterError::Request { action: format!("waiting for CRD {name}"), detail: chain(&e) }
        })
    }

    /// Creates all webhook configurations at once.
    pub(in crate::cluster) async fn webhooks(
        &self,
        configurations: Vec<Value>,
    ) -> Result<(), ClusterError> {
        let seen = format!("{} webhook configurations are created", configurations.len());
        let all = try_join_all(configurations.into_iter().map(|object| {
            let kind = object["kind"].as_str().unwrap_or_default().to_owned();
            async move { self.create("admissionregistration.k8s.io/v1", &kind, object).await }
        }));
        self.waits.step("webhooks", &seen, all).await.map(drop)
    }

    /// Waits until the controller manager has made the default ServiceAccount, its first deed.
    pub(in crate::cluster) async fn default_service_account(&self) -> Result<(), ClusterError> {
        let api: Api<ServiceAccount> = Api::namespaced(self.client.clone(), "default");
        let made = async {
            let there = |account: Option<&ServiceAccount>| account.is_some();
            await_condition(api, "default", there).await.map(drop).map_err(|error| {
                let action = "waiting for the ServiceAccount default/default".to_owned();
                ClusterError::Request { action, detail: chain(&error) }
            })
        };
        self.waits.step("service-accounts", "default/default was created", made).await
    }

    /// Proves with dry runs that the API server calls the webhooks of each manager: it learns of
    /// their configurations a moment after these are created.
    pub(in crate::cluster) async fn webhooks_are_called(&self) -> Result<(), ClusterError> {
        let ask = async || {
            for (api_version, object, proof) in probes() {
                let kind = object["kind"].as_str().unwrap_or_default().to_owned();
                let dry_run = PostParams { dry_run: true, ..PostParams::default() };
                let answer = self.post(api_version, &kind, object, &dry_run).await;
                let seen = proof(&answer);
                let unseen = match answer {
                    Ok(_) => format!("a {kind} is taken without its webhook"),
                    Err(error) => error,
                };
                if !seen {
                    return Err(unseen);
                }
            }
            Ok(())
        };
        self.waits.until("webhooks", "the API server calls them", ask).await
    }

    /// Proves that Kueue's controllers work: it sets the condition Active on a ClusterQueue, and
    /// takes its finalizer off when that is deleted.
    pub(in crate::cluster) async fn kueue_reconciles(&self) -> Result<(), ClusterError> {
        let name = "dispatch-readiness";
        let work = async {
            let queue = json!({
                "apiVersion": KUEUE,
                "kind": "ClusterQueue",
                "metadata": { "name": name },
                "spec": { "namespaceSelector": {} },
            });
            self.taken(&queue).await;
            let failed = |error: &dyn std::error::Error| ClusterError::Request {
                action: format!("watching ClusterQueue {name}"),
                detail: chain(error),
            };
            let api: Api<DynamicObject> = self.api(KUEUE, "ClusterQueue");
            await_condition(api.clone(), name, has_condition("Active"))
                .await
                .map_err(|error| failed(&error))?;
            let deleted = api.delete(name, &DeleteParams::default()).await;
            deleted.map_err(|error| failed(&error))?;
            let gone = |queue: Option<&DynamicObject>| queue.is_none();
            await_condition(api, name, gone).await.map(drop).map_err(|error| failed(&error))
        };
        self.waits.step("kueue", "it reconciles a ClusterQueue", work).await
    }

    /// Proves that the garbage collector knows of the definitions: it learns of kinds at its start,
    /// and then every 30 s.
    pub(in crate::cluster) async fn garbage_is_collected(&self) -> Result<(), ClusterError> {
        let class = |name: &str| {
            let (name, description) = (format!("dispatch-readiness-{name}"), "a proof");
            json!({
                "apiVersion": KUEUE, "kind": PRIORITY,
                "metadata": { "name": name }, "value": 0, "description": description,
            })
        };
        let work = async {
            let api: Api<DynamicObject> = self.api(KUEUE, PRIORITY);
            let failed = |error: &dyn std::error::Error| ClusterError::Request {
                action: format!("proving with a {PRIORITY} that garbage is collected"),
                detail: chain(error),
            };
            let owner = self.put(class("owner")).await?;
            let mut garbage = class("owned");
            garbage["metadata"]["ownerReferences"] = json!([{
                "apiVersion": KUEUE, "kind": PRIORITY,
                "name": owner.metadata.name, "uid": owner.metadata.uid,
            }]);
            self.put(garbage).await?;
            let deleted = api.delete("dispatch-readiness-owner", &DeleteParams::background()).await;
            deleted.map_err(|error| failed(&error))?;
            let gone = |class: Option<&DynamicObject>| class.is_none();
            let waited = await_condition(api, "dispatch-readiness-owned", gone).await;
            waited.map(drop).map_err(|error| failed(&error))
        };
        self.waits.step("garbage", "what a custom resource owns goes with it", work).await
    }

    /// Makes an object what is said here, whether it is there already or not.
    pub(in crate::cluster) async fn put(
        &self,
        object: Value,
    ) -> Result<DynamicObject, ClusterError> {
        let text = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default();
        let (kind, name) = (text("/kind").to_owned(), text("/metadata/name").to_owned());
        let resource = resource(text("/apiVersion"), &kind);
        let api: Api<DynamicObject> = match object.pointer("/metadata/namespace") {
            Some(Value::String(namespace)) => {
                Api::namespaced_with(self.client.clone(), namespace, &resource)
            }
            _ => Api::all_with(self.client.clone(), &resource),
        };
        let apply = PatchParams::apply(MANAGER).force();
        let patch = Patch::Apply(&object);
        let sent = tokio::time::timeout(REQUEST_LIMIT, api.patch(&name, &apply, &patch));
        let failed = |detail: String| {
            let action = format!("writing {kind} {name}");
            ClusterError::Request { action, detail }
        };
        let answer =
            sent.await.map_err(|_| failed(format!("no answer within {REQUEST_LIMIT:?}")))?;
        answer.map_err(|error| failed(chain(&error)))
    }

    /// Creates an object, again and again until it is there. A manager that has just taken the
    /// place of another may miss the first call of its webhook, over the old one's connection.
    async fn taken(&self, object: &Value) {
        let text = |key: &str| object[key].as_str().unwrap_or_default();
        let mut turn = tokio::time::interval(REPEAT);
        loop {
            turn.tick().await;
            let (api_version, kind) = (text("apiVersion"), text("kind"));
            let answer = self.post(api_version, kind, object.clone(), &PostParams::default()).await;
            if answer.is_ok() || answer.is_err_and(|error| error.contains("AlreadyExists")) {
                return;
            }
        }
    }

    async fn create(
        &self,
        api_version: &str,
        kind: &str,
        object: Value,
    ) -> Result<(), ClusterError> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let parameters = PostParams::default();
        self.post(api_version, kind, object, &parameters).await.map(drop).map_err(|error| {
            ClusterError::Request { action: format!("creating {kind} {name}"), detail: error }
        })
    }

    async fn post(
        &self,
        api_version: &str,
        kind: &str,
        object: Value,
        parameters: &PostParams,
    ) -> Result<DynamicObject, String> {
        let object: DynamicObject =
            serde_json::from_value(object).map_err(|error| error.to_string())?;
        let namespace = object.metadata.namespace.clone();
        let api: Api<DynamicObject> = match &namespace {
            Some(namespace) => {
                let resource = resource(api_version, kind);
                Api::namespaced_with(self.client.clone(), namespace, &resource)
            }
            None => self.api(api_version, kind),
        };
        tokio::time::timeout(REQUEST_LIMIT, api.create(parameters, &object))
            .await
            .map_err(|_| format!("no answer within {} s", REQUEST_LIMIT.as_secs()))?
            .map_err(|error| chain(&error))
    }

    fn api(&self, api_version: &str, kind: &str) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &resource(api_version, kind))
    }
}

/// How soon a refused create is repeated.
const REPEAT: Duration = Duration::from_millis(100);
/// The field manager of what is written.
const MANAGER: &str = "dispatch-conformance";
const PRIORITY: &str = "WorkloadPriorityClass";
const KUEUE: &str = "kueue.x-k8s.io/v1beta2";
const JOBSET: &str = "jobset.x-k8s.io/v1alpha2";
const TRAINER: &str = "trainer.kubeflow.org/v1alpha1";

fn resource(api_version: &str, kind: &str) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

type Proof = fn(&Result<DynamicObject, String>) -> bool;

/// An object for each manager, and how its webhook shows on it.
fn probes() -> [(&'static str, Value, Proof); 3] {
    let meta = |namespace: Option<&str>| match namespace {
        Some(namespace) => json!({ "name": "dispatch-readiness", "namespace": namespace }),
        None => json!({ "name": "dispatch-readiness" }),
    };
    let template = json!({ "spec": { "template": { "spec": {
        "restartPolicy": "Never",
        "containers": [{ "name": "none", "image": "none" }],
    } } } });
    [
        (
            KUEUE,
            json!({
                "apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": meta(None),
                "spec": { "namespaceSelector": {} },
            }),
            |answer| {
                let finalizers = answer.as_ref().ok().map(|object| &object.metadata.finalizers);
                finalizers.is_some_and(|f| f.as_ref().is_some_and(|f| !f.is_empty()))
            },
        ),
        (
            JOBSET,
            json!({
                "apiVersion": JOBSET, "kind": "JobSet", "metadata": meta(Some("default")),
                "spec": { "replicatedJobs": [{ "name": "none", "template": template }] },
            }),
            |answer| {
                let mode = "/spec/replicatedJobs/0/template/spec/completionMode";
                answer.as_ref().is_ok_and(|object| object.data.pointer(mode).is_some())
            },
        ),
        (
            TRAINER,
            json!({
                "apiVersion": TRAINER, "kind": "TrainJob", "metadata": meta(Some("default")),
                "spec": { "runtimeRef": { "name": "dispatch-readiness" } },
            }),
            |answer| answer.as_ref().is_err_and(|error| error.contains("validator.trainjob")),
        ),
    ]
}

fn has_condition(wanted: &'static str) -> impl Fn(Option<&DynamicObject>) -> bool {
    move |object: Option<&DynamicObject>| {
        let conditions = object.and_then(|o| o.data.pointer("/status/conditions")?.as_array());
        conditions.is_some_and(|all| all.iter().any(|condition| condition["type"] == wanted))
    }
}
