//! What contradicts the contract and can be seen of an object, whoever caused it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use dispatch_contract::{Violation, names};
use dispatch_kubernetes::{identity, owned};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

use super::Observed;
use super::decide::is_admitted;

/// How much older than the resumption of its Job, and than the next pod, a pod must be to count as
/// one of an earlier resumption: times are in whole seconds, and come from two clocks.
const OF_AN_EARLIER_RESUME: Duration = Duration::from_secs(2);

/// By how much the start of a resumption may be told later than its first pods were made.
const TOLD_LATE: Duration = Duration::from_secs(10);

/// What contradicts the contract (SG-02, EX-04, EX-05).
pub fn violations(observed: &Observed) -> Vec<Violation> {
    let mut found = Vec::new();
    before_open(observed, &mut found);
    wrong_number(observed, &mut found);
    shared_number(observed, &mut found);
    recreated(observed, &mut found);
    found
}

fn add(found: &mut Vec<Violation>, rule: &str, message: String) {
    found.push(Violation { rule: rule.to_owned(), message });
}

/// Pods or admission before Open.
fn before_open(observed: &Observed, found: &mut Vec<Violation>) {
    let trainjob = &observed.trainjob;
    let gated = trainjob.gates().has_dispatch();
    let why = match (gated, trainjob.is_opened()) {
        (true, _) => "it carries dispatch's gate",
        (false, false) => "it lacks the opened mark",
        (false, true) => return,
    };
    if observed.workload.as_ref().is_some_and(is_admitted) {
        add(found, "EX-05", format!("the object is admitted although {why}"));
    }
    if let Some(pod) = owned::live_pods(&observed.owned.pods).first() {
        let message = format!("the pod {} exists although {why}", pod.name);
        add(found, "SG-02", message);
    }
}

/// Live pods of an admitted object whose A is not the count.
fn wrong_number(observed: &Observed, found: &mut Vec<Violation>) {
    if !observed.workload.as_ref().is_some_and(is_admitted) {
        return;
    }
    for pod in identity::misidentified(&observed.trainjob, &observed.owned.pods) {
        add(found, "EX-05", identity::describe(&observed.trainjob, &pod));
    }
}

/// Pods of more than one `JobSet`, or of more than one resumption, that carry one A.
fn shared_number(observed: &Observed, found: &mut Vec<Violation>) {
    let mut by_number: BTreeMap<&str, Vec<&Pod>> = BTreeMap::new();
    for pod in &observed.owned.pods {
        if let Some(admission) = owned::admission(pod) {
            by_number.entry(admission).or_default().push(pod);
        }
    }
    for (admission, pods) in by_number {
        let label = |pod: &&Pod| pod.labels().get(names::JOBSET_UID).cloned();
        let jobsets: BTreeSet<String> = pods.iter().filter_map(label).collect();
        if jobsets.len() > 1 {
            let jobsets: Vec<_> = jobsets.into_iter().collect();
            let message =
                format!("pods of several JobSets carry A={admission}: {}", jobsets.join(", "));
            add(found, "EX-04", message);
        }
        if let Some((before, after)) = two_resumes(&observed.owned.jobs, &pods) {
            let message =
                format!("pods of several resumptions carry A={admission}: {before} and {after}");
            add(found, "EX-04", message);
        }
    }
}

/// A pod from before and one from after the last resumption of their Job, whose start time is set anew
/// then. Where the Job controller had to write that twice, it is a little later than the first pods.
fn two_resumes(jobs: &[Job], pods: &[&Pod]) -> Option<(String, String)> {
    jobs.iter().find_map(|job| {
        let uid = job.metadata.uid.as_deref()?;
        let started = job.status.as_ref()?.start_time.as_ref()?.0;
        let own = pods.iter().filter(|pod| owned::is_owned_by(&pod.metadata, uid));
        let created = |pod: &&&Pod| pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
        let mut own: Vec<_> = own.filter_map(|pod| Some((created(&pod)?, pod))).collect();
        own.sort_by_key(|(time, _)| *time);
        let mut neighbours = own.iter().zip(own.iter().skip(1));
        let ((_, before), (_, after)) = neighbours.find(|((earlier, _), (later, _))| {
            let of_an_earlier = *earlier + OF_AN_EARLIER_RESUME;
            of_an_earlier <= *later && of_an_earlier <= started && started <= *later + TOLD_LATE
        })?;
        Some((before.name_any(), after.name_any()))
    })
}

