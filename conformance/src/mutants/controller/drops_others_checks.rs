//! The controller that writes the list of checks as if it were its own.
//!
//! A JSON merge patch replaces a list as a whole. The entries of other checks are gone until Kueue adds
//! them again, and what their controllers had said is forgotten.

use std::sync::Arc;

use dispatch_admission::{Applied, Apply, Decision, Environment, LiveWriter, Parts, Snapshot};
use dispatch_contract::resources::Workload;
use dispatch_contract::{AdmissionCount, Clock, names};
use dispatch_kubernetes::request::{Limits, Request, RequestError, send};
use futures::FutureExt;
use futures::future::BoxFuture;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "drops-others-checks",
    about: "sets the check Ready by a JSON merge patch of the list that carries its own alone",
    breaks: &["RG-11"],
    judged_by: &["readmission/foreign-check"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    let reference = Parts::reference(environment);
    let Environment { client, limits, clock, .. } = environment.clone();
    let contract = LiveWriter::new(client.clone(), limits, Arc::clone(&clock));
    Parts { apply: Arc::new(DropsOthersChecks { client, limits, clock, contract }), ..reference }
}

struct DropsOthersChecks {
    client: Client,
    limits: Limits,
    clock: Arc<dyn Clock>,
    contract: LiveWriter,
}

impl DropsOthersChecks {
    async fn ready(&self, snapshot: &Snapshot, a: AdmissionCount) -> Result<Applied, RequestError> {
        let workload = &snapshot.workload.object;
        let (namespace, name) = (workload.namespace().unwrap_or_default(), workload.name_any());
        let now = self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let patch = Patch::Merge(body(snapshot, a, &now));
        let api = Api::<Workload>::namespaced(self.client.clone(), &namespace);
        let by = PatchParams {
            field_manager: Some(names::FIELD_MANAGER_ADMISSION.to_owned()),
            ..PatchParams::default()
        };
        let described = format!("{namespace}/{name}");
        let request = Request::new("patch", "workloads.kueue.x-k8s.io/status", described);
        send(self.limits, request, api.patch_status(&name, &by, &patch)).await?;
        Ok(Applied::Written)
    }
}

fn body(snapshot: &Snapshot, a: AdmissionCount, now: &str) -> Value {
    let checks: Vec<_> = snapshot
        .own_checks()
        .map(|check| {
            json!({"name": check.name, "state": "Ready", "message": format!("A={a}"),
                "lastTransitionTime": now})
        })
        .collect();
    json!({
        "metadata": {"resourceVersion": snapshot.workload.version()},
        "status": {"admissionChecks": checks},
    })
}

impl Apply for DropsOthersChecks {
    fn apply<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        decision: &'a Decision,
    ) -> BoxFuture<'a, Result<Applied, RequestError>> {
        match decision {
            Decision::Approve { a, .. } => self.ready(snapshot, *a).boxed(),
            _ => self.contract.apply(snapshot, decision),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Kind;
    use crate::history::told::{ADAPTER, CONTROLLER, Told, ask, check_body, set_check};
    use crate::mutants::told::{breaks_its_own_rule_first, foreign_check, quiet};

    #[test]
    fn its_write_has_the_version_and_its_own_entry_alone() {
        let body = body(&quiet(), AdmissionCount::new(2).unwrap(), "2026-01-01T00:00:00Z");
        assert_eq!(body["metadata"]["resourceVersion"], "9");
        assert_eq!(body["status"]["admissionChecks"].as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut told = Told::kueue();
        foreign_check(told.waits_by(ADAPTER)).looks(CONTROLLER);
        told.raises_by(CONTROLLER, 1).takes_over(1).looks_below(CONTROLLER);
        told.reads(CONTROLLER, Kind::Workload, "workload");
        let body = told.body(Kind::Workload, "workload", check_body("Ready"));
        let ready = ask(CONTROLLER, "patch", Kind::Workload, "workload").on_status().with(body);
        told.writes(ready, |it| {
            set_check(it, "Ready", "A=1");
            it["status"]["admissionChecks"].as_array_mut().unwrap().truncate(1);
        });
        breaks_its_own_rule_first(&MUTANT, &told.history());
    }
}
