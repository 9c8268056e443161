//! The stand-in kubelet: virtual nodes whose pods run, end and linger exactly when a scenario says.
//!
//! It owns Node objects of its own, labelled and tainted as virtual, so that nothing is scheduled
//! to them by chance; it keeps them Ready and their Leases fresh; and it moves the pods of one
//! namespace that are bound to them: what else gets there, since it tolerates everything, is not its
//! own. No container is ever started. It works on every cluster, and everything that it
//! does is seen in the history as versions of pods.

mod decide;
mod node;
mod nodes;
mod pods;
mod policy;
mod status;

use std::sync::Arc;

use dispatch_contract::Clock;
use dispatch_kubernetes::request::RequestError;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::task::JoinSet;

pub use decide::{Action, decide};
pub use node::{NodeSet, VIRTUAL};
pub(crate) use policy::job_of;
pub use policy::{Ending, PodPolicy, Policies};

/// A stand-in kubelet at work. When it is dropped it stops working and leaves its nodes behind, for
/// [`remove`].
pub struct Kubelet {
    policies: watch::Sender<Policies>,
    /// Ended when dropped.
    tasks: JoinSet<()>,
}

impl Kubelet {
    /// Makes the nodes, which are Ready when this returns, and starts to run what is bound to them of
    /// a namespace.
    pub async fn start(
        client: Client,
        nodes: NodeSet,
        namespace: &str,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, RequestError> {
        let uids = nodes::create(&client, &nodes, &*clock).await?;
        let mut kubelet = Self::take_over(&client, &nodes, namespace, &clock);
        kubelet.tasks.spawn(nodes::keep_alive(client, nodes, uids, clock));
        Ok(kubelet)
    }

    /// Runs what is bound to nodes whose kubelet is gone. It makes no nodes, and lets those that there
    /// are grow old.
    pub fn take_over(
        client: &Client,
        nodes: &NodeSet,
        namespace: &str,
        clock: &Arc<dyn Clock>,
    ) -> Self {
        let (policies, wanted) = watch::channel(Policies::default());
        let tasks = nodes.node_names().into_iter().map(|node| {
            let api = Api::<Pod>::namespaced(client.clone(), namespace);
            pods::serve(api, node, wanted.clone(), Arc::clone(clock))
        });
        Self { policies, tasks: tasks.collect() }
    }

    /// Sets whether the pods of a job linger in Terminating, those to come included. The job is named
    /// as in the cluster.
    pub fn linger(&self, job: &str, lingers: bool) {
        self.policies.send_modify(|policies| policies.linger(job, lingers));
    }

    /// Ends the containers of these pods, known by their UIDs.
    pub fn end(&self, pod_uids: Vec<String>, ending: Ending) {
        self.policies.send_modify(|policies| {
            for uid in pod_uids {
                policies.end(uid, ending);
            }
        });
    }

    /// Lets every pod go: from now on none lingers, so that everything can be removed.
    pub fn let_all_go(&self) {
        self.policies.send_modify(|policies| *policies = Policies::default());
    }
}

/// Removes the nodes of a set and their Leases; what is gone already is no error.
pub async fn remove(client: &Client, nodes: &NodeSet) -> Result<(), RequestError> {
    nodes::remove(client, nodes).await
}
