//! One event of a history in words.

use dispatch_contract::names;
use dispatch_contract::resources::{Conditions, JobSet, TrainJob, Workload};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::Map;

use super::plain;
use crate::history::{
    CallOutcome, Change, Event, History, Object, ObjectVersion, Subject, SubjectChange, Version,
    What,
};

mod request;

/// The greatest length of a description, in characters.
const LENGTH: usize = 240;

/// What happened, on one line. Of a version, what changed in it of what the contract speaks of.
pub(super) fn describe(history: &History, event: &Event) -> String {
    let text = match &event.what {
        What::Begin(begin) => format!("the run of {} begins", begin.scenario),
        What::JobNamed(named) => format!("{} is the {} {}", named.job, named.kind, named.name),
        What::Version(version) => describe_version(history, event, version),
        What::Gap(gap) => match gap.kind {
            Some(kind) => format!("the record of {kind}s has a gap: {}", gap.why),
            None => format!("the record has a gap: {}", gap.why),
        },
        What::CallInvoked(call) => {
            format!(
                "the adapter is called: {}",
                call_words(call.verb.as_str(), call.job.as_deref())
            )
        }
        What::CallAnswered(answered) => {
            let call = history.calls().iter().find(|call| call.invoked.call == answered.call);
            let words = call.map_or_else(String::new, |call| {
                call_words(call.invoked.verb.as_str(), call.invoked.job.as_deref())
            });
            format!("the adapter answers {words}: {}", outcome(&answered.outcome))
        }
        What::StepBegan(step) => format!("step {}: {}", step.index + 1, step.text),
        What::StepEnded(step) => format!("step {} is done", step.index + 1),
        What::StepFailed(step) => format!("step {} failed: {}", step.index + 1, step.why),
        What::Subject(subject) => {
            let what = match subject.change {
                SubjectChange::Started => "is started",
                SubjectChange::Ready => "is ready",
                SubjectChange::Stopped => "has stopped",
                SubjectChange::Killed => "is killed",
                SubjectChange::Frozen => "stands still",
                SubjectChange::Thawed => "goes on",
                SubjectChange::Died => "died",
            };
            format!("{} {what}", Subject { role: subject.role, replica: subject.replica })
        }
        What::Request(_)
        | What::RequestSent(_)
        | What::RequestEnded(_)
        | What::Delivered(_)
        | What::Fault(_) => request::describe(history, &event.what),
        What::Container(line) => {
            let (words, a) = (line.said.what.as_str(), line.said.admission.as_deref());
            let a = a.map_or_else(|| "without A".to_owned(), |a| format!("with A={a}"));
            format!("the container of Pod {} says {a}: {words}", line.pod)
        }
        What::End(_) => "the run ends".to_owned(),
    };
    shorten(&plain(&text))
}

fn shorten(text: &str) -> String {
    if text.chars().count() <= LENGTH {
        return text.to_owned();
    }
    text.chars().take(LENGTH - 1).chain(['…']).collect()
}

fn call_words(verb: &str, job: Option<&str>) -> String {
    job.map_or_else(|| verb.to_owned(), |job| format!("{verb} {job}"))
}

fn outcome(outcome: &CallOutcome) -> String {
    match outcome {
        CallOutcome::Ok(answer) if answer.as_object().is_some_and(Map::is_empty) => "ok".to_owned(),
        CallOutcome::Ok(answer) => format!("ok, {answer}"),
        CallOutcome::Failed(error) => error.to_string(),
        CallOutcome::Unknown(error) => format!("it may have been applied: {error}"),
    }
}

fn describe_version(history: &History, event: &Event, version: &ObjectVersion) -> String {
    let what = format!("{} {}", version.kind, version.name);
    let trail = history.object(&version.uid);
    let order = event.order.unwrap_or_default();
    let this = trail.and_then(|trail| trail.versions().iter().find(|it| it.order == order));
    let now = this.map(notable).unwrap_or_default();
    match version.change {
        Change::Deleted => format!("{what} is gone"),
        Change::Added => {
            let said: Vec<_> = now.iter().map(|(name, value)| format!("{name} {value}")).collect();
            if said.is_empty() {
                format!("{what} is there")
            } else {
                format!("{what} is there: {}", said.join(", "))
            }
        }
        Change::Modified => {
            let before = trail.and_then(|trail| trail.before(order)).map(notable);
            let changes = changes(&before.unwrap_or_default(), &now);
            if changes.is_empty() {
                return format!("{what} changes in what the contract does not speak of");
            }
            format!("{what}: {}", changes.join(", "))
        }
    }
}

