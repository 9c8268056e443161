//! Removes everything that a scenario made, by the names that it has to itself: also what was
//! being made when the scenario was ended.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::join_all;
use kube::Client;

use super::api::{Named, delete, gone};
use super::fixture::Rights;
use super::{Host, Names};
use crate::kubelet;
use crate::scenario::Priority;

/// How long the namespace may take to go, with everything in it.
const NAMESPACE_LIMIT: Duration = Duration::from_secs(90);

/// How long anything else may take to go, once nothing uses it.
const OBJECT_LIMIT: Duration = Duration::from_secs(20);

/// The API version of Kueue's kinds.
const KUEUE: &str = "kueue.x-k8s.io/v1beta2";

/// Removes all of it; gives what could not be removed, and why.
///
/// The virtual nodes go last: their kubelet has to end the pods that are in the namespace.
pub(super) async fn teardown(
    host: &dyn Host,
    client: &Client,
    names: &Names,
    rights: &[Rights],
    gates: &BTreeMap<String, bool>,
) -> Vec<String> {
    let mut left = Vec::new();
    if host.feature_gates() != *gates
        && let Err(error) = host.set_feature_gates(gates).await
    {
        left.push(format!("Kueue's feature gates could not be put back: {error}"));
    }
    for stage in in_order(names, rights) {
        let removed = join_all(stage.iter().map(|(named, limit)| remove(client, named, *limit)));
        left.extend(removed.await.into_iter().flatten());
    }
    if let Err(error) = kubelet::remove(client, &names.nodes()).await {
        left.push(error.to_string());
    }
    left
}

/// What is removed, in an order in which nothing is removed that is still in use.
fn in_order(names: &Names, rights: &[Rights]) -> Vec<Vec<(Named, Duration)>> {
    let kueue = |kind, name| (Named::cluster(KUEUE, kind, name), OBJECT_LIMIT);
    let namespace = Named::cluster("v1", "Namespace", names.namespace());
    let mut unused = vec![
        kueue("AdmissionCheck", names.admission_check()),
        kueue("ResourceFlavor", names.flavor()),
    ];
    let priorities = [Priority::Low, Priority::High];
    unused.extend(priorities.map(|it| kueue("WorkloadPriorityClass", names.priority_class(it))));
    unused.extend(rights.iter().flat_map(Rights::cluster_wide).map(|named| (named, OBJECT_LIMIT)));
    vec![
        vec![(namespace, NAMESPACE_LIMIT)],
        vec![kueue("ClusterQueue", names.cluster_queue())],
        unused,
    ]
}

/// Removes one object; says so if it is left.
async fn remove(client: &Client, named: &Named, limit: Duration) -> Option<String> {
    let Named { kind, name, .. } = named;
    match delete(client, named).await {
        Ok(None) => None,
        Ok(Some(uid)) if gone(client, named, &uid, limit).await => None,
        Ok(Some(_)) => {
            Some(format!("{kind} {name} was deleted and is still there after {limit:?}"))
        }
        Err(error) => Some(error.to_string()),
    }
}
