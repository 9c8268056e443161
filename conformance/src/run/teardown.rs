//! Removes everything that a scenario made, by the names that it has to itself: also what was
//! being made when the scenario was ended.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::join_all;
use kube::Client;

use super::api::{Deleted, Named, delete, delete_all, gone, none_left};
use super::fixture::Rights;
use super::{Host, Names};
use crate::kubelet;
use crate::scenario::Priority;

/// How long jobs, pods and Workloads may take to go.
const JOBS_LIMIT: Duration = Duration::from_mins(1);

/// How long anything else may take to go, once nothing uses it.
const OBJECT_LIMIT: Duration = Duration::from_secs(20);

/// How long an empty namespace may take to go. The namespace controller alone waits for 5 s before
/// it looks at one that was deleted.
const NAMESPACE_LIMIT: Duration = Duration::from_mins(1);

/// The API version of Kueue's kinds.
const KUEUE: &str = "kueue.x-k8s.io/v1beta2";

/// What jobs are made of: deleted all at once, since their owners would make them again.
const JOBS: [(&str, &str); 3] = [
    ("trainer.kubeflow.org/v1alpha1", "TrainJob"),
    ("jobset.x-k8s.io/v1alpha2", "JobSet"),
    ("batch/v1", "Job"),
];

/// What keeps queues and nodes in use.
const USERS: [(&str, &str); 2] = [(KUEUE, "Workload"), ("v1", "Pod")];

/// A namespace that was deleted with everything in it, and takes its time to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaving {
    name: String,
    uid: String,
}

/// What a teardown left.
#[derive(Debug, Default)]
pub(super) struct Torn {
    /// What could not be removed, and why.
    pub(super) left: Vec<String>,
    /// What goes by itself.
    pub(super) leaving: Option<Leaving>,
}

/// Puts Kueue's feature gates back, and removes all that the scenario made.
pub(super) async fn teardown(
    host: &dyn Host,
    client: &Client,
    names: &Names,
    rights: &[Rights],
    gates: &BTreeMap<String, bool>,
) -> Torn {
    let gates_left = if host.feature_gates() == *gates {
        None
    } else {
        let put_back = host.set_feature_gates(gates).await;
        put_back.err().map(|error| format!("Kueue's feature gates could not be put back: {error}"))
    };
    let mut torn = remove_all(client, names, rights).await;
    torn.left.extend(gates_left);
    torn
}

/// Removes all that a scenario made.
///
/// The virtual nodes go last: their kubelet has to end the pods that are in the namespace.
pub(super) async fn remove_all(client: &Client, names: &Names, rights: &[Rights]) -> Torn {
    let mut torn = Torn::default();
    let namespace = Named::cluster("v1", "Namespace", names.namespace());
    match delete(client, &namespace).await {
        Ok(Deleted::Goes { uid }) => {
            torn.leaving = Some(Leaving { name: names.namespace(), uid });
        }
        Ok(Deleted::WasGone | Deleted::Gone) => {}
        Err(error) => torn.left.push(error.to_string()),
    }
    if torn.leaving.is_some() {
        torn.left.extend(jobs(client, &names.namespace()).await);
    }
    for stage in in_order(names, rights) {
        let removed = join_all(stage.iter().map(|named| remove(client, named)));
        torn.left.extend(removed.await.into_iter().flatten());
    }
    if let Err(error) = kubelet::remove(client, &names.nodes()).await {
        torn.left.push(error.to_string());
    }
    torn
}

/// Returns when namespaces that were left to go are gone; gives those that are not, and why.
pub async fn all_gone(client: &Client, leaving: &[Leaving]) -> Vec<String> {
    let waits = leaving.iter().map(|Leaving { name, uid }| {
        let client = client.clone();
        async move {
            let named = Named::cluster("v1", "Namespace", name.clone());
            let gone = gone(&client, &named, uid, NAMESPACE_LIMIT).await;
            (!gone).then(|| format!("namespace {name} is still there after {NAMESPACE_LIMIT:?}"))
        }
    });
    join_all(waits).await.into_iter().flatten().collect()
}

/// Removes the jobs of the namespace; gives what is left of them.
async fn jobs(client: &Client, namespace: &str) -> Vec<String> {
    let deleted = JOBS.map(|(api_version, kind)| delete_all(client, api_version, kind, namespace));
    let refused = join_all(deleted).await.into_iter().filter_map(Result::err);
    let mut left: Vec<_> = refused.map(|error| error.to_string()).collect();
    let went = USERS.map(|(api_version, kind)| async move {
        let none_left = none_left(client, api_version, kind, namespace);
        let went = tokio::time::timeout(JOBS_LIMIT, none_left).await;
        went.err().map(|_| format!("a {kind} in {namespace} is still there after {JOBS_LIMIT:?}"))
    });
    left.extend(join_all(went).await.into_iter().flatten());
    left
}

/// What is removed beside the namespace, in an order in which nothing is removed that is in use.
pub(super) fn in_order(names: &Names, rights: &[Rights]) -> Vec<Vec<Named>> {
    let kueue = |kind, name| Named::cluster(KUEUE, kind, name);
    let mut unused = vec![
        kueue("AdmissionCheck", names.admission_check()),
        kueue("AdmissionCheck", names.foreign_check()),
        kueue("ResourceFlavor", names.flavor()),
    ];
    let priorities = [Priority::Low, Priority::High];
    unused.extend(priorities.map(|it| kueue("WorkloadPriorityClass", names.priority_class(it))));
    unused.extend(rights.iter().flat_map(Rights::cluster_wide));
    vec![vec![kueue("ClusterQueue", names.cluster_queue())], unused]
}

/// Removes one object; says so if it is left.
async fn remove(client: &Client, named: &Named) -> Option<String> {
    let Named { kind, name, .. } = named;
    match delete(client, named).await {
        Ok(Deleted::WasGone | Deleted::Gone) => None,
        Ok(Deleted::Goes { uid }) if gone(client, named, &uid, OBJECT_LIMIT).await => None,
        Ok(Deleted::Goes { .. }) => {
            Some(format!("{kind} {name} was deleted and is still there after {OBJECT_LIMIT:?}"))
        }
        Err(error) => Some(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_removed_after_the_queue_that_lists_it() {
        let names = Names::new("r", 1);
        let stages = in_order(&names, &[]);
        let stage_of = |kind: &str| {
            stages.iter().position(|stage| stage.iter().any(|named| named.kind == kind)).unwrap()
        };
        for used in ["AdmissionCheck", "ResourceFlavor"] {
            assert!(stage_of("ClusterQueue") < stage_of(used), "{used}");
        }
    }

    #[test]
    fn everything_that_a_cluster_has_once_is_removed_by_its_own_name() {
        let names = Names::new("r", 1);
        let all = in_order(&names, &[]).concat();
        assert_eq!(all.len(), 6);
        assert!(all.iter().all(|named| named.name.ends_with(names.suffix())), "{all:?}");
    }
}
