//! PF-07: the probe proves something.
//!
//! # What it says
//! The probe would be admitted were it not gated: in Kueue mode its Workload carries the gate and
//! says `QuotaReserved`=False with reason `AdmissionGated`, and the 10 seconds count from then. If
//! that is not seen, the gate is unproved. The probe is of the lowest priority, has a name that no object
//! has, and is not in `List`.
//!
//! # Why it matters
//! In a full or stopped queue a probe waits for reasons of its own, and its silence proves nothing.
//!
//! # A history that breaks it
//! The probe's Workload is never said to be gated, and preflight finds the gate proved.

use dispatch_contract::ObjectName;
use dispatch_contract::resources::{Conditions, Workload};
use jiff::SignedDuration;

use super::{Preflight, preflights};
use crate::history::{Kind, Verb, Version};
use crate::rules::case::{Case, Family};
use crate::rules::{Judge, Verdict};

/// For how long the probe is to be seen gated, less what the recorder may have seen later.
const GATED: SignedDuration = SignedDuration::from_secs(9);

pub(in crate::rules) const PF_07: Judge = Judge {
    rule: "PF-07",
    reads: &[Kind::TrainJob, Kind::Workload],
    brings_about: &["PF-01"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::never_gated,
};

fn judge(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    for preflight in preflights(case) {
        for probe in preflight.probes(case) {
            seen = true;
            if let Some((listed, seq)) = listed(case, probe) {
                return Verdict::fail(listed, [seq]);
            }
            if let Some((because, seqs)) = outranks(case, probe) {
                return Verdict::fail(because, seqs);
            }
            if !case.is_kueue() || !preflight.proved() {
                continue;
            }
            if let Err(why) = was_gated(probe, &preflight) {
                let because = format!("preflight found the gate proved, though {why}");
                return Verdict::fail(because, preflight.events());
            }
        }
    }
    Verdict::pass_if_seen(seen, "probe of a preflight")
}

fn was_gated(probe: &Family<'_>, preflight: &Preflight<'_>) -> Result<(), String> {
    let gated = |version: &&Version| version.workload().is_some_and(is_gated);
    let mut versions = probe.workloads.iter().flat_map(|workload| workload.versions());
    let first = versions.find(gated).ok_or("the probe's Workload was never said to be gated")?;
    let answered = preflight.call.answered.as_ref().map_or(first.at, |answered| answered.at);
    let until = probe.trainjob.deleted().map_or(answered, |gone| gone.at.min(answered));
    let long = until.duration_since(first.at);
    if long < GATED {
        let seconds = long.as_secs_f64();
        return Err(format!("the probe's Workload was seen gated for {seconds:.1} s only"));
    }
    Ok(())
}

fn is_gated(workload: &Workload) -> bool {
    let condition = workload.conditions().find("QuotaReserved");
    let says = condition.is_some_and(|it| it.status == "False" && it.reason == "AdmissionGated");
    says && workload.gates().has_dispatch()
}

/// Whether a probe has a higher priority than an object's Workload, so that it could preempt it.
fn outranks(case: &Case<'_>, probe: &Family<'_>) -> Option<(String, [u64; 2])> {
    let priority =
        |it: &Version| it.workload().map_or(0, |it| it.spec.priority.unwrap_or_default());
    let highest =
        probe.workloads.iter().filter_map(|it| it.first()).max_by_key(|it| priority(it))?;
    let others = case.objects.iter().flat_map(|family| &family.workloads);
    let lower = others.filter_map(|it| it.first()).find(|it| priority(it) < priority(highest))?;
    let because = format!(
        "the probe {} has a higher priority than a Workload of dispatch's",
        probe.trainjob.name
    );
    Some((because, [highest.seq, lower.seq]))
}

/// Whether a probe has an object's name, or is in an answer of `List`.
fn listed(case: &Case<'_>, probe: &Family<'_>) -> Option<(String, u64)> {
    let name = &probe.trainjob.name;
    if ObjectName::matches(name) {
        let seq = probe.trainjob.first()?.seq;
        return Some((format!("the probe {name} has the name of an object"), seq));
    }
    let lists = |answer: &serde_json::Value| {
        answer.as_array().into_iter().flatten().any(|entry| entry["name"] == name.as_str())
    };
    let call = case.calls(Verb::List).find(|call| call.ok().is_some_and(lists))?;
    Some((format!("the probe {name} is in the answer of List"), call.answered.as_ref()?.seq))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::history::History;
    use crate::history::told::Told;
    use crate::rules::tests::assert_verdict;

    fn probed(reason: &str) -> Told {
        let mut told = Told::kueue();
        told.preflight().probe().probe_workload("False", reason).seconds(10);
        told
    }

    fn outranking() -> History {
        let mut told = Told::kueue();
        told.starts().preflight().probe().create(
            Kind::Workload,
            json!({"metadata": {"name": "probe", "namespace": "ns", "uid": "w",
                "ownerReferences": [{"kind": "TrainJob", "name": "dispatch-probe-1",
                    "uid": "uid-probe", "controller": true}]}, "spec": {"priority": 1}}),
        );
        told.refuses_because("PF-07").history()
    }

    pub(super) fn never_gated() -> History {
        probed("Inadmissible").proves().history()
    }

    #[rstest]
    #[case::by_the_rules(Told::kueue().is_proved().history(), "pass")]
    #[case::no_preflight(Told::kueue().history(), "n/a")]
    #[case::never_gated_and_refused(
        probed("Inadmissible").refuses_because("PF-07").history(), "pass")]
    #[case::never_gated(never_gated(), "was never said to be gated")]
    #[case::gated_for_a_moment(
        Told::kueue().preflight().probe().probe_workload("False", "AdmissionGated").seconds(3)
            .proves().history(),
        "was seen gated for 3.0 s only")]
    #[case::of_a_low_priority(
        Told::kueue().starts().is_proved().history(), "pass")]
    #[case::it_could_preempt(outranking(), "has a higher priority than a Workload")]
    #[case::listed(
        probed("AdmissionGated").calls_with(Verb::List, json!({}))
            .answers(json!([{"name": "dispatch-probe-1"}])).history(),
        "n/a")]
    #[case::listed_afterwards(
        Told::kueue().is_proved().calls_with(Verb::List, json!({}))
            .answers(json!([{"name": "dispatch-probe-1"}])).history(),
        "is in the answer of List")]
    fn the_probe_proves_something(#[case] history: History, #[case] expected: &str) {
        assert_verdict("PF-07", &history, expected);
    }
}
