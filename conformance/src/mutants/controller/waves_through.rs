//! The controller that holds up nobody whom it knows nothing of.
//!
//! It may not stand in the way of other people's jobs, and a job whose owner cannot be read may be
//! theirs. It may be dispatch's as well, and then nothing was raised and nothing was waited for.

use std::sync::Arc;

use dispatch_admission::{
    At, Environment, Gather, GatherError, LiveReader, Owner, Parts, ServedChecks, Snapshot,
    WorkloadKey,
};
use dispatch_contract::resources::Workload;
use dispatch_kubernetes::request::{Limits, Request, send_optional};
use futures::FutureExt;
use futures::future::BoxFuture;
use kube::{Api, Client};

use super::reader::{Differs, Reader};
use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "waves-through",
    about: "takes a Workload whose owner cannot be read for somebody else's, and lets it pass",
    breaks: &["RG-03"],
    judged_by: &["readmission/owner-unreadable"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    let Environment { client, limits, checks, .. } = environment.clone();
    let contract = LiveReader::new(client.clone(), limits, checks.clone());
    let gather = Reader(WavesThrough { client, limits, checks, contract });
    Parts { gather: Arc::new(gather), ..Parts::reference(environment) }
}

struct WavesThrough {
    client: Client,
    limits: Limits,
    checks: ServedChecks,
    contract: LiveReader,
}

impl WavesThrough {
    async fn read(&self, key: &WorkloadKey) -> Result<Option<Snapshot>, GatherError> {
        match self.contract.gather(key).await {
            Ok(Some(snapshot)) if matches!(snapshot.owner, Owner::Unreadable { .. }) => {
                Ok(Some(Snapshot { owner: Owner::Foreign, ..snapshot }))
            }
            Err(_) => self.as_foreign(key).await,
            read => read,
        }
    }

    async fn as_foreign(&self, key: &WorkloadKey) -> Result<Option<Snapshot>, GatherError> {
        let api = Api::<Workload>::namespaced(self.client.clone(), &key.namespace);
        let request = Request::new("get", "workloads.kueue.x-k8s.io", key.to_string());
        let found = send_optional(self.limits, request, api.get(&key.name)).await?;
        let Some(workload) = found.map(At::read).transpose()? else { return Ok(None) };
        let names = workload.object.checks().iter().map(|check| check.name.clone());
        let checks = names.filter(|name| self.checks.serves(name)).collect();
        Ok(Some(Snapshot { workload, checks, owner: Owner::Foreign, raised: None }))
    }
}

impl Differs for WavesThrough {
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
    use super::*;
    use crate::history::Kind;
    use crate::history::told::{ADAPTER, CONTROLLER, NAME, Told, ask};
    use crate::mutants::told::breaks_its_own_rule_first;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut told = Told::kueue();
        told.waits_by(ADAPTER).reads(CONTROLLER, Kind::Workload, "workload");
        told.request(ask(CONTROLLER, "get", Kind::TrainJob, NAME)).refused_instead(500);
        told.reads(CONTROLLER, Kind::Workload, "workload").sets_by(CONTROLLER, "Ready");
        let history = told.admits().resumes().pod("pod-1", "0").history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
