//! The controller that decides while the job still queues.
//!
//! Nothing of it runs, so that A can as well be raised now: the job starts the sooner. The Ready stays
//! on the Workload, and what happens until quota comes is not looked at any more.

use std::sync::Arc;

use dispatch_admission::{
    At, Environment, Gather, GatherError, LiveReader, Object, Owner, Parts, Snapshot, WorkloadKey,
};
use dispatch_contract::resources::{Condition, TrainJob, Workload};
use dispatch_kubernetes::owned;
use dispatch_kubernetes::request::{Limits, Request, send_optional};
use futures::FutureExt;
use futures::future::BoxFuture;
use kube::{Api, Client};

use super::reader::{Differs, Reader};
use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "early-ready",
    about: "raises A and sets the check Ready before quota is reserved",
    breaks: &["RG-08"],
    judged_by: &["readmission/queued-behind-another"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    let Environment { client, limits, checks, .. } = environment.clone();
    let contract = LiveReader::new(client.clone(), limits, checks);
    let gather = Reader(EarlyReady { client, limits, contract });
    Parts { gather: Arc::new(gather), ..Parts::reference(environment) }
}

struct EarlyReady {
    client: Client,
    limits: Limits,
    contract: LiveReader,
}

impl EarlyReady {
    async fn read(&self, key: &WorkloadKey) -> Result<Option<Snapshot>, GatherError> {
        let Some(mut snapshot) = self.contract.gather(key).await? else { return Ok(None) };
        let above = snapshot.workload.object.controller_owner().cloned();
        let above = above.filter(|owner| owner.kind == "TrainJob" && queues(&snapshot));
        let Some(owner) = above else { return Ok(Some(snapshot)) };
        let api = Api::<TrainJob>::namespaced(self.client.clone(), &key.namespace);
        let described = format!("{}/{}", key.namespace, owner.name);
        let request = Request::new("get", "trainjobs.trainer.kubeflow.org", described);
        let found = send_optional(self.limits, request, api.get(&owner.name)).await?;
        let found = found.map(At::read).transpose()?;
        let found = found.filter(|it| it.uid() == owner.uid && it.object.is_dispatch());
        if let Some(trainjob) = found {
            let below = owned::read(&self.client, self.limits, &trainjob.object).await?;
            snapshot.owner =
                Owner::Dispatch(Box::new(Object { trainjob, runtime: None, owned: below }));
            pretend(&mut snapshot.workload.object);
        }
        Ok(Some(snapshot))
    }
}

/// Whether it has a check of this controller's, and neither quota nor an end.
fn queues(snapshot: &Snapshot) -> bool {
    let workload = &snapshot.workload.object;
    let stands = ["QuotaReserved", "Admitted", "Finished"].iter().any(|it| workload.is(it));
    !stands && !snapshot.checks.is_empty()
}

/// As if it had quota.
fn pretend(workload: &mut Workload) {
    let conditions = &mut workload.status.get_or_insert_default().conditions;
    conditions.retain(|condition| condition.type_ != "QuotaReserved");
    conditions.push(Condition {
        type_: "QuotaReserved".to_owned(),
        status: "True".to_owned(),
        ..Condition::default()
    });
}

impl Differs for EarlyReady {
    fn contract(&self) -> &LiveReader {
        &self.contract
    }

    fn may_concern(&self, _: &Workload) -> bool {
        true
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
    use dispatch_admission::{Contract, Decide, Decision};

    use super::*;
    use crate::history::told::Told;
    use crate::mutants::told::{breaks_its_own_rule_first, quiet};

    #[test]
    fn it_raises_while_the_contract_leaves_the_job_to_its_queue() {
        let mut seen = quiet();
        let conditions = &mut seen.workload.object.status.get_or_insert_default().conditions;
        conditions.retain(|condition| condition.type_ != "QuotaReserved");
        assert!(queues(&seen));
        assert!(matches!(Contract.decide(&seen), Decision::Nothing(_)));
        pretend(&mut seen.workload.object);
        assert!(matches!(Contract.decide(&seen), Decision::Raise(_)));
    }

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut told = Told::kueue();
        told.starts().opens().raises(1).takes_over(1).sets("Ready").seconds(11);
        let history = told.reserves().admits().resumes().pod("pod-1", "1").history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
