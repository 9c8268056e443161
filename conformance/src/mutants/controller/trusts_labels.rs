//! The controller that takes whatever carries dispatch's label for dispatch's.
//!
//! Labels are there to list by, and anybody can set them. Who decides by one writes A into somebody
//! else's job.

use std::collections::BTreeMap;
use std::sync::Arc;

use dispatch_admission::{
    At, Environment, Gather, GatherError, LiveReader, Object, Owner, Parts, Snapshot, WorkloadKey,
};
use dispatch_contract::names;
use dispatch_contract::resources::TrainJob;
use dispatch_kubernetes::owned;
use dispatch_kubernetes::request::{Limits, Request, send};
use futures::FutureExt;
use futures::future::BoxFuture;
use kube::{Api, Client, ResourceExt};

use super::reader::{Differs, Reader};
use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "trusts-labels",
    about: "takes a TrainJob with dispatch's label for dispatch's, and raises A in it",
    breaks: &["RG-03"],
    judged_by: &["readmission/foreign-workload"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    let Environment { client, limits, checks, .. } = environment.clone();
    let contract = LiveReader::new(client.clone(), limits, checks);
    let gather = Reader(TrustsLabels { client, limits, contract });
    Parts { gather: Arc::new(gather), ..Parts::reference(environment) }
}

struct TrustsLabels {
    client: Client,
    limits: Limits,
    contract: LiveReader,
}

impl TrustsLabels {
    async fn read(&self, key: &WorkloadKey) -> Result<Option<Snapshot>, GatherError> {
        let Some(mut snapshot) = self.contract.gather(key).await? else { return Ok(None) };
        let above = snapshot.workload.object.controller_owner().cloned();
        let above = above.filter(|owner| owner.kind == "TrainJob");
        if let (Owner::Foreign, Some(owner)) = (&snapshot.owner, above) {
            let api = Api::<TrainJob>::namespaced(self.client.clone(), &key.namespace);
            let described = format!("{}/{}", key.namespace, owner.name);
            let request = Request::new("get", "trainjobs.trainer.kubeflow.org", described);
            let mut found = send(self.limits, request, api.get(&owner.name)).await?;
            if found.labels().contains_key(names::MANAGED) {
                pretend(found.annotations_mut());
                let below = owned::read(&self.client, self.limits, &found).await?;
                let trainjob = At::read(found)?;
                let object = Object { trainjob, runtime: None, owned: below };
                snapshot.owner = Owner::Dispatch(Box::new(object));
            }
        }
        Ok(Some(snapshot))
    }
}

/// The marks that dispatch would have set.
fn pretend(annotations: &mut BTreeMap<String, String>) {
    annotations.insert(names::OPENED.to_owned(), names::TRUE.to_owned());
    annotations.insert(names::ADMISSION_COUNT.to_owned(), "0".to_owned());
}

impl Differs for TrustsLabels {
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
    use crate::history::Kind;
    use crate::mutants::told::{breaks_its_own_rule_first, foreign};
    use serde_json::json;

    use super::*;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let history = foreign()
            .change(Kind::TrainJob, "theirs", |it| {
                it["spec"]["runtimePatches"] = json!([{"manager": names::RUNTIME_PATCH_MANAGER}]);
            })
            .history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
