//! Release: the hold that was found is taken away, then the Workload goes on (CA-02).

use dispatch_contract::resources::{Conditions, TrainJob, Workload};
use dispatch_contract::{CallError, ErrorKind, ObjectRef, ReleaseAnswer, names};
use dispatch_kubernetes::ended;
use kube::ResourceExt;

use crate::Adapter;
use crate::error::{fail, not_found};
use crate::workload::{find, is_deactivated_by_dispatch, set_active};
use crate::write::{Step, annotations_patch, read, settle};

/// What became of the hold that Release found first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifted {
    /// It is gone.
    Gone,
    /// There was none.
    NotHeld,
    /// Somebody holds the object anew; that hold stays.
    HeldAnew,
}

/// What Release does with a Workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resumption {
    /// Nothing: it is active.
    Active,
    /// It was deactivated by dispatch's hold, and is to be active again.
    Activate,
    /// Somebody else deactivated it, for this reason; it stays so.
    Leave(String),
}

/// What Release does with an object whose first read had the token `first` (CA-02). The Workload
/// tells of an end that the object's own conditions have lost.
///
/// A hold of another token is somebody else's, taken since: a Release that is repeated after a lost
/// answer must not take it away.
pub fn decide(
    trainjob: &TrainJob,
    workload: Option<&Workload>,
    first: Option<&str>,
) -> Step<Lifted> {
    if let Some(how) = ended::how(trainjob, workload) {
        let message =
            format!("TrainJob {} ended ({how}); it never runs again", trainjob.name_any());
        return Step::Fail(fail(ErrorKind::Rejected, message, &["CA-07"]));
    }
    match (trainjob.hold_token(), first) {
        (None, None) => Step::Done(Lifted::NotHeld),
        (None, Some(_)) => Step::Done(Lifted::Gone),
        (Some(token), Some(first)) if token == first => {
            Step::Write(annotations_patch(trainjob, &[(names::HELD, None)]))
        }
        (Some(_), _) => Step::Done(Lifted::HeldAnew),
    }
}

/// What Release does with the Workload of an object that is not held any more (CA-02).
///
/// Who deactivated it is read from the field manager that the API server recorded for
/// `spec.active`.
pub fn resume(workload: &Workload) -> Resumption {
    if workload.is_active() {
        return Resumption::Active;
    }
    if is_deactivated_by_dispatch(workload) {
        return Resumption::Activate;
    }
    let why = workload
        .conditions()
        .find("Evicted")
        .filter(|condition| condition.status == "True" && !condition.message.is_empty())
        .map_or_else(String::new, |condition| format!(": {}", condition.message));
    Resumption::Leave(format!(
        "the Workload {} was deactivated by somebody else{why}; set its spec.active to true to let \
         it go on",
        workload.name_any()
    ))
}

pub(crate) async fn release(
    adapter: &Adapter,
    object: &ObjectRef,
) -> Result<ReleaseAnswer, CallError> {
    let (client, limits, namespace) = (adapter.client(), adapter.limits(), adapter.namespace());
    let Some(trainjob) = read(client, limits, namespace, object).await? else {
        return Err(not_found(namespace, object));
    };
    let workload = find(adapter, &object.uid).await?;
    let first = trainjob.hold_token();
    let decide =
        |trainjob: &TrainJob| adapter.decisions().release(trainjob, workload.as_ref(), first);
    let lifted = settle(client, limits, namespace, object, decide).await?;
    if lifted == Lifted::HeldAnew {
        let why = "somebody holds the object anew; release that hold by another call".to_owned();
        return Ok(ReleaseAnswer { released: false, not_resumed: Some(why) });
    }
    let resumed = set_active(adapter, &object.uid, |w| match adapter.decisions().resume(w) {
        Resumption::Active => Ok(None),
        Resumption::Activate => Err(true),
        Resumption::Leave(why) => Ok(Some(why)),
    });
    // Without a Workload there is nothing to do: the one that Kueue makes is active.
    let not_resumed = resumed.await?.flatten();
    yield_to_a_new_hold(adapter, object).await?;
    Ok(ReleaseAnswer { released: lifted == Lifted::Gone, not_resumed })
}

