//! What of an object's state is compared.

use std::collections::BTreeMap;

use dispatch_contract::names;
use serde_json::Value;

use crate::history::{Begin, Kind};

/// The counts in the status of a Job.
const OF_JOB: [&str; 5] = ["active", "ready", "terminating", "succeeded", "failed"];

/// The counts that `JobSet` and Trainer have of each replicated job.
const OF_REPLICATED: [&str; 5] = ["active", "ready", "succeeded", "failed", "suspended"];

/// What an aspect is called that is a count.
pub(super) const COUNT: &str = "count ";

/// What an object's state consists of: each aspect's value, by its name. What is not there has no
/// entry, and neither has what differs from run to run: times, UIDs, messages.
pub(super) fn aspects(kind: Kind, object: &Value, begin: &Begin) -> BTreeMap<String, String> {
    let mut found = Aspects(BTreeMap::new());
    found.metadata(&object["metadata"]);
    found.conditions(&object["status"]["conditions"]);
    let (spec, status) = (&object["spec"], &object["status"]);
    match kind {
        Kind::TrainJob => found.trainjob(&object["metadata"], spec, status),
        Kind::Workload => found.workload(&object["metadata"], spec, status, begin),
        Kind::JobSet => found.jobset(spec, status),
        Kind::Job => found.job(spec, status),
        Kind::Pod => found.pod(spec, status),
        _ => {}
    }
    found.0
}

struct Aspects(BTreeMap<String, String>);

impl Aspects {
    fn set(&mut self, name: impl Into<String>, value: impl std::fmt::Display) {
        // Values are words, so that a recording can be split at blanks after commas.
        let value = value.to_string().replace(char::is_whitespace, "_");
        self.0.insert(name.into(), value);
    }

    fn text(&mut self, name: &str, value: &Value) {
        if let Some(text) = value.as_str() {
            self.set(name, text);
        }
    }

    fn flag(&mut self, name: &str, value: &Value, default: bool) {
        self.set(name, value.as_bool().unwrap_or(default));
    }

    fn there(&mut self, name: &str, is_there: bool) {
        if is_there {
            self.set(name, "set");
        }
    }

    fn counts(&mut self, of: &str, value: &Value, which: &[&str]) {
        for name in which {
            if let Some(count) = value[name].as_u64().filter(|count| *count > 0) {
                self.set(format!("{COUNT}{of}{name}"), count);
            }
        }
    }

    fn metadata(&mut self, metadata: &Value) {
        self.there("deletion", !metadata["deletionTimestamp"].is_null());
        let mut finalizers = strings(&metadata["finalizers"]);
        finalizers.sort_unstable();
        if !finalizers.is_empty() {
            self.set("finalizers", finalizers.join(","));
        }
    }

    fn conditions(&mut self, conditions: &Value) {
        for condition in conditions.as_array().into_iter().flatten() {
            let Some(type_) = condition["type"].as_str() else { continue };
            let status = condition["status"].as_str().unwrap_or_default();
            match condition["reason"].as_str().filter(|reason| !reason.is_empty()) {
                Some(reason) => self.set(type_, format!("{status}({reason})")),
                None => self.set(type_, status),
            }
        }
    }

    /// Dispatch's annotations and Kueue's gates, without the values that differ from run to run.
    fn annotations(&mut self, metadata: &Value) {
        for (key, value) in metadata["annotations"].as_object().into_iter().flatten() {
            let value = value.as_str().unwrap_or_default();
            match key.as_str() {
                names::ADMISSION_GATED_BY => self.set("gates", value.replace(names::GATE, "ours")),
                names::ADMISSION_COUNT => self.set("A", value),
                names::ENDED => self.set("ended", value),
                // How often that was depends on how long the scenario took.
                names::PROBE_RENEWED => {}
                key => {
                    if let Some(name) = key.strip_prefix(names::PREFIX) {
                        self.set(name, "set");
                    }
                }
            }
        }
    }

    fn trainjob(&mut self, metadata: &Value, spec: &Value, status: &Value) {
        self.annotations(metadata);
        self.flag("suspend", &spec["suspend"], false);
        self.text("managedBy", &spec["managedBy"]);
        let patches = spec["runtimePatches"].as_array().into_iter().flatten();
        let managers = patches.filter_map(|patch| patch["manager"].as_str());
        let managers: Vec<_> = managers.map(short).collect();
        self.set("patches", managers.join(","));
        self.replicated(&status["jobsStatus"]);
    }

    fn workload(&mut self, metadata: &Value, spec: &Value, status: &Value, begin: &Begin) {
        self.annotations(metadata);
        self.flag("active", &spec["active"], true);
        self.there("admission", !status["admission"].is_null());
        for check in status["admissionChecks"].as_array().into_iter().flatten() {
            let is_ours = check["name"].as_str() == begin.admission_check.as_deref();
            let name = if is_ours { "check ours" } else { "check of others" };
            self.text(name, &check["state"]);
        }
        if let Some(count) = status["requeueState"]["count"].as_u64() {
            self.set("requeues", count);
        }
        let reclaimable = status["reclaimablePods"].as_array().into_iter().flatten();
        let reclaimable: u64 = reclaimable.filter_map(|pods| pods["count"].as_u64()).sum();
        if reclaimable > 0 {
            self.set(format!("{COUNT}reclaimable"), reclaimable);
        }
    }

    fn jobset(&mut self, spec: &Value, status: &Value) {
        self.flag("suspend", &spec["suspend"], false);
        self.text("terminal", &status["terminalState"]);
        if let Some(restarts) = status["restarts"].as_u64().filter(|restarts| *restarts > 0) {
            self.set("restarts", restarts);
        }
        let jobs = spec["replicatedJobs"].as_array().into_iter().flatten();
        let annotations = jobs.map(|job| &job["template"]["spec"]["template"]["metadata"]);
        let mut counts: Vec<_> = annotations
            .filter_map(|metadata| metadata["annotations"][names::POD_ADMISSION].as_str())
            .collect();
        counts.dedup();
        if !counts.is_empty() {
            self.set("A", counts.join(","));
        }
        self.replicated(&status["replicatedJobsStatus"]);
    }

    fn replicated(&mut self, jobs: &Value) {
        for job in jobs.as_array().into_iter().flatten() {
            let of = format!("{} ", job["name"].as_str().unwrap_or_default());
            self.counts(&of, job, &OF_REPLICATED);
        }
    }

    fn job(&mut self, spec: &Value, status: &Value) {
        self.flag("suspend", &spec["suspend"], false);
        self.annotation_of_pods(spec);
        self.there("startTime", !status["startTime"].is_null());
        self.counts("", status, &OF_JOB);
    }

    fn annotation_of_pods(&mut self, spec: &Value) {
        self.text("A", &spec["template"]["metadata"]["annotations"][names::POD_ADMISSION]);
    }

    fn pod(&mut self, spec: &Value, status: &Value) {
        self.text("phase", &status["phase"]);
        self.there("node", !spec["nodeName"].is_null());
        let gates = spec["schedulingGates"].as_array().map_or(0, Vec::len);
        self.there("schedulingGates", gates > 0);
    }
}

fn strings(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// A manager without the domain of the one who named it.
fn short(manager: &str) -> &str {
    manager.rsplit('/').next().unwrap_or(manager)
}
