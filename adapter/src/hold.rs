//! Hold: the object is marked with a fresh token, then its Workload is deactivated (CA-01).

use dispatch_contract::resources::{TrainJob, Workload};
use dispatch_contract::{CallError, ErrorKind, ObjectRef, names};
use dispatch_kubernetes::{ended, owned};
use kube::ResourceExt;
use kube::runtime::watcher;
use tokio::time::Instant;

use crate::Adapter;
use crate::error::{fail, of_request};
use crate::watch::{Seen, until, watch};
use crate::workload::{WORKLOADS, belongs_to, set_active};
use crate::write::{Step, annotations_patch, read, settle};

/// What Hold does with an object, for a fresh token (CA-01).
///
/// A hold that finds another one replaces its token, so that a Release of the one before does not
/// take this one away.
pub fn decide(trainjob: &TrainJob, token: &str) -> Step<()> {
    if let Some(how) = ended::how(trainjob, None) {
        let message =
            format!("TrainJob {} ended ({how}); there is nothing to hold", trainjob.name_any());
        return Step::Fail(fail(ErrorKind::Rejected, message, &["CA-07"]));
    }
    if trainjob.hold_token() == Some(token) {
        return Step::Done(());
    }
    Step::Write(annotations_patch(trainjob, &[(names::HELD, Some(token))]))
}

pub(crate) async fn hold(adapter: &Adapter, object: &ObjectRef) -> Result<(), CallError> {
    let token = adapter.entropy().token();
    let decide = |trainjob: &TrainJob| adapter.decisions().hold(trainjob, &token);
    settle(adapter.client(), adapter.limits(), adapter.namespace(), object, decide).await?;
    deactivate(adapter, object).await?;
    // A Release may have come between mark and deactivation, and found an active Workload: what
    // was deactivated for the mark must not outlast it.
    let trainjob = read(adapter.client(), adapter.limits(), adapter.namespace(), object).await?;
    if trainjob.is_some_and(|trainjob| trainjob.hold_token().is_none()) {
        set_active(adapter, &object.uid, |w| if w.is_active() { Ok(()) } else { Err(true) })
            .await?;
    }
    Ok(())
}

/// Deactivates the object's Workload, and waits for it where Kueue has not made it yet.
async fn deactivate(adapter: &Adapter, object: &ObjectRef) -> Result<(), CallError> {
    let deadline = Instant::now() + adapter.config().timeouts.workload;
    let mut workloads = None;
    loop {
        let inactive =
            |w: &Workload| if adapter.decisions().deactivates(w) { Err(false) } else { Ok(()) };
        if set_active(adapter, &object.uid, inactive).await?.is_some() {
            return Ok(());
        }
        let workloads = workloads.get_or_insert_with(|| {
            let config = watcher::Config::default();
            watch::<Workload>(adapter.client(), adapter.namespace(), WORKLOADS, config)
        });
        let appeared = until(workloads, deadline, |seen| match seen {
            Seen::Version(workload) if belongs_to(&workload, &object.uid) => Some(()),
            _ => None,
        });
        if appeared.await?.is_none() {
            return Err(without_workload(adapter, object).await?);
        }
    }
}

/// There is no Workload to deactivate: the mark stands, and what is left is named.
async fn without_workload(adapter: &Adapter, object: &ObjectRef) -> Result<CallError, CallError> {
    let (client, limits) = (adapter.client(), adapter.limits());
    let pods = match read(client, limits, adapter.namespace(), object).await? {
        Some(trainjob) => owned::read(client, limits, &trainjob).await.map_err(of_request)?.pods,
        None => Vec::new(),
    };
    let left: Vec<_> = owned::live_pods(&pods).into_iter().map(|pod| pod.name).collect();
    let left = if left.is_empty() { "none".to_owned() } else { left.join(", ") };
    let message = format!(
        "TrainJob {}/{} is marked as held, but Kueue made no Workload for it within {} s that \
         could be deactivated; pods left: {left}",
        adapter.namespace(),
        object.name,
        adapter.config().timeouts.workload.as_secs_f64()
    );
    Ok(fail(ErrorKind::Deadline, message, &["CA-01"]))
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

    fn write(token: &str) -> Step<()> {
        Step::Write(json!({"metadata": {"uid": "u", "resourceVersion": "7",
            "annotations": {names::HELD: token}}}))
    }

    #[rstest]
    #[case::not_held(trainjob(json!({})), write("new"))]
    #[case::gated(trainjob(json!({names::ADMISSION_GATED_BY: names::GATE})), write("new"))]
    #[case::held_before(trainjob(json!({names::HELD: "old"})), write("new"))]
    #[case::held_by_this_call(trainjob(json!({names::HELD: "new"})), Step::Done(()))]
    fn every_hold_has_a_token_of_its_own(#[case] trainjob: TrainJob, #[case] expected: Step<()>) {
        assert_eq!(decide(&trainjob, "new"), expected);
    }

    #[test]
    fn an_ended_object_cannot_be_held() {
        let step = decide(&trainjob(json!({names::ENDED: "Complete"})), "new");
        assert!(matches!(step, Step::Fail(error) if error.kind == ErrorKind::Rejected));
    }
}
