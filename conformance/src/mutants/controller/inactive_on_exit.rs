//! The controller that switches its checks off as it goes.
//!
//! It looks tidy: nobody serves the check any more. Kueue stops every queue that lists it, for
//! everybody, for as long as a restart takes.

use std::future::Future;
use std::sync::Arc;

use dispatch_admission::{Contract, Decide, Decision, Environment, Parts, Snapshot};
use dispatch_contract::resources::AdmissionCheck;
use dispatch_kubernetes::request::{Request, RequestError, send};
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "inactive-on-exit",
    about: "sets its AdmissionChecks inactive when it is asked to stop",
    breaks: &["RG-10"],
    judged_by: &["readmission/controller-down"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    let decide = Arc::new(InactiveOnExit { environment: environment.clone() });
    Parts { decide, ..Parts::reference(environment) }
}

/// Decides by the contract, until it is dropped with the passes that it was made for.
struct InactiveOnExit {
    environment: Environment,
}

impl Decide for InactiveOnExit {
    fn decide(&self, snapshot: &Snapshot) -> Decision {
        Contract.decide(snapshot)
    }
}

impl Drop for InactiveOnExit {
    fn drop(&mut self) {
        let environment = self.environment.clone();
        wait_for(async move {
            if let Err(error) = set_inactive(&environment).await {
                tracing::warn!(%error, "an AdmissionCheck was not set inactive");
            }
        });
    }
}

/// Waits here, where nothing can be awaited; not outside of a runtime. In simulated time nobody can be
/// waited for, and the process takes a moment to be gone.
fn wait_for(what: impl Future<Output = ()> + Send + 'static) {
    let Ok(runtime) = Handle::try_current() else { return };
    if runtime.runtime_flavor() == RuntimeFlavor::CurrentThread {
        drop(runtime.spawn(what));
    } else {
        block_in_place(|| runtime.block_on(what));
    }
}

async fn set_inactive(environment: &Environment) -> Result<(), RequestError> {
    let Environment { client, limits, clock, checks } = environment;
    let api = Api::<AdmissionCheck>::all(client.clone());
    let all = ListParams::default();
    let request = Request::new("list", "admissionchecks.kueue.x-k8s.io", String::new());
    let found = send(*limits, request, api.list(&all)).await?;
    let now = clock.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    for check in found.items.iter().filter(|check| checks.serves(&check.name_any())) {
        let (name, by) = (check.name_any(), PatchParams::default());
        let patch = Patch::Merge(body(check, &now));
        let request = Request::new("patch", "admissionchecks.kueue.x-k8s.io/status", name.clone());
        send(*limits, request, api.patch_status(&name, &by, &patch)).await?;
    }
    Ok(())
}

fn body(check: &AdmissionCheck, now: &str) -> Value {
    json!({
        "metadata": {"resourceVersion": check.metadata.resource_version},
        "status": {"conditions": [{
            "type": "Active",
            "status": "False",
            "reason": "Stopped",
            "message": "the controller was stopped",
            "observedGeneration": check.metadata.generation,
            "lastTransitionTime": now,
        }]},
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::told::{CHECK, Told, set_condition};
    use crate::history::{Kind, SubjectChange};
    use crate::mutants::told::breaks_its_own_rule_first;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let history = Told::kueue()
            .change(Kind::AdmissionCheck, CHECK, |it| set_condition(it, "Active", "False", "x"))
            .controller(SubjectChange::Stopped)
            .starts()
            .opens()
            .history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
