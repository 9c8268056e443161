//! The controller that raises the count and forgets the pods.
//!
//! The count is what dispatch reads, and the annotation in the runtime patch is what a pod reports.
//! Raised alone, the count promises a number that no pod carries.

use std::sync::Arc;

use dispatch_admission::{
    Applied, Apply, At, Decision, Environment, LiveWriter, Parts, Raise, Snapshot,
};
use dispatch_contract::names;
use dispatch_contract::resources::TrainJob;
use dispatch_kubernetes::request::{Limits, Request, RequestError, send};
use futures::FutureExt;
use futures::future::BoxFuture;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "count-alone",
    about: "raises the count of the TrainJob, and not the annotation of its pods",
    breaks: &["RG-05"],
    judged_by: &["start-gate/first-execution"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    let reference = Parts::reference(environment);
    let Environment { client, limits, clock, .. } = environment.clone();
    let contract = LiveWriter::new(client.clone(), limits, clock);
    Parts { apply: Arc::new(CountAlone { client, limits, contract }), ..reference }
}

struct CountAlone {
    client: Client,
    limits: Limits,
    contract: LiveWriter,
}

impl CountAlone {
    async fn raise(&self, read: &At<TrainJob>, raise: &Raise) -> Result<Applied, RequestError> {
        let object = &read.object;
        let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
        let body = json!({"metadata": {
            "resourceVersion": read.version(),
            "annotations": {names::ADMISSION_COUNT: raise.to.to_string()},
        }});
        let by = PatchParams {
            field_manager: Some(names::FIELD_MANAGER_RAISE.to_owned()),
            ..PatchParams::default()
        };
        let api = Api::<TrainJob>::namespaced(self.client.clone(), &namespace);
        let described = format!("{namespace}/{name}");
        let request = Request::new("patch", "trainjobs.trainer.kubeflow.org", described);
        let patch = Patch::Merge(body);
        let answer = send(self.limits, request, api.patch(&name, &by, &patch)).await?;
        Ok(Applied::Raised { generation: answer.metadata.generation.unwrap_or_default() })
    }
}

impl Apply for CountAlone {
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
    use crate::history::told::Told;
    use crate::mutants::told::breaks_its_own_rule_first;

    use super::*;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let history = Told::kueue()
            .waits()
            .trainjob(|it| {
                it["metadata"]["annotations"][names::ADMISSION_COUNT] = json!("1");
            })
            .history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
