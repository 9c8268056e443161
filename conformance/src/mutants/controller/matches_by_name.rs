//! The controller that finds the job of a Workload by the name of its owner.
//!
//! Names are easier to come by than UIDs, and a JobSet has that of its TrainJob. A Workload that Kueue
//! made for the JobSet then passes for the job's own, and starts the job past its TrainJob.

use std::sync::Arc;

use dispatch_admission::{
    At, Environment, Gather, GatherError, LiveReader, Object, Owner, Parts, Snapshot, WorkloadKey,
};
use dispatch_contract::resources::TrainJob;
use dispatch_kubernetes::owned;
use dispatch_kubernetes::request::{Limits, Request, send_optional};
use futures::FutureExt;
use futures::future::BoxFuture;
use kube::{Api, Client};

use super::reader::{Differs, Reader};
use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "matches-by-name",
    about: "takes the TrainJob that has the name of a Workload's owner for that owner",
    breaks: &["RG-03"],
    judged_by: &["readmission/queue-label-removed"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    let Environment { client, limits, checks, .. } = environment.clone();
    let contract = LiveReader::new(client.clone(), limits, checks);
    let gather = Reader(MatchesByName { client, limits, contract });
    Parts { gather: Arc::new(gather), ..Parts::reference(environment) }
}

struct MatchesByName {
    client: Client,
    limits: Limits,
    contract: LiveReader,
}

impl MatchesByName {
    async fn read(&self, key: &WorkloadKey) -> Result<Option<Snapshot>, GatherError> {
        let Some(mut snapshot) = self.contract.gather(key).await? else { return Ok(None) };
        let above = snapshot.workload.object.controller_owner().cloned();
        let differs = matches!(snapshot.owner, Owner::Indirect { .. } | Owner::Unreadable { .. });
        let Some(owner) = above.filter(|_| differs) else { return Ok(Some(snapshot)) };
        let api = Api::<TrainJob>::namespaced(self.client.clone(), &key.namespace);
        let described = format!("{}/{}", key.namespace, owner.name);
        let request = Request::new("get", "trainjobs.trainer.kubeflow.org", described);
        let found = send_optional(self.limits, request, api.get(&owner.name)).await?;
        let found = found.map(At::read).transpose()?;
        if let Some(trainjob) = found.filter(|found| found.object.is_dispatch()) {
            let below = owned::read(&self.client, self.limits, &trainjob.object).await?;
            snapshot.owner =
                Owner::Dispatch(Box::new(Object { trainjob, runtime: None, owned: below }));
        }
        Ok(Some(snapshot))
    }
}

impl Differs for MatchesByName {
    fn contract(&self) -> &LiveReader {
        &self.contract
    }

    fn gather<'a>(
        &'a self,
        workload: &'a WorkloadKey,
    ) -> BoxFuture<'a, Result<Option<Snapshot>, GatherError>> {
        self.read(workload).boxed()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::history::Kind;
    use crate::history::told::{CHECK, NAME, Told};
    use crate::mutants::told::breaks_its_own_rule_first;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut told = Told::kueue();
        told.starts().opens().create(
            Kind::Workload,
            json!({"metadata": {"name": "second", "namespace": "ns", "uid": "uid-second",
                "ownerReferences": [{"apiVersion": "v1", "kind": "JobSet", "name": NAME,
                    "uid": "uid-jobset", "controller": true}]},
                "status": {
                    "conditions": [{"type": "QuotaReserved", "status": "True"}],
                    "admissionChecks": [{"name": CHECK, "state": "Pending", "message": ""}]}}),
        );
        told.raises(1).takes_over(1).change(Kind::Workload, "second", |it| {
            it["status"]["admissionChecks"][0]["state"] = json!("Ready");
        });
        breaks_its_own_rule_first(&MUTANT, &told.history());
    }
}
