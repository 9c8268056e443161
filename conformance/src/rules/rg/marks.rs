//! RG-12 and RG-16: marks of the object that keep the check Pending.
//!
//! # What they say
//! The check stays Pending while the `TrainJob` carries dispatch's gate or lacks the opened mark
//! (RG-12), and while it carries the hold mark or the ended mark (RG-16).
//!
//! # Why it matters
//! Where Kueue does not know the gate, or an administrator deleted the annotation, the check is the
//! last thing that stands between a closed object and a run. A held Workload that Kueue makes anew
//! is active again, and only the mark is left.
//!
//! # How it is judged
//! The raise carries the version of the `TrainJob` it was decided from, so what it shows was known.
//! A hold that lands between raise and Ready cannot have been seen; it deactivates the Workload.
//!
//! # A history that breaks them
//! A is raised in a `TrainJob` that has the hold mark, and the check becomes Ready.

use dispatch_contract::resources::TrainJob;

use crate::history::{Kind, Version};
use crate::rules::case::{Case, Family, Ready};
use crate::rules::{Judge, Verdict};

const READS: &[Kind] = &[Kind::Workload, Kind::TrainJob];

pub(in crate::rules) const RG_12: Judge = Judge {
    rule: "RG-12",
    reads: READS,
    brings_about: &["SG-02"],
    decide: not_while_closed,
    #[cfg(test)]
    breaking: tests::gated,
};

pub(in crate::rules) const RG_16: Judge = Judge {
    rule: "RG-16",
    reads: READS,
    brings_about: &["CA-07"],
    decide: not_while_marked,
    #[cfg(test)]
    breaking: tests::held,
};

fn not_while_closed(case: &Case<'_>) -> Verdict {
    judge(case, |trainjob| {
        if trainjob.gates().has_dispatch() {
            return Some("it carried dispatch's gate");
        }
        (!trainjob.is_opened()).then_some("it lacked the opened mark")
    })
}

fn not_while_marked(case: &Case<'_>) -> Verdict {
    judge(case, |trainjob| {
        if trainjob.ended_mark().is_some() {
            return Some("it carried the ended mark");
        }
        trainjob.hold_token().map(|_| "it carried the hold mark")
    })
}

fn judge(case: &Case<'_>, against: fn(&TrainJob) -> Option<&'static str>) -> Verdict {
    let mut seen = false;
    for family in case.objects.iter().chain(&case.probes) {
        for ready in &family.readies {
            let Some(version) = known_at(family, ready) else { continue };
            seen = true;
            if let Some(why) = version.trainjob().and_then(against) {
                let because = format!(
                    "check {} of Workload {} became Ready, and TrainJob {} was not to run: {why}",
                    ready.check, ready.workload.name, family.trainjob.name
                );
                return Verdict::fail(because, [version.seq, ready.version.seq]);
            }
        }
    }
    Verdict::pass_if_seen(seen, "Ready on a Workload of dispatch's")
}

/// The version of the `TrainJob` that the controller must have known: that of the raise, or
/// without a raise the one at Ready.
fn known_at<'a>(family: &Family<'a>, ready: &Ready<'_>) -> Option<&'a Version> {
    match family.raise_for(ready) {
        Some(raise) => Some(raise.after),
        None => family.trainjob.at(ready.version.order),
    }
}

#[cfg(test)]
mod tests {
    use dispatch_contract::names;
    use rstest::rstest;
    use serde_json::json;

    use crate::history::told::{CHECK, Told};
    use crate::history::{History, Kind};
    use crate::rules::tests::assert_verdict;

    fn marked(mark: &str) -> Told {
        let mut told = Told::kueue();
        told.waits().trainjob(|it| it["metadata"]["annotations"][mark] = json!("x"));
        told
    }

    pub(super) fn held() -> History {
        marked(names::HELD).raises(1).sets("Ready").history()
    }

    pub(super) fn gated() -> History {
        Told::kueue().starts().reserves().raises(1).sets("Ready").history()
    }

    /// Kueue gave a probe quota, and the controller let it pass.
    fn probe() -> History {
        let mut told = Told::kueue();
        told.create(
            Kind::TrainJob,
            json!({"metadata": {"name": "dispatch-probe-1", "namespace": "ns", "uid": "probe",
                "labels": {names::PROBE: "true"},
                "annotations": {names::ADMISSION_GATED_BY: names::GATE}},
                "spec": {"suspend": true, "runtimePatches": [
                    {"manager": names::RUNTIME_PATCH_MANAGER}]}}),
        );
        let workload = |state: &str| {
            json!({"metadata": {"name": "probe", "namespace": "ns", "uid": "probe-workload",
                "ownerReferences": [{"kind": "TrainJob", "name": "dispatch-probe-1",
                    "uid": "probe", "controller": true}]},
                "status": {"conditions": [{"type": "QuotaReserved", "status": "True"}],
                    "admissionChecks": [{"name": CHECK, "state": state, "message": ""}]}})
        };
        told.create(Kind::Workload, workload("Pending"));
        told.change(Kind::Workload, "probe", |it| *it = workload("Ready")).history()
    }

    fn not_opened() -> History {
        let mut told = Told::kueue();
        told.waits().trainjob(|it| {
            it["metadata"]["annotations"].as_object_mut().unwrap().remove(names::OPENED);
        });
        told.raises(1).sets("Ready").history()
    }

    #[rstest]
    #[case::by_the_rules(Told::kueue().runs().history(), "pass")]
    #[case::gated_and_pending(Told::kueue().starts().history(), "n/a")]
    #[case::gated(gated(), "it carried dispatch's gate")]
    #[case::gated_probe(probe(), "it carried dispatch's gate")]
    #[case::without_the_mark(not_opened(), "it lacked the opened mark")]
    fn the_check_waits_for_open(#[case] history: History, #[case] expected: &str) {
        assert_verdict("RG-12", &history, expected);
    }

    #[rstest]
    #[case::by_the_rules(Told::kueue().runs().history(), "pass")]
    #[case::held_and_pending(marked(names::HELD).raises(1).history(), "n/a")]
    #[case::held(held(), "it carried the hold mark")]
    #[case::held_and_not_raised(marked(names::HELD).sets("Ready").history(), "hold mark")]
    #[case::ended(marked(names::ENDED).raises(1).sets("Ready").history(), "the ended mark")]
    #[case::held_after_the_raise_cannot_be_seen(
        Told::kueue().waits().raises(1)
            .trainjob(|it| it["metadata"]["annotations"][names::HELD] = json!("x"))
            .sets("Ready").history(),
        "pass")]
    fn the_check_waits_for_the_end_of_a_hold(#[case] history: History, #[case] expected: &str) {
        assert_verdict("RG-16", &history, expected);
    }
}
