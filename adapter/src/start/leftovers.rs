//! What an earlier object of the same name left behind (SG-07).

use dispatch_contract::resources::Workload;
use dispatch_contract::{CallError, ErrorKind};
use dispatch_kubernetes::owned::{self, Owned};
use kube::ResourceExt;

use crate::Adapter;
use crate::error::{fail, of_request};
use crate::workload::read_all;

/// Refuses a name that is not free: Kueue and Trainer match what they find by name, so that a new
/// object would get an old one's Workload, `JobSet` or pods.
pub(super) async fn check(adapter: &Adapter, name: &str) -> Result<(), CallError> {
    let workloads = read_all(adapter).await?;
    let (client, limits, namespace) = (adapter.client(), adapter.limits(), adapter.namespace());
    let below = owned::read_namespace(client, limits, namespace).await.map_err(of_request)?;
    let found = adapter.decisions().leftovers(name, &workloads, &below.of_name(name));
    if found.is_empty() {
        return Ok(());
    }
    let message = format!(
        "name: {name} is not free in {namespace}: an earlier object of the name left {}; try \
         again once they are gone, or take another name",
        found.join(", ")
    );
    Err(fail(ErrorKind::Refused, message, &["SG-07"]))
}

/// What is there of the name while there is no `TrainJob` of it, each thing by kind and name (SG-07).
pub fn found(name: &str, workloads: &[Workload], below: &Owned) -> Vec<String> {
    // Kueue names a Workload after its job, so one that lost its owner is still told by its name.
    let named_after_it = format!("trainjob-{name}-");
    let of_the_name = |workload: &&Workload| match workload.controller_owner() {
        Some(owner) => owner.kind == "TrainJob" && owner.name == name,
        None => workload.name_any().starts_with(&named_after_it),
    };
    let workloads = workloads.iter().filter(of_the_name);
    let mut found: Vec<_> = workloads.map(|w| format!("Workload {}", w.name_any())).collect();
    found.extend(below.jobset.iter().map(|jobset| format!("JobSet {}", jobset.name_any())));
    found.extend(below.jobs.iter().map(|job| format!("Job {}", job.name_any())));
    found.extend(below.pods.iter().map(|pod| format!("pod {}", pod.name_any())));
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn everything_that_carries_the_name_is_named() {
        let workload = |name: &str, owner: &str| -> Workload {
            serde_json::from_value(json!({"metadata": {"name": name, "ownerReferences": [
                {"apiVersion": "x", "kind": "TrainJob", "name": owner, "uid": "u",
                    "controller": true}]}}))
            .unwrap()
        };
        let below = Owned {
            jobset: serde_json::from_value(json!({"metadata": {"name": "t"}})).unwrap(),
            jobs: vec![serde_json::from_value(json!({"metadata": {"name": "t-node-0"}})).unwrap()],
            pods: vec![serde_json::from_value(json!({"metadata": {"name": "p"}})).unwrap()],
        };
        let orphan = serde_json::from_value(json!({"metadata": {"name": "trainjob-t-0a1b2"}}));
        let workloads = [workload("w", "t"), workload("other", "s"), orphan.unwrap()];
        assert_eq!(
            found("t", &workloads, &below),
            ["Workload w", "Workload trainjob-t-0a1b2", "JobSet t", "Job t-node-0", "pod p"]
        );
        assert_eq!(found("x", &workloads, &Owned::default()), Vec::<String>::new());
    }
}
