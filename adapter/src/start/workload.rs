//! The Workload that Kueue makes for a new object (SG-05).

use dispatch_contract::resources::Workload;
use dispatch_contract::{CallError, ErrorKind, ObjectRef, names};
use kube::ResourceExt;
use kube::runtime::watcher;
use tokio::time::Instant;

use crate::Adapter;
use crate::error::fail;
use crate::watch::{Seen, until, watch};
use crate::workload::{WORKLOADS, belongs_to};

/// Whether a Workload is as Start needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkloadVerdict {
    /// It carries the gate and lists the check.
    AsNeeded,
    /// It is not, and may be soon.
    NotYet(String),
    /// It is not, and never will be.
    Never(String),
}

/// Judges a Workload that Kueue made for a closed object (SG-05).
///
/// Kueue copies the gate as it makes the Workload, so one without it stays without it. The checks
/// are listed a reconcile later.
pub fn judge_workload(workload: &Workload, check: &str) -> WorkloadVerdict {
    let name = workload.name_any();
    if !workload.gates().has_dispatch() {
        return WorkloadVerdict::Never(format!(
            "its Workload {name} does not carry the gate {}: written {}, found {}; Kueue needs its \
             feature gate AdmissionGatedBy",
            names::GATE,
            names::GATE,
            workload.annotations().get(names::ADMISSION_GATED_BY).map_or("nothing", String::as_str),
        ));
    }
    if workload.is("QuotaReserved") || workload.is("Admitted") {
        return WorkloadVerdict::Never(format!(
            "its Workload {name} carries the gate and got quota all the same"
        ));
    }
    if workload.check(check).is_none() {
        let listed: Vec<_> = workload.checks().iter().map(|check| check.name.as_str()).collect();
        let listed = if listed.is_empty() { "none".to_owned() } else { listed.join(", ") };
        return WorkloadVerdict::NotYet(format!(
            "its Workload {name} does not list the AdmissionCheck {check} (listed: {listed}); the \
             ClusterQueue has to name it for all flavors"
        ));
    }
    WorkloadVerdict::AsNeeded
}

/// Waits until the object's Workload is as needed.
pub(super) async fn wait(adapter: &Adapter, object: &ObjectRef) -> Result<(), CallError> {
    let limit = adapter.config().timeouts.workload;
    let deadline = Instant::now() + limit;
    let config = watcher::Config::default();
    let mut workloads = watch::<Workload>(adapter.client(), adapter.namespace(), WORKLOADS, config);
    let mut last = None;
    let judged = until(&mut workloads, deadline, |seen| {
        let Seen::Version(workload) = seen else { return None };
        if !belongs_to(&workload, &object.uid) {
            return None;
        }
        match adapter.decisions().workload(&workload, adapter.check()) {
            WorkloadVerdict::AsNeeded => Some(Ok(())),
            WorkloadVerdict::Never(why) => Some(Err(why)),
            WorkloadVerdict::NotYet(why) => {
                last = Some(why);
                None
            }
        }
    });
    let place = format!("TrainJob {}/{}", adapter.namespace(), object.name);
    let refused = |why: &str| fail(ErrorKind::Refused, format!("{place}: {why}"), &["SG-05"]);
    match judged.await? {
        Some(Ok(())) => Ok(()),
        Some(Err(why)) => Err(refused(&why)),
        None => Err(match last {
            Some(why) => refused(&why),
            None => fail(
                ErrorKind::Deadline,
                format!(
                    "{place}: Kueue made no Workload for it within {} s; does Kueue run, and does \
                     it handle trainer.kubeflow.org/trainjob?",
                    limit.as_secs_f64()
                ),
                &["SG-05"],
            ),
        }),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn workload(gate: Option<&str>, checks: &[&str], conditions: &[&str]) -> Workload {
        let annotations = gate.map(|gate| json!({names::ADMISSION_GATED_BY: gate}));
        let checks: Vec<Value> =
            checks.iter().map(|name| json!({"name": name, "state": "Pending"})).collect();
        let conditions: Vec<Value> =
            conditions.iter().map(|type_| json!({"type": type_, "status": "True"})).collect();
        serde_json::from_value(json!({
            "metadata": {"name": "w", "annotations": annotations},
            "status": {"admissionChecks": checks, "conditions": conditions},
        }))
        .unwrap()
    }

    #[rstest]
    #[case::as_needed(workload(Some(names::GATE), &["dispatch"], &[]))]
    #[case::among_others(workload(Some("a.io/x,dispatch.phpboyscout.uk/gate"),
        &["other", "dispatch"], &[]))]
    fn a_gated_workload_that_lists_the_check_is_as_needed(#[case] workload: Workload) {
        assert_eq!(judge_workload(&workload, "dispatch"), WorkloadVerdict::AsNeeded);
    }

    #[rstest]
    #[case::no_checks_yet(workload(Some(names::GATE), &[], &[]), "listed: none")]
    #[case::another_check(workload(Some(names::GATE), &["other"], &[]), "listed: other")]
    fn a_check_may_be_listed_later(#[case] workload: Workload, #[case] part: &str) {
        let WorkloadVerdict::NotYet(why) = judge_workload(&workload, "dispatch") else {
            panic!("not waited for")
        };
        assert!(why.contains(part), "{why}");
    }

    #[rstest]
    #[case::no_gate(workload(None, &["dispatch"], &[]), "found nothing")]
    #[case::another_gate(workload(Some("a.io/x"), &["dispatch"], &[]), "found a.io/x")]
    #[case::quota(
        workload(Some(names::GATE), &["dispatch"], &["QuotaReserved"]), "got quota")]
    fn a_workload_that_is_not_gated_is_refused_at_once(
        #[case] workload: Workload,
        #[case] part: &str,
    ) {
        let WorkloadVerdict::Never(why) = judge_workload(&workload, "dispatch") else {
            panic!("not refused")
        };
        assert!(why.contains(part), "{why}");
    }
}
