//! What is needed to train on a cluster, and what is seen of it there.

use super::PATIENCE;
use futures::TryStreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use serde_json::{Value, json};

fn api(client: &Client, api_version: &str, kind: &str, namespaced: bool) -> Api<DynamicObject> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    if namespaced {
        Api::namespaced_with(client.clone(), "default", &resource)
    } else {
        Api::all_with(client.clone(), &resource)
    }
}

async fn create(client: &Client, namespaced: bool, object: Value) {
    let text = |key: &str| object[key].as_str().unwrap().to_owned();
    let api = api(client, &text("apiVersion"), &text("kind"), namespaced);
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
}

/// A queue, a runtime and a node.
/// Makes a queue with room for some jobs, a runtime and a node.
pub(super) async fn prepare(client: &Client) {
    let kueue = "kueue.x-k8s.io/v1beta2";
    let named = json!({ "name": "a" });
    create(
        client,
        false,
        json!({
            "apiVersion": kueue, "kind": "ResourceFlavor", "metadata": named,
        }),
    )
    .await;
    create(client, false, json!({
        "apiVersion": kueue, "kind": "ClusterQueue", "metadata": named,
        "spec": { "namespaceSelector": {}, "resourceGroups": [{
            "coveredResources": ["cpu"],
            "flavors": [{ "name": "a", "resources": [{ "name": "cpu", "nominalQuota": "10" }] }],
        }] },
    }))
    .await;
    create(
        client,
        true,
        json!({
            "apiVersion": kueue, "kind": "LocalQueue", "metadata": named,
            "spec": { "clusterQueue": "a" },
        }),
    )
    .await;
    let containers = json!([{
        "name": "node", "image": "none", "resources": { "requests": { "cpu": "1" } },
    }]);
    let step = json!({ "trainer.kubeflow.org/trainjob-ancestor-step": "trainer" });
    create(
        client,
        false,
        json!({
            "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime",
            "metadata": named,
            "spec": { "mlPolicy": { "numNodes": 1 }, "template": { "spec": { "replicatedJobs": [{
                "name": "node",
                "template": {
                    "metadata": { "labels": step },
                    "spec": { "template": { "spec": { "containers": containers } } },
                },
            }] } } },
        }),
    )
    .await;
    create(client, false, json!({ "apiVersion": "v1", "kind": "Node", "metadata": named })).await;
    let room = json!({ "cpu": "8", "memory": "8Gi", "pods": "100" });
    let status = json!({ "status": {
        "allocatable": room, "capacity": room,
        "conditions": [{ "type": "Ready", "status": "True", "reason": "Test", "message": "" }],
    } });
    let nodes = api(client, "v1", "Node", false);
    nodes.patch_status("a", &PatchParams::default(), &Patch::Merge(&status)).await.unwrap();
}

/// Creates a TrainJob with one pod.
pub(super) async fn train(client: &Client, name: &str, gated: bool) {
    let gate = json!({ "kueue.x-k8s.io/admission-gated-by": "example.com/gate" });
    create(
        client,
        true,
        json!({
            "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
            "metadata": {
                "name": name,
                "labels": { "kueue.x-k8s.io/queue-name": "a" },
                "annotations": if gated { gate } else { json!({}) },
            },
            "spec": { "runtimeRef": { "name": "a" } },
        }),
    )
    .await;
}

/// Waits until a pod of a TrainJob is on a node.
pub(super) async fn pod_of(client: &Client, trainjob: &str) {
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    let prefix = format!("{trainjob}-");
    let bound = watcher(pods, watcher::Config::default()).applied_objects().try_filter(|pod| {
        let ours = pod.metadata.name.as_deref().is_some_and(|name| name.starts_with(&prefix));
        let bound = pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
        std::future::ready(ours && bound)
    });
    first(bound, &format!("a bound pod of {trainjob}")).await;
}

/// Waits until a Workload says that it is gated.
pub(super) async fn gated_workload(client: &Client) {
    let workloads = api(client, "kueue.x-k8s.io/v1beta2", "Workload", true);
    let gated = watcher(workloads, watcher::Config::default()).applied_objects().try_filter(|w| {
        let conditions = w.data.pointer("/status/conditions").and_then(Value::as_array);
        let mut all = conditions.into_iter().flatten();
        std::future::ready(all.any(|condition| condition["reason"] == "AdmissionGated"))
    });
    first(gated, "a gated Workload").await;
}

async fn first<T>(stream: impl futures::Stream<Item = Result<T, watcher::Error>>, what: &str) {
    let mut stream = std::pin::pin!(stream);
    let seen = tokio::time::timeout(PATIENCE, stream.try_next()).await;
    let seen = seen.unwrap_or_else(|_| panic!("{what} did not come"));
    assert!(seen.unwrap().is_some(), "the watch ended before {what}");
}
