//! Kueue's side of the readmission gate: the check, and the queue that has to name it (PF-06).

use dispatch_contract::CallError;
use dispatch_contract::resources::{
    AdmissionCheck, ClusterQueue, Conditions, LocalQueue, ResourceFlavor,
};
use dispatch_kubernetes::request::{Request, send_optional};
use k8s_openapi::NamespaceResourceScope;
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

use super::Findings;
use crate::Adapter;
use crate::error::of_request;

/// What was read of Kueue's administration.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Administration {
    /// The configured `AdmissionCheck`.
    pub(super) check: Option<AdmissionCheck>,
    /// The configured `LocalQueue`.
    pub(super) local_queue: Option<LocalQueue>,
    /// The `ClusterQueue` that it leads to.
    pub(super) cluster_queue: Option<ClusterQueue>,
    /// The flavors of that.
    pub(super) flavors: Vec<ResourceFlavor>,
}

/// Reads check and queue, and judges them.
pub(super) async fn check(adapter: &Adapter) -> Result<Findings, CallError> {
    let mut found = Administration {
        check: cluster_wide(adapter, "admissionchecks.kueue.x-k8s.io", adapter.check()).await?,
        ..Administration::default()
    };
    let queue = adapter.config().queue.as_deref();
    if let Some(queue) = queue {
        found.local_queue = namespaced(adapter, "localqueues.kueue.x-k8s.io", queue).await?;
    }
    if let Some(local) = &found.local_queue {
        let name = &local.spec.cluster_queue;
        found.cluster_queue = cluster_wide(adapter, "clusterqueues.kueue.x-k8s.io", name).await?;
    }
    for name in flavors(found.cluster_queue.as_ref()) {
        let flavor = cluster_wide(adapter, "resourceflavors.kueue.x-k8s.io", &name).await?;
        found.flavors.extend(flavor);
    }
    let config = adapter.config();
    Ok(judge(&found, adapter.check(), &config.controller_name, queue))
}

fn flavors(queue: Option<&ClusterQueue>) -> Vec<String> {
    let groups = queue.map(|queue| queue.spec.resource_groups.as_slice()).unwrap_or_default();
    groups.iter().flat_map(|group| &group.flavors).map(|flavor| flavor.name.clone()).collect()
}

async fn cluster_wide<K>(
    adapter: &Adapter,
    resource: &'static str,
    name: &str,
) -> Result<Option<K>, CallError>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
{
    let api = Api::<K>::all(adapter.client().clone());
    let request = Request::new("get", resource, name);
    send_optional(adapter.limits(), request, api.get(name)).await.map_err(of_request)
}

async fn namespaced<K>(
    adapter: &Adapter,
    resource: &'static str,
    name: &str,
) -> Result<Option<K>, CallError>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    let api = Api::<K>::namespaced(adapter.client().clone(), adapter.namespace());
    let request = Request::new("get", resource, format!("{}/{name}", adapter.namespace()));
    send_optional(adapter.limits(), request, api.get(name)).await.map_err(of_request)
}

/// What keeps the readmission gate from working, each with its own reason (PF-06).
pub(super) fn judge(
    found: &Administration,
    check: &str,
    controller: &str,
    queue: Option<&str>,
) -> Findings {
    let mut findings = Findings::default();
    match &found.check {
        None => findings.reason("PF-06", format!("there is no AdmissionCheck {check}; create it")),
        Some(object) => judge_check(object, check, controller, &mut findings),
    }
    let Some(queue) = queue else {
        findings.reason(
            "PF-07",
            "the configuration names no queue, so that no probe can be made; set `queue`",
        );
        return findings;
    };
    match (&found.local_queue, &found.cluster_queue) {
        (None, _) => {
            findings.reason("PF-06", format!("there is no LocalQueue {queue}; create it"));
        }
        (Some(local), None) => findings.reason(
            "PF-06",
            format!(
                "the LocalQueue {queue} leads to the ClusterQueue {}, which does not exist",
                local.spec.cluster_queue
            ),
        ),
        (Some(_), Some(cluster_queue)) => judge_queue(cluster_queue, check, &mut findings),
    }
    for flavor in &found.flavors {
        if let (Some(name), Some(topology)) = (&flavor.metadata.name, &flavor.spec.topology_name) {
            findings.warnings.push(format!(
                "the ResourceFlavor {name} uses the topology {topology}: when Kueue replaces a \
                 failed node it may undo an eviction, and an execution may start under the number \
                 of the last one"
            ));
        }
    }
    findings
}

