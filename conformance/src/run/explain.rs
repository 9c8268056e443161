//! Why a fact is not true yet: the state that it speaks of, in a line a person can read.

use serde_json::Value;

use crate::history::{History, Kind, Trail};
use crate::scenario::{Fact, JobName};

/// How many warnings are told of a job.
const WARNINGS: usize = 3;

/// What is the case now with everything that a fact speaks of.
pub(super) fn explain(fact: &Fact, history: &History) -> String {
    let mut jobs = Vec::new();
    jobs_of(fact, &mut jobs);
    jobs.dedup();
    if jobs.is_empty() {
        return admission_check(history);
    }
    jobs.iter().map(|job| of_job(job, history)).collect::<Vec<_>>().join("; ")
}

fn jobs_of<'a>(fact: &'a Fact, jobs: &mut Vec<&'a JobName>) {
    match fact {
        Fact::Workload(fact) => {
            jobs.push(&fact.job);
            jobs.extend(&fact.names_pods_of);
        }
        Fact::TrainJob(fact) => jobs.push(&fact.job),
        Fact::JobSet(fact) => jobs.push(&fact.job),
        Fact::Running(fact) => jobs.push(&fact.job),
        Fact::Pod(fact) => jobs.push(&fact.job),
        Fact::Gone(target) => jobs.push(&target.of),
        Fact::Ended { job, .. } => jobs.push(job),
        Fact::Called(fact) => jobs.extend(&fact.job),
        Fact::Together(facts) | Fact::Any(facts) | Fact::InOrder(facts) => {
            for fact in facts {
                jobs_of(fact, jobs);
            }
        }
        Fact::Met(_)
        | Fact::Sent(_)
        | Fact::Answered { .. }
        | Fact::Process(_)
        | Fact::AdmissionCheckActive { .. }
        | Fact::Preflight(_) => {}
    }
}

fn of_job(job: &JobName, history: &History) -> String {
    let Some(object) = history.object_of_job(job.as_str()) else {
        return format!("{job} is not there");
    };
    let mut parts = vec![format!("{job} ({} {})", object.kind, object.name)];
    parts.extend(state(object, history));
    for workload in history.workloads_of(&object.uid) {
        parts.extend(state(workload, history));
    }
    for jobset in history.jobsets_of(&object.uid) {
        parts.extend(state(jobset, history));
    }
    let pods = history.pods_of(&object.uid);
    let living = pods.iter().filter_map(|pod| Some(pod_state(pod, latest(pod, history)?)));
    let living: Vec<_> = living.collect();
    parts.push(if living.is_empty() { "no pod".to_owned() } else { living.join(", ") });
    parts.extend(warnings(object, history));
    parts.join("; ")
}

/// The kind, whether it is suspended, and every condition with its reason and message.
fn state(trail: &Trail, history: &History) -> Option<String> {
    let object = latest(trail, history)?;
    let mut words = Vec::new();
    if let Some(suspended) = object.pointer("/spec/suspend").and_then(Value::as_bool) {
        words.push(if suspended { "suspended".to_owned() } else { "not suspended".to_owned() });
    }
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    words.extend(conditions.into_iter().flatten().map(condition));
    let checks = object.pointer("/status/admissionChecks").and_then(Value::as_array);
    words.extend(checks.into_iter().flatten().map(check));
    Some(format!("{}: {}", trail.kind, words.join(", ")))
}

fn condition(condition: &Value) -> String {
    let text = |key: &str| condition[key].as_str().unwrap_or_default();
    let (kind, status, reason) = (text("type"), text("status"), text("reason"));
    match status {
        "True" => format!("{kind} ({reason})"),
        _ => format!("{kind}={status} ({reason}: {})", text("message")),
    }
}

fn check(check: &Value) -> String {
    let text = |key: &str| check[key].as_str().unwrap_or_default();
    format!("check {}: {}", text("state"), text("message"))
}

fn pod_state(pod: &Trail, object: &Value) -> String {
    let phase = object.pointer("/status/phase").and_then(Value::as_str).unwrap_or("Pending");
    let terminating = object.pointer("/metadata/deletionTimestamp").is_some();
    let terminating = if terminating { ", Terminating" } else { "" };
    let unscheduled = object.pointer("/spec/nodeName").is_none();
    let unscheduled = if unscheduled { ", on no node" } else { "" };
    format!("pod {} ({phase}{terminating}{unscheduled})", pod.name)
}

/// The last warnings of controllers about anything that has the job's name in its own.
fn warnings(object: &Trail, history: &History) -> Vec<String> {
    let events = history.of_kind(Kind::Event).filter_map(|trail| latest(trail, history));
    let about = |event: &&Value| {
        let name = event.pointer("/involvedObject/name").and_then(Value::as_str);
        event["type"] == "Warning" && name.is_some_and(|name| name.contains(&object.name))
    };
    let mut warnings: Vec<_> = events.filter(about).map(warning).collect();
    warnings.dedup();
    warnings.split_off(warnings.len().saturating_sub(WARNINGS))
}

fn warning(event: &Value) -> String {
    let text = |at: &str| event.pointer(at).and_then(Value::as_str).unwrap_or_default();
    let (kind, reason) = (text("/involvedObject/kind"), text("/reason"));
    format!("{kind} warns of {reason}: {}", text("/message"))
}

fn admission_check(history: &History) -> String {
    let checks = history.of_kind(Kind::AdmissionCheck).filter_map(|trail| state(trail, history));
    checks.collect::<Vec<_>>().join("; ")
}

/// The object as it was last seen; `None` if it is gone.
fn latest<'a>(trail: &Trail, history: &'a History) -> Option<&'a Value> {
    trail.now().and_then(|version| history.raw(version))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::history::told::Told;
    use crate::scenario::RunningFact;

    fn running(job: &str) -> Fact {
        let job = JobName::new(job).unwrap();
        Fact::Running(RunningFact { job, execution: None, admission: None })
    }

    #[test]
    fn a_job_that_was_never_made_is_said_not_to_be_there() {
        assert_eq!(explain(&running("train"), &Told::kueue().history()), "train is not there");
    }

    #[test]
    fn a_wait_for_no_job_tells_of_the_check() {
        let fact = Fact::AdmissionCheckActive { active: false };
        assert_eq!(explain(&fact, &Told::kueue().history()), "AdmissionCheck: Active ()");
    }

    #[test]
    fn a_job_is_told_of_with_its_workload_and_its_pods() {
        let mut told = Told::kueue();
        told.starts();
        let now = explain(&running("train"), &told.history());
        for part in ["train (TrainJob dj-", "TrainJob: suspended", "Workload: ", "no pod"] {
            assert!(now.contains(part), "{part:?} is not in {now}");
        }
    }

    #[test]
    fn conditions_and_checks_are_told_in_words() {
        let waiting = json!({
            "type": "QuotaReserved", "status": "False", "reason": "Pending", "message": "no room",
        });
        assert_eq!(condition(&waiting), "QuotaReserved=False (Pending: no room)");
        let pending = json!({ "name": "c", "state": "Pending", "message": "waiting" });
        assert_eq!(check(&pending), "check Pending: waiting");
    }
}
