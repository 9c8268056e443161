//! Preflight.

pub(super) mod leak;
pub(super) mod lease;
pub(super) mod observe_only;
pub(super) mod probe;
pub(super) mod removed;
pub(super) mod report;
pub(super) mod served;

use dispatch_contract::PreflightAnswer;
use serde::Deserialize;

use super::case::{Case, Family};
use crate::history::{Call, Role, SubjectChange, Verb, What};

/// A preflight that was answered.
struct Preflight<'a> {
    call: &'a Call,
    answer: PreflightAnswer,
    /// The store's revisions before the call and after its answer.
    orders: (u64, u64),
}

/// The preflights that were answered, in their order.
fn preflights<'a>(case: &Case<'a>) -> Vec<Preflight<'a>> {
    let answered = case.calls(Verb::Preflight).filter_map(|call| {
        let answer = PreflightAnswer::deserialize(call.ok()?).ok()?;
        let orders = (call.invoked_order?, call.answered_order()?);
        Some(Preflight { call, answer, orders })
    });
    answered.collect()
}

/// Whether the adapter was started between two events.
fn was_restarted(case: &Case<'_>, from: u64, to: u64) -> bool {
    let starts = |what: &What| match what {
        What::Subject(it) => it.role == Role::Adapter && it.change == SubjectChange::Started,
        _ => false,
    };
    let events = case.history.events();
    let from = events.partition_point(|event| event.seq <= from);
    let mut between = events[from..].iter().take_while(|event| event.seq < to);
    between.any(|event| starts(&event.what))
}

impl Preflight<'_> {
    /// Whether it says that the gate holds.
    fn proved(&self) -> bool {
        !self.answer.observe_only
    }

    /// The events of the call and of its answer.
    fn events(&self) -> [u64; 2] {
        let answer = self.call.answered.as_ref().map_or(self.call.invoked_seq, |it| it.seq);
        [self.call.invoked_seq, answer]
    }

    /// The probes that were made during the call.
    fn probes<'c>(&self, case: &'c Case<'_>) -> impl Iterator<Item = &'c Family<'c>> {
        let (from, to) = self.orders;
        let during = move |order: u64| from < order && order <= to;
        case.probes.iter().filter(move |probe| during(probe.trainjob.created()))
    }
}

#[cfg(test)]
mod told {
    use dispatch_contract::names;
    use serde_json::{Value, json};

    use crate::history::told::{CHECK, Told};
    use crate::history::{Kind, Verb};

    const PROBE: &str = "dispatch-probe-1";

    /// The steps of a preflight, one each.
    impl Told {
        pub(crate) fn preflight(&mut self) -> &mut Self {
            self.calls_with(Verb::Preflight, json!({}))
        }

        pub(crate) fn probe(&mut self) -> &mut Self {
            self.probe_named(PROBE, &json!({names::ADMISSION_GATED_BY: names::GATE}))
        }

        pub(crate) fn probe_named(&mut self, name: &str, annotations: &Value) -> &mut Self {
            self.create(
                Kind::TrainJob,
                json!({"metadata": {"name": name, "namespace": "ns", "uid": "uid-probe",
                    "labels": {names::PROBE: "true"}, "annotations": annotations},
                    "spec": {"suspend": true, "runtimePatches": [
                        {"manager": names::RUNTIME_PATCH_MANAGER}]}}),
            )
        }

        pub(crate) fn probe_workload(&mut self, quota: &str, reason: &str) -> &mut Self {
            let gates = json!({names::ADMISSION_GATED_BY: names::GATE});
            let gates = if reason == "AdmissionGated" { gates } else { json!({}) };
            self.create(
                Kind::Workload,
                json!({"metadata": {"name": "probe", "namespace": "ns", "uid": "uid-probe-workload",
                    "annotations": gates,
                    "ownerReferences": [{"kind": "TrainJob", "name": PROBE, "uid": "uid-probe",
                        "controller": true}]},
                    "status": {
                        "conditions": [{"type": "QuotaReserved", "status": quota, "reason": reason}],
                        "admissionChecks": [{"name": CHECK, "state": "Pending", "message": ""}]}}),
            )
        }

        pub(crate) fn probe_goes(&mut self) -> &mut Self {
            self.delete(Kind::Workload, "probe").delete(Kind::TrainJob, PROBE)
        }

        pub(crate) fn proves(&mut self) -> &mut Self {
            self.answers(json!({"observeOnly": false, "reasons": [], "readmissionGate": "yes"}))
        }

        pub(crate) fn refuses_because(&mut self, rule: &str) -> &mut Self {
            self.answers(json!({"observeOnly": true, "readmissionGate": "yes",
                "reasons": [{"rule": rule, "message": "the gate leaks"}]}))
        }

        /// A preflight by the rules.
        pub(crate) fn is_proved(&mut self) -> &mut Self {
            self.preflight().probe().probe_workload("False", "AdmissionGated").seconds(10);
            self.probe_goes().proves()
        }
    }
}
