//! The controller that looks whether the cluster has room before it raises.
//!
//! It works for its author, who is an administrator. With the role that it ships it may not list nodes,
//! and goes on without; on a cluster whose audit counts refusals it is the noisiest thing there.

use std::sync::Arc;

use dispatch_admission::{
    Environment, Gather, GatherError, LiveReader, Parts, Snapshot, WorkloadKey,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Node;
use kube::api::ListParams;
use kube::{Api, Client};

use super::reader::{Differs, Reader};
use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "looks-at-nodes",
    about: "lists the nodes before each decision, which its role does not let it",
    breaks: &["RT-01"],
    judged_by: &["calls/right-missing"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    let Environment { client, limits, checks, .. } = environment.clone();
    let contract = LiveReader::new(client.clone(), limits, checks);
    let gather = Reader(LooksAtNodes { client, contract });
    Parts { gather: Arc::new(gather), ..Parts::reference(environment) }
}

struct LooksAtNodes {
    client: Client,
    contract: LiveReader,
}

impl Differs for LooksAtNodes {
    fn contract(&self) -> &LiveReader {
        &self.contract
    }

    fn gather<'a>(
        &'a self,
        workload: &'a WorkloadKey,
    ) -> BoxFuture<'a, Result<Option<Snapshot>, GatherError>> {
        async move {
            let nodes = Api::<Node>::all(self.client.clone()).list(&ListParams::default()).await;
            tracing::debug!(known = nodes.is_ok(), "the nodes");
            self.contract.gather(workload).await
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::told::{CONTROLLER, Told, ask};
    use crate::history::{Kind, Request};
    use crate::mutants::told::breaks_its_own_rule_first;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let refused = "nodes is forbidden: User \"system:serviceaccount:ns:controller\" cannot list \
                       resource \"nodes\" in API group \"\" at the cluster scope";
        let mut told = Told::kueue();
        let of_pods = ask(CONTROLLER, "list", Kind::Pod, "");
        let request = Request { resource: "nodes".to_owned(), namespace: None, ..of_pods };
        told.request(request).sent();
        told.refused(403, "Forbidden", refused);
        breaks_its_own_rule_first(&MUTANT, &told.history());
    }
}
