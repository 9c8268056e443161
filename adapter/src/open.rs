//! Open: dispatch's entry leaves the gate list, and the object is marked as opened, in one update.

use dispatch_contract::resources::TrainJob;
use dispatch_contract::{CallError, ErrorKind, ObjectRef, Removal, names};
use dispatch_kubernetes::ended;
use kube::ResourceExt;

use crate::Adapter;
use crate::error::fail;
use crate::write::{Step, annotations_patch, settle};

/// What Open does with an object (OP-01, OP-02, OP-08 to OP-10).
///
/// A hold does not matter: a held object is opened, and stays held (OP-10).
pub fn decide(trainjob: &TrainJob) -> Step<()> {
    let gates = trainjob.gates();
    if trainjob.is_opened() && !gates.has_dispatch() {
        return Step::Done(());
    }
    if let Some(how) = ended::how(trainjob, None) {
        let message = format!(
            "TrainJob {} ended ({how}) without being opened; it never runs",
            trainjob.name_any()
        );
        return Step::Fail(fail(ErrorKind::Rejected, message, &["OP-08"]));
    }
    if trainjob.metadata.deletion_timestamp.is_some() {
        let message = format!("TrainJob {} is being deleted", trainjob.name_any());
        return Step::Fail(fail(ErrorKind::Rejected, message, &["OP-08"]));
    }
    let opened = (names::OPENED, Some(names::TRUE));
    Step::Write(match gates.without_dispatch() {
        Removal::NotThere => annotations_patch(trainjob, &[opened]),
        Removal::DeleteKey => {
            annotations_patch(trainjob, &[opened, (names::ADMISSION_GATED_BY, None)])
        }
        Removal::Keep(others) => {
            annotations_patch(trainjob, &[opened, (names::ADMISSION_GATED_BY, Some(&others))])
        }
    })
}

pub(crate) async fn open(adapter: &Adapter, object: &ObjectRef) -> Result<(), CallError> {
    let decide = |trainjob: &TrainJob| adapter.decisions().open(trainjob);
    settle(adapter.client(), adapter.limits(), adapter.namespace(), object, decide).await
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "literals of JSON read best in place")]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    const GATE: &str = names::GATE;

    fn trainjob(annotations: Value, status: Value) -> TrainJob {
        serde_json::from_value(json!({
            "metadata": {"name": "t", "uid": "u", "resourceVersion": "7",
                "annotations": annotations},
            "status": status,
        }))
        .unwrap()
    }

    fn gated_by(value: &str) -> TrainJob {
        trainjob(json!({names::ADMISSION_GATED_BY: value}), json!({}))
    }

    fn failed() -> Value {
        json!({"conditions": [{"type": "Failed", "status": "True"}]})
    }

    #[rstest]
    #[case::alone(gated_by(GATE), json!({names::OPENED: "true", names::ADMISSION_GATED_BY: null}))]
    #[case::among_others(
        gated_by(&format!("b.io/y, {GATE},a.io/x")),
        json!({names::OPENED: "true", names::ADMISSION_GATED_BY: "b.io/y,a.io/x"}))]
    #[case::gate_gone_without_the_mark(
        trainjob(json!({}), json!({})), json!({names::OPENED: "true"}))]
    #[case::others_left_without_the_mark(gated_by("a.io/x"), json!({names::OPENED: "true"}))]
    #[case::mark_without_the_removal(
        trainjob(json!({names::OPENED: "true", names::ADMISSION_GATED_BY: GATE}), json!({})),
        json!({names::OPENED: "true", names::ADMISSION_GATED_BY: null}))]
    #[case::held(
        trainjob(json!({names::HELD: "x", names::ADMISSION_GATED_BY: GATE}), json!({})),
        json!({names::OPENED: "true", names::ADMISSION_GATED_BY: null}))]
    fn the_entry_is_removed_and_the_mark_set_in_one_update_at_the_version_of_the_read(
        #[case] trainjob: TrainJob,
        #[case] annotations: Value,
    ) {
        let patch = json!({"metadata":
            {"uid": "u", "resourceVersion": "7", "annotations": annotations}});
        assert_eq!(decide(&trainjob), Step::Write(patch));
    }

    #[rstest]
    #[case::open(trainjob(json!({names::OPENED: "true"}), json!({})))]
    #[case::open_and_gated_by_others(trainjob(
        json!({names::OPENED: "true", names::ADMISSION_GATED_BY: "a.io/x"}), json!({})))]
    #[case::open_and_ended(trainjob(json!({names::OPENED: "true"}), failed()))]
    #[case::open_and_marked_as_ended(trainjob(
        json!({names::OPENED: "true", names::ENDED: "Failed"}), json!({})))]
    fn past_its_gate_nothing_is_written(#[case] trainjob: TrainJob) {
        assert_eq!(decide(&trainjob), Step::Done(()));
    }

    #[rstest]
    #[case::by_condition(trainjob(json!({names::ADMISSION_GATED_BY: GATE}), failed()))]
    #[case::by_mark(trainjob(
        json!({names::ADMISSION_GATED_BY: GATE, names::ENDED: "Failed"}), json!({})))]
    fn an_object_that_ended_unopened_is_rejected(#[case] trainjob: TrainJob) {
        let Step::Fail(error) = decide(&trainjob) else { panic!("not rejected") };
        assert_eq!(error.kind, ErrorKind::Rejected);
        assert_eq!(error.rules, ["OP-08"]);
        assert!(error.message.contains("(Failed)"), "{error}");
    }
}