/// A Hold may have come between the lifting and the activation, and found an inactive Workload:
/// what was activated must not undo it.
async fn yield_to_a_new_hold(adapter: &Adapter, object: &ObjectRef) -> Result<(), CallError> {
    let (client, limits, namespace) = (adapter.client(), adapter.limits(), adapter.namespace());
    let held = read(client, limits, namespace, object).await?;
    if held.is_some_and(|trainjob| trainjob.hold_token().is_some()) {
        set_active(adapter, &object.uid, |w| if w.is_active() { Err(false) } else { Ok(()) })
            .await?;
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "literals of JSON read best in place")]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn trainjob(annotations: Value) -> TrainJob {
        serde_json::from_value(json!({"metadata": {"name": "t", "uid": "u",
            "resourceVersion": "7", "annotations": annotations}}))
        .unwrap()
    }

    fn held(token: &str) -> TrainJob {
        trainjob(json!({names::HELD: token}))
    }

    #[rstest]
    #[case::never_held(trainjob(json!({})), None, Step::Done(Lifted::NotHeld))]
    #[case::lifted_by_this_call(trainjob(json!({})), Some("a"), Step::Done(Lifted::Gone))]
    #[case::held_anew(held("b"), Some("a"), Step::Done(Lifted::HeldAnew))]
    #[case::held_since_the_first_read(held("b"), None, Step::Done(Lifted::HeldAnew))]
    #[case::held(held("a"), Some("a"), Step::Write(json!({"metadata": {"uid": "u",
        "resourceVersion": "7", "annotations": {names::HELD: null}}})))]
    fn exactly_the_token_that_was_read_first_is_taken_away(
        #[case] trainjob: TrainJob,
        #[case] first: Option<&str>,
        #[case] expected: Step<Lifted>,
    ) {
        assert_eq!(decide(&trainjob, None, first), expected);
    }

    fn finished() -> Workload {
        serde_json::from_value(json!({"metadata": {"name": "w"}, "status": {"conditions": [
            {"type": "Finished", "status": "True", "reason": "Failed"}]}}))
        .unwrap()
    }

    #[rstest]
    #[case::by_mark(trainjob(json!({names::HELD: "a", names::ENDED: "Failed"})), None)]
    #[case::by_mark_without_a_hold(trainjob(json!({names::ENDED: "Complete"})), None)]
    #[case::by_its_workload_alone(held("a"), Some(finished()))]
    fn an_ended_object_is_not_released(
        #[case] trainjob: TrainJob,
        #[case] workload: Option<Workload>,
    ) {
        let Step::Fail(error) = decide(&trainjob, workload.as_ref(), Some("a")) else {
            panic!("not rejected")
        };
        assert_eq!((error.kind, error.rules), (ErrorKind::Rejected, vec!["CA-07".to_owned()]));
    }

    fn workload(active: bool, manager: &str) -> Workload {
        serde_json::from_value(json!({
            "metadata": {"name": "w", "managedFields": [{"manager": manager,
                "fieldsV1": {"f:spec": {"f:active": {}}}}]},
            "spec": {"active": active},
            "status": {"conditions": [{"type": "Evicted", "status": "True",
                "reason": "Deactivated", "message": "The workload is deactivated"}]},
        }))
        .unwrap()
    }

    #[rstest]
    #[case::active(workload(true, "kueue"), Resumption::Active)]
    #[case::held_by_dispatch(workload(false, names::FIELD_MANAGER_ADAPTER), Resumption::Activate)]
    fn a_workload_that_dispatch_deactivated_goes_on(
        #[case] workload: Workload,
        #[case] expected: Resumption,
    ) {
        assert_eq!(resume(&workload), expected);
    }

    #[test]
    fn a_workload_that_others_deactivated_stays_so_and_the_reason_is_given() {
        let Resumption::Leave(why) = resume(&workload(false, "kubectl-edit")) else {
            panic!("reactivated")
        };
        assert!(why.contains("somebody else: The workload is deactivated"), "{why}");
    }
}
