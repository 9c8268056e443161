//! PF-01: a probe shows whether the gate leaks.
//!
//! # What it says
//! A probe that cannot be scheduled is created closed and watched for 10 seconds: no pod may appear,
//! and in Kueue mode its Workload may get neither quota nor admission. It is judged from a watch, not from
//! polls.
//!
//! # Why it matters
//! Kueue takes the gate annotation and ignores it unless a feature gate is on. Only a probe shows
//! it.
//!
//! # A history that breaks it
//! The probe's Workload gets quota, and preflight says that the gate is proved.

use jiff::SignedDuration;

use super::{Preflight, preflights};
use crate::history::{Exchange, Kind, Role, Version};
use crate::rules::case::{Case, Family};
use crate::rules::{Judge, Verdict};

/// For how long a probe is watched.
const WATCH: SignedDuration = SignedDuration::from_secs(10);

/// By how much the recorder may have seen the beginning later than the adapter did.
const TOLERANCE: SignedDuration = SignedDuration::from_secs(1);

pub(in crate::rules) const PF_01: Judge = Judge {
    rule: "PF-01",
    reads: &[Kind::TrainJob, Kind::Workload, Kind::Pod],
    brings_about: &["SG-02", "SG-05"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::leaks_and_is_proved,
};

fn judge(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    for preflight in preflights(case) {
        let mut probed = false;
        for probe in preflight.probes(case) {
            (seen, probed) = (true, true);
            let leak = leak(probe, &preflight);
            if let (Some((what, seq)), true) = (&leak, preflight.proved()) {
                let because = format!("preflight found the gate proved, though {what}");
                return Verdict::fail(because, [*seq, preflight.events()[1]]);
            }
            if let (true, Some(kind)) = (preflight.proved(), not_watched(case, &preflight)) {
                let because = format!("preflight found the gate proved without a watch of {kind}s");
                return Verdict::fail(because, preflight.events());
            }
            if let (true, Some(short)) = (preflight.proved(), watched_too_short(probe, &preflight))
            {
                let because = format!("preflight found the gate proved, and {short}");
                return Verdict::fail(because, preflight.events());
            }
        }
        let missed =
            case.history.gaps().any(|(_, gap)| gap.kind.is_none_or(|it| it == Kind::TrainJob));
        if preflight.proved() && !probed && !missed {
            let because = "preflight found the gate proved without any probe";
            return Verdict::fail(because, preflight.events());
        }
    }
    Verdict::pass_if_seen(seen, "probe of a preflight")
}

/// What got past the gate before the answer.
fn leak(probe: &Family<'_>, preflight: &Preflight<'_>) -> Option<(String, u64)> {
    let in_time = |version: &&Version| version.order <= preflight.orders.1;
    if let Some(pod) = probe.pods.iter().find(|pod| pod.created() <= preflight.orders.1) {
        return Some((format!("the probe's pod {} came", pod.name), pod.first()?.seq));
    }
    let mut versions = probe.workloads.iter().flat_map(|it| it.versions()).filter(in_time);
    versions.find_map(|version| {
        let workload = version.workload()?;
        let condition = ["QuotaReserved", "Admitted"].into_iter().find(|it| workload.is(it))?;
        Some((format!("the probe's Workload had {condition}=True"), version.seq))
    })
}

/// The kind that the adapter did not watch during a preflight: polls do not see what comes and goes.
fn not_watched(case: &Case<'_>, preflight: &Preflight<'_>) -> Option<Kind> {
    let call = preflight.call;
    if !case.requests.are_logged(Role::Adapter) || !case.requests.is_alone(call) {
        return None;
    }
    let answered = preflight.events()[1];
    let is_open = |exchange: &Exchange, kind: Kind| {
        let ended = exchange.ended.as_ref().map_or(u64::MAX, |ended| ended.seq);
        exchange.request.verb == "watch"
            && exchange.request.kind() == Some(kind)
            && exchange.sent.is_some()
            && exchange.seq < answered
            && call.invoked_seq < ended
    };
    let watched = |kind: &Kind| case.requests.of(Role::Adapter).any(|it| is_open(it, *kind));
    let workloads = case.is_kueue().then_some(Kind::Workload);
    [Kind::Pod].into_iter().chain(workloads).find(|kind| !watched(kind))
}

/// Whether there were less than 10 seconds between the probe's beginning and its end, or the
/// answer.
fn watched_too_short(probe: &Family<'_>, preflight: &Preflight<'_>) -> Option<String> {
    let from = probe.workloads.first().unwrap_or(&probe.trainjob).first()?.at;
    let answered = preflight.call.answered.as_ref()?.at;
    let until = probe.trainjob.deleted().map_or(answered, |gone| gone.at.min(answered));
    let watched = until.duration_since(from);
    let seconds = watched.as_secs_f64();
    (watched + TOLERANCE < WATCH).then(|| format!("the probe was watched for {seconds:.1} s only"))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use crate::history::told::{ADAPTER, Told};
    use crate::history::{History, Kind};
    use crate::rules::tests::assert_verdict;

    fn probed(quota: &str, reason: &str) -> Told {
        let mut told = Told::kueue();
        told.preflight().probe().probe_workload(quota, reason).seconds(10);
        told
    }

    pub(super) fn leaks_and_is_proved() -> History {
        probed("True", "QuotaReserved").proves().history()
    }

    fn with_pod() -> Told {
        let mut told = probed("False", "AdmissionGated");
        told.create(
            Kind::Pod,
            json!({"metadata": {"name": "leaked", "namespace": "ns", "uid": "uid-leaked",
                "ownerReferences": [{"uid": "uid-probe", "controller": true}]}}),
        );
        told
    }

    /// A preflight with these watches open, and with reads.
    fn watching(kinds: &[Kind]) -> History {
        let mut told = Told::kueue();
        told.preflight();
        for kind in kinds {
            told.watches(ADAPTER, *kind);
        }
        told.lists(ADAPTER, Kind::Pod).lists(ADAPTER, Kind::Workload);
        told.probe().probe_workload("False", "AdmissionGated").seconds(10).probe_goes();
        told.proves().history()
    }

    #[rstest]
    #[case::by_watches(watching(&[Kind::Pod, Kind::Workload]), "pass")]
    #[case::by_polls(watching(&[]), "proved without a watch of Pods")]
    #[case::workloads_by_polls(watching(&[Kind::Pod]), "proved without a watch of Workloads")]
    #[case::by_the_rules(Told::kueue().is_proved().history(), "pass")]
    #[case::leaks_and_is_refused(
        probed("True", "QuotaReserved").refuses_because("PF-01").history(), "pass")]
    #[case::no_preflight(Told::kueue().history(), "n/a: there was no probe")]
    #[case::leaks_and_is_proved(leaks_and_is_proved(), "Workload had QuotaReserved=True")]
    #[case::a_pod_and_proved(with_pod().proves().history(), "the probe's pod leaked came")]
    #[case::a_pod_and_refused(with_pod().refuses_because("PF-01").history(), "pass")]
    #[case::a_short_look(
        Told::kueue().preflight().probe().probe_workload("False", "AdmissionGated").seconds(2)
            .probe_goes().proves().history(),
        "the probe was watched for 2.0 s only")]
    #[case::no_probe(Told::kueue().preflight().proves().history(), "without any probe")]
    fn a_leak_is_found(#[case] history: History, #[case] expected: &str) {
        assert_verdict("PF-01", &history, expected);
    }
}