/// The Workload or the `JobSet` is another one than A was raised for.
fn recreated(observed: &Observed, found: &mut Vec<Violation>) {
    let Some(workload) = observed.workload.as_ref().filter(|workload| is_admitted(workload)) else {
        return;
    };
    let raised_for = observed.trainjob.annotation(names::RAISED_FOR).unwrap_or_default();
    let (for_workload, for_jobset) = raised_for.split_once('/').unwrap_or_default();
    let jobset = observed.owned.jobset.as_ref().and_then(ResourceExt::uid);
    let now = [("Workload", for_workload, workload.uid()), ("JobSet", for_jobset, jobset)];
    for (kind, expected, uid) in now {
        if let Some(uid) = uid.filter(|uid| !expected.is_empty() && uid != expected) {
            let message = format!(
                "the {kind} is {uid}, and A was raised for {expected}: another execution runs \
                 under the same number"
            );
            add(found, "EX-04", message);
        }
    }
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "literals of JSON read best in place")]
mod tests {
    use dispatch_kubernetes::owned::Owned;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn observed(annotations: Value, admitted: bool, pods: Vec<Value>) -> Observed {
        let status = if admitted { "True" } else { "False" };
        Observed {
            trainjob: serde_json::from_value(json!({"metadata": {"name": "t", "uid": "u",
                "annotations": annotations}}))
            .unwrap(),
            workload: serde_json::from_value(json!({"metadata": {"name": "w", "uid": "wl"},
                "status": {"conditions": [{"type": "Admitted", "status": status}]}}))
            .unwrap(),
            owned: Owned {
                jobset: serde_json::from_value(json!({"metadata": {"name": "t", "uid": "js"}}))
                    .unwrap(),
                jobs: vec![
                    serde_json::from_value(json!({"metadata": {"name": "j", "uid": "job"},
                        "status": {"startTime": "2026-01-01T00:01:00Z"}}))
                    .unwrap(),
                ],
                pods: pods.into_iter().map(|pod| serde_json::from_value(pod).unwrap()).collect(),
            },
            check: "dispatch".to_owned(),
            heartbeat: None,
            refused_by: None,
        }
    }

    fn opened(count: &str, raised_for: &str) -> Value {
        json!({names::OPENED: "true", names::ADMISSION_COUNT: count,
            names::RAISED_FOR: raised_for})
    }

    fn pod(name: &str, a: &str, jobset: &str, created: &str) -> Value {
        json!({
            "metadata": {"name": name, "uid": name, "creationTimestamp": created,
                "labels": {names::JOBSET_UID: jobset}, "annotations": {names::POD_ADMISSION: a},
                "ownerReferences": [{"apiVersion": "x", "kind": "Job", "name": "j", "uid": "job"}]},
            "status": {"phase": "Running"},
        })
    }

    const EARLY: &str = "2026-01-01T00:00:30Z";
    const LATE: &str = "2026-01-01T00:01:01Z";

    #[rstest]
    #[case::all_well(
        observed(opened("2", "wl/js"), true, vec![pod("p", "2", "js", LATE)]), &[])]
    #[case::late_pod(
        observed(opened("2", "wl/js"), true, vec![pod("p", "1", "js", LATE)]),
        &["EX-05: the pod p carries A=1, and the object's count is 2"])]
    #[case::late_pod_while_not_admitted(
        observed(opened("2", "wl/js"), false, vec![pod("p", "1", "js", LATE)]), &[])]
    #[case::admitted_while_gated(
        observed(json!({names::ADMISSION_GATED_BY: names::GATE}), true, vec![]),
        &["EX-05: the object is admitted although it carries dispatch's gate"])]
    #[case::admitted_without_the_mark(
        observed(json!({}), true, vec![]),
        &["EX-05: the object is admitted although it lacks the opened mark"])]
    #[case::pod_while_gated(
        observed(json!({names::ADMISSION_GATED_BY: names::GATE}), false,
            vec![pod("p", "0", "js", LATE)]),
        &["SG-02: the pod p exists although it carries dispatch's gate"])]
    #[case::two_jobsets(
        observed(opened("2", "wl/js"), true,
            vec![pod("p", "2", "js", LATE), pod("q", "2", "js2", LATE)]),
        &["EX-04: pods of several JobSets carry A=2: js, js2"])]
    #[case::two_jobsets_with_a_number_each(
        observed(opened("2", "wl/js"), false,
            vec![pod("p", "1", "js", LATE), pod("q", "2", "js2", LATE)]), &[])]
    #[case::resumed_and_its_start_told_late(
        observed(opened("2", "wl/js"), true, vec![pod("p", "2", "js", EARLY),
            pod("q", "2", "js", "2026-01-01T00:00:59Z")]),
        &["EX-04: pods of several resumptions carry A=2: p and q"])]
    #[case::resumed_and_its_start_told_later_still(
        observed(opened("2", "wl/js"), true, vec![pod("p", "2", "js", EARLY),
            pod("q", "2", "js", "2026-01-01T00:00:57Z")]),
        &["EX-04: pods of several resumptions carry A=2: p and q"])]
    #[case::made_one_after_the_other_and_its_start_told_late(
        observed(opened("2", "wl/js"), true, vec![pod("p", "2", "js", "2026-01-01T00:00:58Z"),
            pod("q", "2", "js", "2026-01-01T00:00:59Z")]), &[])]
    #[case::two_resumes(
        observed(opened("2", "wl/js"), true,
            vec![pod("p", "2", "js", EARLY), pod("q", "2", "js", LATE)]),
        &["EX-04: pods of several resumptions carry A=2: p and q"])]
    #[case::only_older_pods_by_another_clock(
        observed(opened("2", "wl/js"), true,
            vec![pod("p", "2", "js", EARLY), pod("q", "2", "js", EARLY)]), &[])]
    #[case::jobset_recreated(
        observed(opened("2", "wl/gone"), true, vec![]),
        &["EX-04: the JobSet is js, and A was raised for gone: another execution runs under the \
           same number"])]
    #[case::workload_recreated_and_not_admitted(
        observed(opened("2", "gone/js"), false, vec![]), &[])]
    fn what_contradicts_the_contract_is_named(
        #[case] observed: Observed,
        #[case] expected: &[&str],
    ) {
        let found: Vec<_> = violations(&observed)
            .into_iter()
            .map(|violation| format!("{}: {}", violation.rule, violation.message))
            .collect();
        assert_eq!(found, expected);
    }
}
