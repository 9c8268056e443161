//! The body of a check write.

use dispatch_contract::resources::{AdmissionCheckState, CheckState};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::decide::Decision;
use crate::snapshot::Snapshot;

/// The longest message that is written, in characters. Kueue takes at most 32,768.
const MESSAGE_AT_MOST: usize = 32_000;

const PENDING: &[CheckState] = &[CheckState::Pending];
const READY: &[CheckState] = &[CheckState::Ready];
const UNDECIDED: &[CheckState] = &[CheckState::Pending, CheckState::Ready];

/// A change of this controller's entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// Entries in one of these states change.
    from: &'static [CheckState],
    /// To this one.
    to: CheckState,
    /// With this message.
    message: String,
}

impl Change {
    /// The change that a decision asks for; `None` where it asks for none of a check.
    pub(super) fn of(decision: &Decision) -> Option<Self> {
        use CheckState::{Pending, Ready, Retry};
        let (from, to, message) = match decision {
            Decision::Wait(reason) => (PENDING, Pending, reason.to_string()),
            Decision::PassThrough => (PENDING, Ready, "not an object of dispatch's".to_owned()),
            Decision::Approve { a, unreadable } if unreadable.is_empty() => {
                (PENDING, Ready, format!("A={a}"))
            }
            Decision::Approve { a, unreadable } => {
                let ignored = unreadable.join(", ");
                (PENDING, Ready, format!("A={a}; ignored, since it cannot be read: {ignored}"))
            }
            Decision::Heal { message } => (UNDECIDED, Retry, message.clone()),
            Decision::Unbank => {
                (READY, Pending, "set back: no quota is reserved any more".to_owned())
            }
            Decision::NotOurs
            | Decision::Nothing(_)
            | Decision::Raise(_)
            | Decision::AwaitTakeover(_)
            | Decision::MarkEnded { .. } => return None,
        };
        Some(Self { from, to, message: shortened(message) })
    }
}

fn shortened(message: String) -> String {
    match message.char_indices().nth(MESSAGE_AT_MOST) {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => message,
    }
}

/// The server-side apply of this controller's entries, with the version of the Workload's read.
/// `None` where it would change nothing.
///
/// All entries of this controller are in it, changed or not: an apply takes away what its manager
/// once set and no longer names.
pub(super) fn apply_body(snapshot: &Snapshot, change: &Change, now: Timestamp) -> Option<Value> {
    let changes = |check: &AdmissionCheckState| change.from.contains(&check.state);
    let differs = |check: &AdmissionCheckState| {
        changes(check) && (check.state != change.to || check.message != change.message)
    };
    if !snapshot.own_checks().any(differs) {
        return None;
    }
    let now = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let entry = |check: &AdmissionCheckState| {
        let (state, message) = if changes(check) {
            (&change.to, change.message.as_str())
        } else {
            (&check.state, check.message.as_str())
        };
        let since = match &check.last_transition_time {
            Some(since) if *state == check.state => json!(since),
            _ => json!(now),
        };
        json!({
            "name": check.name,
            "state": state,
            "message": message,
            "lastTransitionTime": since,
        })
    };
    let entries: Vec<Value> = snapshot.own_checks().map(entry).collect();
    let workload = &snapshot.workload;
    Some(json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": workload.object.metadata.name,
            "namespace": workload.object.metadata.namespace,
            "uid": workload.uid(),
            "resourceVersion": workload.version(),
        },
        "status": {"admissionChecks": entries},
    }))
}
