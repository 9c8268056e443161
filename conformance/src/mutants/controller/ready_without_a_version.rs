//! The controller whose Ready says nothing of what it was decided from.
//!
//! A status patch without a resourceVersion is taken whenever it comes. A replica that stood still
//! since then lets an execution start that nobody raised for.

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
    name: "ready-without-a-version",
    about: "sets the check Ready by a write that carries no resourceVersion",
    breaks: &["RG-06"],
    judged_by: &["readmission/frozen-before-ready", "readmission/stalled-leader-stale-ready"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    let reference = Parts::reference(environment);
    let Environment { client, limits, clock, .. } = environment.clone();
    let contract = LiveWriter::new(client.clone(), limits, Arc::clone(&clock));
    Parts { apply: Arc::new(ReadyWithoutAVersion { client, limits, clock, contract }), ..reference }
}

struct ReadyWithoutAVersion {
    client: Client,
    limits: Limits,
    clock: Arc<dyn Clock>,
    contract: LiveWriter,
}

impl ReadyWithoutAVersion {
    async fn ready(&self, snapshot: &Snapshot, a: AdmissionCount) -> Result<Applied, RequestError> {
        let workload = &snapshot.workload.object;
        let (namespace, name) = (workload.namespace().unwrap_or_default(), workload.name_any());
        let now = self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let body = body(snapshot, a, &now);
        let api = Api::<Workload>::namespaced(self.client.clone(), &namespace);
        let by = PatchParams::apply(names::FIELD_MANAGER_ADMISSION).force();
        let described = format!("{namespace}/{name}");
        let request = Request::new("patch", "workloads.kueue.x-k8s.io/status", described);
        send(self.limits, request, api.patch_status(&name, &by, &Patch::Apply(body))).await?;
        Ok(Applied::Written)
    }
}

/// The contract's write, but for the version.
fn body(snapshot: &Snapshot, a: AdmissionCount, now: &str) -> Value {
    let metadata = &snapshot.workload.object.metadata;
    let checks: Vec<_> = snapshot
        .own_checks()
        .map(|check| {
            json!({"name": check.name, "state": "Ready", "message": format!("A={a}"),
                "lastTransitionTime": now})
        })
        .collect();
    json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": metadata.name, "namespace": metadata.namespace, "uid": metadata.uid},
        "status": {"admissionChecks": checks},
    })
}

impl Apply for ReadyWithoutAVersion {
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
    use crate::history::told::{ADAPTER, CHECK, CONTROLLER, Told, ask, set_check};
    use crate::mutants::told::{breaks_its_own_rule_first, quiet};

    #[test]
    fn its_write_names_the_check_and_no_version() {
        let body = body(&quiet(), AdmissionCount::new(2).unwrap(), "2026-01-01T00:00:00Z");
        let check = &body["status"]["admissionChecks"][0];
        assert_eq!((&check["name"], &check["state"]), (&json!(CHECK), &json!("Ready")));
        assert_eq!(body["metadata"]["uid"], "w");
        assert!(body["metadata"].get("resourceVersion").is_none());
    }

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut told = Told::kueue();
        told.waits_by(ADAPTER).looks(CONTROLLER).raises_by(CONTROLLER, 1).takes_over(1);
        told.looks_below(CONTROLLER);
        // It stands still here, while Kueue evicts and gives quota again.
        told.evicts().unreserves().reserves();
        let a = AdmissionCount::new(1).unwrap();
        let ready = ask(CONTROLLER, "patch", Kind::Workload, "workload").on_status();
        told.writes(ready.with(body(&quiet(), a, "2026-01-01T00:00:00Z")), |it| {
            set_check(it, "Ready", "A=1");
        });
        let history = told.admits().resumes().pod("pod-1", "1").history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
