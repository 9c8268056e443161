//! Makes the virtual nodes, keeps them alive, removes them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dispatch_contract::Clock;
use dispatch_kubernetes::request::{Limits, Request, RequestError, send, send_optional};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use tokio::time::{MissedTickBehavior, interval};

use super::node::{self, NodeSet};

/// How often Leases and statuses are renewed, as a kubelet renews its Lease.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// The field manager of everything that the kubelet writes.
pub(super) const MANAGER: &str = "dispatch-conformance-kubelet";

/// The UIDs of nodes, by name.
pub(super) type Uids = BTreeMap<String, String>;

/// Creates every node, with its status and its Lease.
pub(super) async fn create(
    client: &Client,
    set: &NodeSet,
    clock: &dyn Clock,
) -> Result<Uids, RequestError> {
    let api = Api::<Node>::all(client.clone());
    let mut uids = Uids::new();
    for name in set.node_names() {
        let params =
            PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        let node = set.node(&name);
        let request = Request::new("create", "nodes", &name);
        let made = send(Limits::default(), request, api.create(&params, &node)).await?;
        let uid = made.uid().unwrap_or_default();
        beat(client, set, (&name, &uid), clock).await?;
        uids.insert(name, uid);
    }
    Ok(uids)
}

/// Renews every node's Lease and status until the future is dropped. A failure is logged: the next
/// beat makes up for it, well before a node counts as lost.
pub(super) async fn keep_alive(client: Client, set: NodeSet, uids: Uids, clock: Arc<dyn Clock>) {
    let mut beats = interval(HEARTBEAT);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    beats.tick().await;
    loop {
        beats.tick().await;
        for (name, uid) in &uids {
            if let Err(error) = beat(&client, &set, (name, uid), &*clock).await {
                tracing::warn!(
                    node = name,
                    error = &error as &dyn std::error::Error,
                    "missed a heartbeat"
                );
            }
        }
    }
}

/// Removes every node and its Lease; what is gone already is no error.
pub(super) async fn remove(client: &Client, set: &NodeSet) -> Result<(), RequestError> {
    let nodes = Api::<Node>::all(client.clone());
    let leases = Api::<Lease>::namespaced(client.clone(), node::LEASES);
    for name in set.node_names() {
        let params = DeleteParams::default();
        let request = Request::new("delete", "nodes", &name);
        send_optional(Limits::default(), request, nodes.delete(&name, &params)).await?;
        let request = Request::new("delete", "leases", &name);
        send_optional(Limits::default(), request, leases.delete(&name, &params)).await?;
    }
    Ok(())
}

async fn beat(
    client: &Client,
    set: &NodeSet,
    (name, uid): (&str, &str),
    clock: &dyn Clock,
) -> Result<(), RequestError> {
    let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    let apply = PatchParams::apply(MANAGER).force();
    let leases = Api::<Lease>::namespaced(client.clone(), node::LEASES);
    let lease = Patch::Apply(node::lease(name, uid, clock.now()));
    let request = Request::new("patch", "leases", name);
    send(Limits::default(), request, leases.patch(name, &apply, &lease)).await?;
    let nodes = Api::<Node>::all(client.clone());
    let status = Patch::Strategic(set.status(clock.now()));
    let request = Request::new("patch", "nodes/status", name);
    send(Limits::default(), request, nodes.patch_status(name, &params, &status)).await?;
    Ok(())
}