/// A name and its value.
type Notable = (String, String);

/// What differs, as `name old → new`.
fn changes(before: &[Notable], now: &[Notable]) -> Vec<String> {
    let value = |of: &[Notable], name: &str| {
        of.iter().find(|(it, _)| it == name).map_or("absent".to_owned(), |(_, value)| value.clone())
    };
    let mut names: Vec<&str> = now.iter().chain(before).map(|(name, _)| name.as_str()).collect();
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    let pairs = names.into_iter().map(|name| (name, value(before, name), value(now, name)));
    pairs
        .filter(|(_, before, now)| before != now)
        .map(|(name, before, now)| format!("{name} {before} → {now}"))
        .collect()
}

/// What the contract speaks of in an object.
fn notable(version: &Version) -> Vec<Notable> {
    let pairs: Vec<(&str, Option<String>)> = match &version.object {
        Object::TrainJob(job) => trainjob(job),
        Object::Workload(workload) => return named(self::workload(workload), checks(workload)),
        Object::JobSet(jobset) => self::jobset(jobset),
        Object::Job(job) => self::job(job),
        Object::Pod(pod) => self::pod(pod),
        Object::Other | Object::Unreadable(_) => Vec::new(),
    };
    named(pairs, Vec::new())
}

fn named(pairs: Vec<(&str, Option<String>)>, more: Vec<Notable>) -> Vec<Notable> {
    let there = pairs.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    there.chain(more).collect()
}

fn trainjob(job: &TrainJob) -> Vec<(&'static str, Option<String>)> {
    let annotation = |key| job.annotation(key).map(|value| format!("`{value}`"));
    vec![
        ("suspend", Some(job.is_suspended().to_string())),
        ("A", annotation(names::ADMISSION_COUNT)),
        ("gates", annotation(names::ADMISSION_GATED_BY)),
        ("opened", annotation(names::OPENED)),
        ("held", annotation(names::HELD)),
        ("ended mark", annotation(names::ENDED)),
        ("end", job.end().map(|condition| condition.type_.clone())),
    ]
}

fn workload(workload: &Workload) -> Vec<(&'static str, Option<String>)> {
    let condition = |type_| {
        let found = workload.conditions().find(type_)?;
        Some(format!("{} ({})", found.status, found.reason))
    };
    vec![
        ("active", Some(workload.is_active().to_string())),
        ("QuotaReserved", condition("QuotaReserved")),
        ("Admitted", condition("Admitted")),
        ("Evicted", condition("Evicted")),
        ("Finished", condition("Finished")),
    ]
}

fn checks(workload: &Workload) -> Vec<Notable> {
    let entries = workload.checks().iter();
    let entry = |check: &dispatch_contract::resources::AdmissionCheckState| {
        (format!("check {}", check.name), format!("{} (\"{}\")", check.state, check.message))
    };
    entries.map(entry).collect()
}

fn jobset(jobset: &JobSet) -> Vec<(&'static str, Option<String>)> {
    let counts = jobset.spec.replicated_jobs.iter();
    let mut counts: Vec<_> =
        counts.filter_map(|job| job.pod_annotation(names::POD_ADMISSION)).collect();
    counts.dedup();
    let counts = (!counts.is_empty()).then(|| format!("`{}`", counts.join("`, `")));
    vec![("suspend", Some(jobset.is_suspended().to_string())), ("A of its pods to come", counts)]
}

fn job(job: &Job) -> Vec<(&'static str, Option<String>)> {
    let suspend = job.spec.as_ref().and_then(|spec| spec.suspend).unwrap_or_default();
    let status = job.status.as_ref();
    vec![
        ("suspend", Some(suspend.to_string())),
        ("active", status.and_then(|status| status.active).map(|count| count.to_string())),
        (
            "terminating",
            status.and_then(|status| status.terminating).map(|count| count.to_string()),
        ),
    ]
}

fn pod(pod: &Pod) -> Vec<(&'static str, Option<String>)> {
    let phase = pod.status.as_ref().and_then(|status| status.phase.clone());
    let count = pod.annotations().get(names::POD_ADMISSION);
    let terminating = pod.metadata.deletion_timestamp.is_some();
    vec![
        ("phase", phase),
        ("A", count.map(|count| format!("`{count}`"))),
        ("Terminating", Some(terminating.to_string())),
    ]
}
