//! What the sightings of a probe prove (PF-01, PF-07).

use dispatch_contract::resources::{Conditions, Workload};

/// The reason by which Kueue says that a gate holds a Workload back.
const ADMISSION_GATED: &str = "AdmissionGated";

/// Something seen of a probe, on a watch that began before the probe was made.
#[derive(Clone, Debug, PartialEq)]
pub enum Sighting {
    /// A version of its Workload.
    Workload(Box<Workload>),
    /// A pod of it, by name.
    Pod(String),
    /// The probe itself was deleted by somebody.
    Deleted,
    /// A watch had to begin anew, so that something may have come and gone unseen.
    Gap,
}

/// What is proved so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeVerdict {
    /// Kueue has not said yet that the gate holds the probe back; here is what there is instead.
    NotYet(String),
    /// The gate holds the probe back, and nothing contradicts it.
    Gated,
    /// The probe leaked.
    Leak(String),
    /// Nothing can be proved any more.
    Unproved(String),
}

/// Judges everything that was seen of a probe.
pub fn judge_probe(sightings: &[Sighting]) -> ProbeVerdict {
    if let Some(leak) = sightings.iter().find_map(leak) {
        return ProbeVerdict::Leak(leak);
    }
    if let Some(why) = sightings.iter().find_map(interrupted) {
        return ProbeVerdict::Unproved(why.to_owned());
    }
    let workloads: Vec<&Workload> = sightings
        .iter()
        .filter_map(|sighting| match sighting {
            Sighting::Workload(workload) => Some(&**workload),
            _ => None,
        })
        .collect();
    if workloads.iter().any(|workload| is_held_by_its_gate(workload)) {
        return ProbeVerdict::Gated;
    }
    ProbeVerdict::NotYet(match workloads.last() {
        None => "Kueue made no Workload for the probe".to_owned(),
        Some(workload) if !workload.gates().has_dispatch() => {
            "the probe's Workload does not carry the gate: Kueue needs its feature gate \
             AdmissionGatedBy"
                .to_owned()
        }
        Some(workload) => match workload.conditions().find("QuotaReserved") {
            Some(condition) => format!(
                "the probe's Workload has no quota for another reason than its gate: {} ({})",
                condition.reason, condition.message
            ),
            None => "Kueue has not looked at the probe's Workload".to_owned(),
        },
    })
}

fn leak(sighting: &Sighting) -> Option<String> {
    match sighting {
        Sighting::Pod(name) => Some(format!("the pod {name} of the closed probe appeared")),
        Sighting::Workload(workload) if workload.is("Admitted") => {
            Some("the closed probe was admitted".to_owned())
        }
        Sighting::Workload(workload) if workload.is("QuotaReserved") => {
            let gate = if workload.gates().has_dispatch() {
                "although its Workload carries the gate"
            } else {
                "and its Workload does not carry the gate: Kueue needs its feature gate \
                 AdmissionGatedBy"
            };
            Some(format!("the closed probe got quota, {gate}"))
        }
        _ => None,
    }
}

fn interrupted(sighting: &Sighting) -> Option<&'static str> {
    match sighting {
        Sighting::Deleted => Some("somebody deleted the probe while it was watched"),
        Sighting::Gap => Some("a watch was interrupted, so that a leak may have passed unseen"),
        Sighting::Workload(_) | Sighting::Pod(_) => None,
    }
}

fn is_held_by_its_gate(workload: &Workload) -> bool {
    workload.gates().has_dispatch()
        && workload.conditions().find("QuotaReserved").is_some_and(|condition| {
            condition.status == "False" && condition.reason == ADMISSION_GATED
        })
}

#[cfg(test)]
mod tests {
    use dispatch_contract::names;
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn workload(gated: bool, conditions: &[(&str, &str, &str)]) -> Sighting {
        let annotations = gated.then(|| json!({names::ADMISSION_GATED_BY: names::GATE}));
        let conditions: Vec<_> = conditions
            .iter()
            .map(|(type_, status, reason)| {
                json!({"type": type_, "status": status, "reason": reason, "message": "m"})
            })
            .collect();
        serde_json::from_value(json!({
            "metadata": {"name": "w", "annotations": annotations},
            "status": {"conditions": conditions},
        }))
        .map(|workload| Sighting::Workload(Box::new(workload)))
        .unwrap()
    }

    fn held() -> Sighting {
        workload(true, &[("QuotaReserved", "False", "AdmissionGated")])
    }

    fn pending(gated: bool) -> Sighting {
        workload(gated, &[("QuotaReserved", "False", "Pending")])
    }

    fn pod() -> Sighting {
        Sighting::Pod("p".to_owned())
    }

    #[derive(Debug, PartialEq)]
    enum Kind {
        NotYet,
        Gated,
        Leak,
        Unproved,
    }

    #[rstest]
    #[case::nothing(vec![], Kind::NotYet)]
    #[case::not_looked_at(vec![workload(true, &[])], Kind::NotYet)]
    #[case::full_queue(vec![pending(true)], Kind::NotYet)]
    #[case::gate_not_copied(vec![pending(false)], Kind::NotYet)]
    #[case::reason_without_the_gate(
        vec![workload(false, &[("QuotaReserved", "False", "AdmissionGated")])], Kind::NotYet)]
    #[case::held(vec![workload(true, &[]), held()], Kind::Gated)]
    #[case::held_and_inadmissible_in_turn(vec![held(), pending(true), held()], Kind::Gated)]
    #[case::quota(vec![workload(false, &[("QuotaReserved", "True", "")])], Kind::Leak)]
    #[case::quota_after_held(
        vec![held(), workload(true, &[("QuotaReserved", "True", "")])], Kind::Leak)]
    #[case::quota_for_a_moment(
        vec![held(), workload(true, &[("QuotaReserved", "True", "")]), held()], Kind::Leak)]
    #[case::admitted(vec![workload(false, &[("Admitted", "True", "")])], Kind::Leak)]
    #[case::pod_after_held(vec![held(), pod()], Kind::Leak)]
    #[case::pod_without_a_workload(vec![pod()], Kind::Leak)]
    #[case::deleted(vec![held(), Sighting::Deleted], Kind::Unproved)]
    #[case::interrupted(vec![held(), Sighting::Gap], Kind::Unproved)]
    #[case::leak_outweighs_interruption(vec![Sighting::Gap, pod()], Kind::Leak)]
    fn what_was_seen_is_judged_as_a_whole(
        #[case] sightings: Vec<Sighting>,
        #[case] expected: Kind,
    ) {
        let kind = match judge_probe(&sightings) {
            ProbeVerdict::NotYet(_) => Kind::NotYet,
            ProbeVerdict::Gated => Kind::Gated,
            ProbeVerdict::Leak(_) => Kind::Leak,
            ProbeVerdict::Unproved(_) => Kind::Unproved,
        };
        assert_eq!(kind, expected);
    }

    #[test]
    fn a_leak_through_a_missing_feature_gate_names_it() {
        let verdict = judge_probe(&[workload(false, &[("QuotaReserved", "True", "")])]);
        let ProbeVerdict::Leak(why) = verdict else { panic!("no leak") };
        assert!(why.contains("AdmissionGatedBy"), "{why}");
    }
}
