//! The controller that puts A back when its Ready was refused.
//!
//! No execution seems to have used the number, and skipping it looks like waste. Whether anything ran
//! under it in between is not known to whoever was refused.

use std::sync::Arc;

use dispatch_admission::{
    Applied, Apply, Decision, Environment, LiveWriter, Parts, Raise, Snapshot,
};
use dispatch_contract::resources::TrainJob;
use dispatch_contract::{AdmissionCount, names};
use dispatch_kubernetes::raise;
use dispatch_kubernetes::request::{Limits, Outcome, Request, RequestError, send};
use futures::FutureExt;
use futures::future::BoxFuture;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::Value;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "takes-the-raise-back",
    about: "lowers A again when its Ready was refused",
    breaks: &["EX-03"],
    judged_by: &["readmission/frozen-before-ready"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    let reference = Parts::reference(environment);
    let Environment { client, limits, clock, .. } = environment.clone();
    let contract = LiveWriter::new(client.clone(), limits, clock);
    Parts { apply: Arc::new(TakesTheRaiseBack { client, limits, contract }), ..reference }
}

struct TakesTheRaiseBack {
    client: Client,
    limits: Limits,
    contract: LiveWriter,
}

impl TakesTheRaiseBack {
    async fn ready(
        &self,
        snapshot: &Snapshot,
        decision: &Decision,
    ) -> Result<Applied, RequestError> {
        let applied = self.contract.apply(snapshot, decision).await;
        let refused = applied.as_ref().is_err_and(|error| error.outcome == Outcome::Conflict);
        if let (true, Some(object), Some(raised)) = (refused, snapshot.object(), &snapshot.raised) {
            self.lower(&object.trainjob.object, &raised.raise).await?;
        }
        applied
    }

    /// By every rule of a raise, but for the number.
    async fn lower(&self, read: &TrainJob, made: &Raise) -> Result<(), RequestError> {
        let (namespace, name) = (read.namespace().unwrap_or_default(), read.name_any());
        let api = Api::<TrainJob>::namespaced(self.client.clone(), &namespace);
        let described = format!("{namespace}/{name}");
        let get = Request::new("get", "trainjobs.trainer.kubeflow.org", described.clone());
        let now = send(self.limits, get, api.get(&name)).await?;
        let Some(body) = lower_body(&now, made) else { return Ok(()) };
        let by = PatchParams::apply(names::FIELD_MANAGER_RAISE).force();
        let patch = Request::new("patch", "trainjobs.trainer.kubeflow.org", described);
        send(self.limits, patch, api.patch(&name, &by, &Patch::Apply(body))).await?;
        Ok(())
    }
}

/// Where A is still what was raised to: what it was before.
fn lower_body(trainjob: &TrainJob, made: &Raise) -> Option<Value> {
    let a = trainjob.admission_count()?.ok().filter(|a| *a == made.to)?;
    let before = AdmissionCount::new(a.get().checked_sub(1)?)?;
    Some(raise::apply_body(trainjob, &made.jobs, before, &made.raised_for))
}

impl Apply for TakesTheRaiseBack {
    fn apply<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        decision: &'a Decision,
    ) -> BoxFuture<'a, Result<Applied, RequestError>> {
        match decision {
            Decision::Approve { .. } => self.ready(snapshot, decision).boxed(),
            _ => self.contract.apply(snapshot, decision),
        }
    }
}

#[cfg(test)]
mod tests {
    use dispatch_admission::{Contract, Decide};

    use super::*;
    use crate::history::told::{Told, raise};
    use crate::mutants::told::{breaks_its_own_rule_first, quiet};

    #[test]
    fn it_goes_down_by_one_from_its_own_raise_alone() {
        let seen = quiet();
        let Decision::Raise(made) = Contract.decide(&seen) else { panic!("it is raised") };
        let mut trainjob = seen.object().unwrap().trainjob.object.clone();
        assert!(lower_body(&trainjob, &made).is_none());
        trainjob.annotations_mut().insert(names::ADMISSION_COUNT.to_owned(), made.to.to_string());
        let body = lower_body(&trainjob, &made).unwrap();
        assert_eq!(body["metadata"]["annotations"][names::ADMISSION_COUNT], "1");
    }

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let history = Told::kueue()
            .runs()
            .is_preempted(1)
            .reserves()
            .raises(2)
            .takes_over(2)
            .trainjob(|it| raise(it, 1))
            .history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
