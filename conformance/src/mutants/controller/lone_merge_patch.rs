//! The controller that raises A with a JSON merge patch of dispatch's runtime patch.
//!
//! A merge patch replaces a list as a whole. Kueue's own entry goes with the others, and without it
//! Kueue never starts the job.

use std::sync::Arc;

use dispatch_admission::{
    Applied, Apply, At, Decision, Environment, LiveWriter, Parts, Raise, Snapshot,
};
use dispatch_contract::names;
use dispatch_contract::resources::TrainJob;
use dispatch_kubernetes::raise;
use dispatch_kubernetes::request::{Limits, Request, RequestError, send};
use futures::FutureExt;
use futures::future::BoxFuture;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "lone-merge-patch",
    about: "raises A with a JSON merge patch that carries dispatch's runtime patch alone",
    breaks: &["RG-05"],
    judged_by: &["start-gate/first-execution", "readmission/preemption-mid-execution"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    let Environment { client, limits, clock, .. } = environment.clone();
    let contract = LiveWriter::new(client.clone(), limits, clock);
    let apply = Arc::new(LoneMergePatch { client, limits, contract });
    Parts { apply, ..Parts::reference(environment) }
}

struct LoneMergePatch {
    client: Client,
    limits: Limits,
    contract: LiveWriter,
}

impl LoneMergePatch {
    /// The contract's body and precondition, sent as another kind of patch.
    async fn raise(
        &self,
        trainjob: &At<TrainJob>,
        decided: &Raise,
    ) -> Result<Applied, RequestError> {
        let Raise { to, jobs, raised_for, .. } = decided;
        let object = &trainjob.object;
        let body = raise::apply_body(object, jobs, *to, raised_for);
        let by = PatchParams {
            field_manager: Some(names::FIELD_MANAGER_RAISE.to_owned()),
            ..PatchParams::default()
        };
        let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
        let api = Api::<TrainJob>::namespaced(self.client.clone(), &namespace);
        let described = format!("{namespace}/{name}");
        let request = Request::new("patch", "trainjobs.trainer.kubeflow.org", described);
        let patch = Patch::Merge(body);
        let answer = send(self.limits, request, api.patch(&name, &by, &patch)).await?;
        Ok(match raise::check_answer(&answer, jobs, *to) {
            Ok(()) => {
                Applied::Raised { generation: answer.metadata.generation.unwrap_or_default() }
            }
            Err(altered) => Applied::Altered(altered),
        })
    }
}

impl Apply for LoneMergePatch {
    fn apply<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        decision: &'a Decision,
    ) -> BoxFuture<'a, Result<Applied, RequestError>> {
        match (decision, snapshot.object()) {
            (Decision::Raise(raise), Some(object)) => self.raise(&object.trainjob, raise).boxed(),
            _ => self.contract.apply(snapshot, decision),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::history::told::{Told, raise};
    use crate::mutants::told::breaks_its_own_rule_first;

    use super::*;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let history = Told::kueue()
            .waits()
            .trainjob(|it| {
                raise(it, 1);
                it["spec"]["runtimePatches"].as_array_mut().unwrap().remove(0);
            })
            .seconds(60)
            .history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
