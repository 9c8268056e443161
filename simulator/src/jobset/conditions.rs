//! The conditions of a `JobSet`, and the Events that go with them.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::object::seconds;

/// A condition, and whether it is a warning.
#[derive(Clone, Copy)]
pub(super) struct Condition<'a> {
    pub(super) type_: &'static str,
    pub(super) status: &'static str,
    pub(super) reason: &'a str,
    pub(super) message: &'a str,
    pub(super) warning: bool,
}

const fn normal(
    type_: &'static str,
    status: &'static str,
    reason: &'static str,
    message: &'static str,
) -> Condition<'static> {
    Condition { type_, status, reason, message, warning: false }
}

// `JobSet` pkg/constants/constants.go.
pub(super) const SUSPENDED: Condition<'static> =
    normal("Suspended", "True", "SuspendedJobs", "jobset is suspended");
pub(super) const RESUMED: Condition<'static> =
    normal("Suspended", "False", "ResumeJobs", "jobset is resumed");
pub(super) const COMPLETED: Condition<'static> =
    normal("Completed", "True", "AllJobsCompleted", "jobset completed successfully");
pub(super) const STARTING_IN_ORDER: Condition<'static> = normal(
    "StartupPolicyInProgress",
    "True",
    "InOrderStartupPolicyInProgress",
    "in order startup policy is in progress",
);
pub(super) const STARTED_IN_ORDER: Condition<'static> = normal(
    "StartupPolicyCompleted",
    "True",
    "InOrderStartupPolicyCompleted",
    "in order startup policy has completed",
);

/// Sets a condition: a new one only if it is True, an old one only if its status changes
/// (`updateCondition`). Returns whether anything changed.
pub(super) fn set(conditions: &mut Vec<Value>, wanted: Condition<'_>, now: Timestamp) -> bool {
    const STARTUP: &str = "StartupPolicy";
    let new = json!({
        "type": wanted.type_, "status": wanted.status, "reason": wanted.reason,
        "message": wanted.message, "lastTransitionTime": seconds(now),
    });
    let mut changed = false;
    let mut found = false;
    for condition in conditions.iter_mut() {
        if condition["type"] == wanted.type_ {
            found = true;
            if condition["status"] != wanted.status {
                *condition = new.clone();
                changed = true;
            }
            continue;
        }
        let of_startup = condition["type"].as_str().is_some_and(|it| it.starts_with(STARTUP));
        let excludes = of_startup && wanted.type_.starts_with(STARTUP);
        if excludes && condition["status"] == "True" && wanted.status == "True" {
            condition["status"] = "False".into();
            changed = true;
        }
    }
    if !found && wanted.status == "True" {
        conditions.push(new);
        changed = true;
    }
    changed
}
