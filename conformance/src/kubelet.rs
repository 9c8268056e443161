//! The stand-in kubelet: virtual nodes whose pods run, end and linger exactly when a scenario says.
//!
//! It owns Node objects of its own, labelled and tainted as virtual, so that nothing is scheduled
//! to them by chance; it keeps them Ready and their Leases fresh; and it moves the pods that are
//! bound to them. No container is ever started. It works on every cluster, and everything that it
//! does is seen in the history as versions of pods.

mod decide;
mod error;
mod node;
mod nodes;
mod pods;
mod policy;
mod status;

use std::sync::Arc;

use dispatch_contract::Clock;
use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinSet;

pub use decide::{Action, decide};
pub use error::KubeletError;
pub use node::{NodeSet, VIRTUAL};
pub use policy::{Ending, PodPolicy, Policies};

/// A stand-in kubelet at work. Its nodes stay until [`Kubelet::stop`]; when it is dropped it stops
/// working and leaves them behind.
pub struct Kubelet {
    client: Client,
    nodes: NodeSet,
    policies: watch::Sender<Policies>,
    /// Ended when dropped.
    _tasks: JoinSet<()>,
}

impl Kubelet {
    /// Makes the nodes, which are Ready when this returns, and starts to run what is bound to them.
    pub async fn start(
        client: Client,
        nodes: NodeSet,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, KubeletError> {
        nodes::create(&client, &nodes, &*clock).await?;
        let (policies, wanted) = watch::channel(Policies::default());
        let mut tasks = JoinSet::new();
        tasks.spawn(nodes::keep_alive(client.clone(), nodes.clone(), Arc::clone(&clock)));
        for node in nodes.node_names() {
            tasks.spawn(pods::serve(client.clone(), node, wanted.clone(), Arc::clone(&clock)));
        }
        Ok(Self { client, nodes, policies, _tasks: tasks })
    }

    /// Changes what is wanted of the pods of a job, named as the cluster names it.
    pub fn want(&self, job: &str, change: impl FnOnce(&mut PodPolicy)) {
        self.policies.send_modify(|policies| change(policies.of(job)));
    }

    /// Lets every pod go: from now on none lingers, so that everything can be removed.
    pub fn let_all_go(&self) {
        self.policies.send_modify(|policies| *policies = Policies::default());
    }

    /// Stops working and removes the nodes and their Leases.
    pub async fn stop(self) -> Result<(), KubeletError> {
        let Self { client, nodes, .. } = self;
        nodes::remove(&client, &nodes).await
    }
}
