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
        use CheckState::{Pending, Ready, Rejected, Retry};
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
            Decision::Reject { how } => {
                (UNDECIDED, Rejected, format!("ended ({how}); it never runs again"))
            }
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

#[cfg(test)]
mod tests {
    use dispatch_contract::AdmissionCount;
    use rstest::rstest;

    use super::*;
    use crate::decide::WaitReason;
    use crate::snapshot::{At, Owner};

    const NOW: &str = "2026-02-03T04:05:06.789Z";
    const SINCE: &str = "2026-01-01T00:00:00Z";

    /// A Workload with two checks of this controller's, and another's between them.
    fn snapshot(first: &str, second: &str) -> Snapshot {
        let check = |name: &str, state: &str, message: &str| {
            json!({"name": name, "state": state, "message": message, "lastTransitionTime": SINCE,
                "retryCount": 1})
        };
        let workload = serde_json::from_value(json!({
            "metadata": {"name": "w", "namespace": "n", "uid": "u", "resourceVersion": "5"},
            "status": {"admissionChecks": [
                check("one", first, "held by dispatch"),
                check("another", "Pending", ""),
                check("two", second, "held by dispatch"),
            ]},
        }))
        .unwrap();
        let checks = vec!["one".to_owned(), "two".to_owned()];
        Snapshot {
            workload: At::read(workload).unwrap(),
            checks,
            owner: Owner::NotRead,
            raised: None,
        }
    }

    fn body(snapshot: &Snapshot, decision: &Decision) -> Option<Value> {
        apply_body(snapshot, &Change::of(decision).unwrap(), NOW.parse().unwrap())
    }

    fn approve() -> Decision {
        Decision::Approve { a: AdmissionCount::new(3).unwrap(), unreadable: vec![] }
    }

    #[test]
    fn a_write_has_the_version_of_the_read_and_the_entries_of_this_controller_alone() {
        let body = body(&snapshot("Pending", "Pending"), &approve()).unwrap();
        assert_eq!(body["metadata"]["resourceVersion"], "5");
        assert_eq!(body["metadata"]["uid"], "u");
        let entry = |name: &str| {
            json!({"name": name, "state": "Ready", "message": "A=3",
                "lastTransitionTime": "2026-02-03T04:05:06Z"})
        };
        assert_eq!(body["status"], json!({"admissionChecks": [entry("one"), entry("two")]}));
    }

    #[test]
    fn an_entry_that_does_not_change_is_said_again_as_it_is() {
        let body = body(&snapshot("Pending", "Ready"), &approve()).unwrap();
        assert_eq!(
            body["status"]["admissionChecks"][1],
            json!({"name": "two", "state": "Ready", "message": "held by dispatch",
                "lastTransitionTime": SINCE})
        );
    }

    #[rstest]
    #[case::same_message(Decision::Wait(WaitReason::Held), None)]
    #[case::other_message(Decision::Wait(WaitReason::Gated), Some(("Pending", SINCE)))]
    #[case::other_state(Decision::PassThrough, Some(("Ready", "2026-02-03T04:05:06Z")))]
    fn only_a_change_is_written(
        #[case] decision: Decision,
        #[case] expected: Option<(&str, &str)>,
    ) {
        let body = body(&snapshot("Pending", "Pending"), &decision);
        let written = body.as_ref().map(|body| {
            let entry = &body["status"]["admissionChecks"][0];
            (entry["state"].as_str().unwrap(), entry["lastTransitionTime"].as_str().unwrap())
        });
        assert_eq!(written, expected);
    }

    #[rstest]
    #[case::healed(Decision::Heal { message: "x".into() }, "Retry")]
    #[case::ended(Decision::Reject { how: "Failed".into() }, "Rejected")]
    #[case::set_back(Decision::Unbank, "Pending")]
    fn a_ready_check_is_taken_back(#[case] decision: Decision, #[case] state: &str) {
        let body = body(&snapshot("Ready", "Retry"), &decision).unwrap();
        assert_eq!(body["status"]["admissionChecks"][0]["state"], state);
        assert_eq!(body["status"]["admissionChecks"][1]["state"], "Retry");
    }

    #[test]
    fn a_message_is_no_longer_than_kueue_takes() {
        let message = "ü".repeat(40_000);
        let body = body(&snapshot("Ready", "Ready"), &Decision::Heal { message }).unwrap();
        let written = body["status"]["admissionChecks"][0]["message"].as_str().unwrap();
        assert_eq!(written.chars().count(), MESSAGE_AT_MOST + 1);
    }
}
