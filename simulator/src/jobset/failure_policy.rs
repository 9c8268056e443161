//! What becomes of a `JobSet` of which a Job has failed (`JobSet` `pkg/controllers/failure_policy.go`).

use jiff::Timestamp;
use serde_json::Value;

use super::conditions::Condition;
use super::names::REPLICATED_JOB;
use super::status::Status;
use crate::object::{condition, items, label, name, number, text};

/// Without a policy it fails. With one, the first rule that fits says what happens; without a rule
/// that fits it is restarted.
pub(super) fn execute(job_set: &Value, failed: &[&Value], status: &mut Status, now: Timestamp) {
    let first = first_failed(failed);
    let Some(policy) = job_set.pointer("/spec/failurePolicy").filter(|it| !it.is_null()) else {
        let message = "jobset failed due to one or more job failures";
        return fail(status, "FailedJobs", message, first, now);
    };
    let matching = items(policy, "/rules").iter().find_map(|rule| {
        let fitting: Vec<&Value> = failed.iter().copied().filter(|it| fits(rule, it)).collect();
        first_failed(&fitting).map(|job| (text(rule, "/action"), job))
    });
    let (action, job) = match matching {
        Some((action, job)) => (action, Some(job)),
        None => ("RestartJobSet", first),
    };
    match action {
        "FailJobSet" => {
            let message = "applying FailJobSet failure policy action";
            fail(status, "FailJobSetFailurePolicyAction", message, job, now);
        }
        "RestartJobSetAndIgnoreMaxRestarts" => {
            let message =
                with_job("applying RestartJobSetAndIgnoreMaxRestarts failure policy action", job);
            status.restart(false);
            status.tell(true, "RestartJobSetAndIgnoreMaxRestartsFailurePolicyAction", &message);
        }
        _ if status.restarts_towards_max()
            >= number(policy, "/maxRestarts").unwrap_or_default() =>
        {
            let message = "jobset failed due to reaching max number of restarts";
            fail(status, "ReachedMaxRestarts", message, job, now);
        }
        _ => {
            let message = with_job("applying RestartJobSet failure policy action", job);
            status.restart(true);
            status.tell(true, "RestartJobSetFailurePolicyAction", &message);
        }
    }
}

fn fail(status: &mut Status, reason: &str, message: &str, job: Option<&Value>, now: Timestamp) {
    let message = with_job(message, job);
    let failed =
        Condition { type_: "Failed", status: "True", reason, message: &message, warning: true };
    status.end(failed, now);
}

/// `messageWithFirstFailedJob`.
fn with_job(message: &str, job: Option<&Value>) -> String {
    format!("{message} (first failed job: {})", job.map(name).unwrap_or_default())
}

/// The one that failed first; of several in the same second the first of them.
fn first_failed<'a>(jobs: &[&'a Value]) -> Option<&'a Value> {
    let at = |job: &Value| {
        let failed = condition(job, "Failed").unwrap_or(&Value::Null);
        text(failed, "/lastTransitionTime").to_owned()
    };
    jobs.iter().copied().min_by_key(|job| at(job))
}

/// Whether a rule fits; by patterns of messages it cannot be said here, so a rule with some fits
/// none.
fn fits(rule: &Value, job: &Value) -> bool {
    let failed = condition(job, "Failed").unwrap_or(&Value::Null);
    let lists = |pointer: &str, wanted: &str| {
        let list = items(rule, pointer);
        list.is_empty() || list.iter().any(|it| it == wanted)
    };
    lists("/onJobFailureReasons", text(failed, "/reason"))
        && lists("/targetReplicatedJobs", label(job, REPLICATED_JOB).unwrap_or_default())
        && items(rule, "/onJobFailureMessagePatterns").is_empty()
}