fn judge_check(object: &AdmissionCheck, check: &str, controller: &str, findings: &mut Findings) {
    let named = &object.spec.controller_name;
    if named != controller {
        findings.reason(
            "PF-06",
            format!(
                "the AdmissionCheck {check} names the controller {named}, and dispatch's is \
                 {controller}"
            ),
        );
    }
    let conditions = object.status.as_ref().map(|status| status.conditions.as_slice());
    let conditions = conditions.unwrap_or_default();
    if !conditions.is_true("Active") {
        let why = conditions.find("Active").map_or("nobody has set it", |c| c.message.as_str());
        findings.reason(
            "PF-06",
            format!("the AdmissionCheck {check} is not Active ({why}); start dispatch-admission"),
        );
    }
}

fn judge_queue(queue: &ClusterQueue, check: &str, findings: &mut Findings) {
    let name = queue.metadata.name.as_deref().unwrap_or_default();
    let strategy = queue.spec.admission_checks_strategy.as_ref();
    let rules = strategy.map(|strategy| strategy.admission_checks.as_slice()).unwrap_or_default();
    match rules.iter().find(|rule| rule.name == check) {
        None => findings.reason(
            "PF-06",
            format!(
                "the ClusterQueue {name} does not list the AdmissionCheck {check}; add it to \
                 spec.admissionChecksStrategy"
            ),
        ),
        Some(rule) if !rule.on_flavors.is_empty() => findings.reason(
            "PF-06",
            format!(
                "the ClusterQueue {name} lists the AdmissionCheck {check} for the flavors {} \
                 alone; leave onFlavors empty",
                rule.on_flavors.join(", ")
            ),
        ),
        Some(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn check(controller: &str, active: &str) -> Option<AdmissionCheck> {
        serde_json::from_value(json!({
            "metadata": {"name": "dispatch"},
            "spec": {"controllerName": controller},
            "status": {"conditions": [{"type": "Active", "status": active, "message": "told so"}]},
        }))
        .unwrap()
    }

    fn queue(checks: &Value) -> Option<ClusterQueue> {
        serde_json::from_value(json!({
            "metadata": {"name": "cq"},
            "spec": {"admissionChecksStrategy": {"admissionChecks": checks}},
        }))
        .unwrap()
    }

    fn all_well() -> Administration {
        Administration {
            check: check("c", "True"),
            local_queue: serde_json::from_value(json!({"metadata": {"name": "q"},
                "spec": {"clusterQueue": "cq"}}))
            .unwrap(),
            cluster_queue: queue(&json!([{"name": "dispatch"}])),
            flavors: Vec::new(),
        }
    }

    #[test]
    fn a_served_check_that_the_queue_lists_for_all_flavors_is_well() {
        assert_eq!(judge(&all_well(), "dispatch", "c", Some("q")), Findings::default());
    }

    #[rstest]
    #[case::no_check(
        Administration { check: None, ..all_well() }, "there is no AdmissionCheck dispatch")]
    #[case::another_controller(
        Administration { check: check("d", "True"), ..all_well() }, "names the controller d")]
    #[case::not_active(
        Administration { check: check("c", "False"), ..all_well() }, "is not Active (told so)")]
    #[case::never_active(
        Administration { check: check("c", "Unknown"), ..all_well() }, "is not Active")]
    #[case::no_local_queue(
        Administration { local_queue: None, ..all_well() }, "there is no LocalQueue q")]
    #[case::no_cluster_queue(
        Administration { cluster_queue: None, ..all_well() }, "the ClusterQueue cq, which does not")]
    #[case::not_listed(
        Administration { cluster_queue: queue(&json!([{"name": "x"}])), ..all_well() },
        "does not list the AdmissionCheck dispatch")]
    #[case::for_some_flavors(
        Administration {
            cluster_queue: queue(&json!([{"name": "dispatch", "onFlavors": ["a", "b"]}])),
            ..all_well()
        },
        "for the flavors a, b alone")]
    fn each_failure_has_its_own_reason(#[case] found: Administration, #[case] part: &str) {
        let findings = judge(&found, "dispatch", "c", Some("q"));
        assert_eq!(findings.reasons.len(), 1, "{findings:?}");
        assert_eq!(findings.reasons[0].rule, "PF-06");
        assert!(findings.reasons[0].message.contains(part), "{findings:?}");
    }

    #[test]
    fn without_a_queue_nothing_can_be_proved() {
        let findings = judge(&all_well(), "dispatch", "c", None);
        assert_eq!(findings.reasons[0].rule, "PF-07");
    }

    #[test]
    fn a_topology_is_warned_of_and_is_no_failure() {
        let flavors = vec![
            serde_json::from_value(json!({"metadata": {"name": "gpu"},
                "spec": {"topologyName": "racks"}}))
            .unwrap(),
        ];
        let findings = judge(&Administration { flavors, ..all_well() }, "dispatch", "c", Some("q"));
        assert!(findings.reasons.is_empty());
        assert!(findings.warnings[0].contains("gpu uses the topology racks"), "{findings:?}");
    }
}
