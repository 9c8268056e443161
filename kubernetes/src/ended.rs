//! The ended mark: an object that ended never runs again (CA-07).

use dispatch_contract::names;
use dispatch_contract::resources::{Conditions, TrainJob, Workload};
use serde_json::{Value, json};

/// The ended mark of an object that failed.
pub const FAILED: &str = "Failed";

/// How an object ended: `Complete` or `Failed`, as the ended mark says it. `None` while it has not.
///
/// The mark comes first, since the conditions can be gone: Trainer drops `Failed` when the `JobSet`
/// disappears. The Workload's `Finished` outlives them in Kueue mode.
pub fn how(trainjob: &TrainJob, workload: Option<&Workload>) -> Option<String> {
    let marked = trainjob.ended_mark().map(str::to_owned);
    marked
        .or_else(|| trainjob.end().map(|condition| condition.type_.clone()))
        .or_else(|| workload.and_then(finished).map(str::to_owned))
}

/// How the job behind a Workload ended, by Kueue's own record of it. Kueue finishes a Workload for
/// other reasons too, such as one whose owner is gone, which say nothing about the job.
fn finished(workload: &Workload) -> Option<&'static str> {
    let condition = workload.conditions().find("Finished")?;
    match (condition.status.as_str(), condition.reason.as_str()) {
        ("True", "Succeeded") => Some("Complete"),
        ("True", "Failed") => Some(FAILED),
        _ => None,
    }
}

/// Whether the object is as an ended one has to be: marked and suspended.
pub fn is_sealed(trainjob: &TrainJob) -> bool {
    trainjob.ended_mark().is_some() && trainjob.is_suspended()
}

/// The body of the merge patch that suspends an ended object and writes the mark in one update,
/// with the version of the read.
pub fn mark_body(trainjob: &TrainJob, how: &str) -> Value {
    json!({
        "metadata": {
            "uid": trainjob.metadata.uid,
            "resourceVersion": trainjob.metadata.resource_version,
            "annotations": {names::ENDED: how},
        },
        "spec": {"suspend": true},
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn trainjob(mark: Option<&str>, condition: Option<(&str, &str)>) -> TrainJob {
        let annotations = mark.map(|how| json!({names::ENDED: how}));
        let conditions: Vec<_> = condition
            .iter()
            .map(|(type_, status)| json!({"type": type_, "status": status}))
            .collect();
        serde_json::from_value(json!({
            "metadata": {"name": "t", "uid": "u", "resourceVersion": "7", "annotations": annotations},
            "status": {"conditions": conditions},
        }))
        .unwrap()
    }

    fn workload(status: &str, reason: &str) -> Workload {
        serde_json::from_value(json!({"metadata": {"name": "w"}, "status": {"conditions": [
            {"type": "Finished", "status": status, "reason": reason}]}}))
        .unwrap()
    }

    #[rstest]
    #[case::running(trainjob(None, None), None, None)]
    #[case::complete(trainjob(None, Some(("Complete", "True"))), None, Some("Complete"))]
    #[case::failed(trainjob(None, Some(("Failed", "True"))), None, Some("Failed"))]
    #[case::no_longer_failed(trainjob(None, Some(("Failed", "False"))), None, None)]
    #[case::marked(trainjob(Some("Failed"), None), None, Some("Failed"))]
    #[case::kueue_saw_it(trainjob(None, None), Some(workload("True", "Failed")), Some("Failed"))]
    #[case::kueue_saw_it_done(
        trainjob(None, None),
        Some(workload("True", "Succeeded")),
        Some("Complete")
    )]
    #[case::finished_for_another_reason(
        trainjob(None, None),
        Some(workload("True", "OwnerNotFound")),
        None
    )]
    #[case::not_finished(trainjob(None, None), Some(workload("False", "Failed")), None)]
    fn an_end_is_read_from_mark_conditions_and_workload(
        #[case] trainjob: TrainJob,
        #[case] workload: Option<Workload>,
        #[case] expected: Option<&str>,
    ) {
        assert_eq!(how(&trainjob, workload.as_ref()).as_deref(), expected);
    }

    #[test]
    fn the_mark_and_the_suspension_are_one_write_at_the_version_of_the_read() {
        let body = mark_body(&trainjob(None, None), "Failed");
        assert_eq!(body["metadata"]["resourceVersion"], "7");
        assert_eq!(body["metadata"]["annotations"][names::ENDED], "Failed");
        assert_eq!(body["spec"]["suspend"], true);
    }
}
