//! Who an object is, in words that are the same in every run.

use std::collections::{BTreeMap, HashMap};

use dispatch_contract::names;
use serde_json::Value;

use crate::history::{History, Kind, Trail, What};

/// The annotation that has a pod's place among those of its Job.
const COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// The length of a ULID and of the tokens that the suite and the subjects give names by.
const TOKEN: usize = 26;

/// An object's part in a scenario: its kind, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Role {
    /// The object's kind.
    pub kind: Kind,
    /// The job that it belongs to, as the scenario calls it; its place among the Jobs of that and
    /// the pods of those; and which of several it is that came one after the other, from the second
    /// on.
    pub name: String,
}

impl Role {
    /// The job that the object belongs to, as the scenario calls it.
    pub fn job(&self) -> &str {
        self.name.split(['/', '[', ' ']).next().unwrap_or(&self.name)
    }
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}

/// The kinds whose lives are compared.
const KINDS: [Kind; 5] = [Kind::TrainJob, Kind::Workload, Kind::JobSet, Kind::Job, Kind::Pod];

/// Every object of a history that has a role, in the order of their creation.
pub(super) fn roles(history: &History) -> Vec<(Role, &Trail)> {
    let jobs = jobs(history);
    let mut trails: Vec<&Trail> = KINDS.iter().flat_map(|kind| history.of_kind(*kind)).collect();
    trails.sort_by_key(|trail| trail.created());
    let mut named: HashMap<&str, String> = HashMap::new();
    let mut times: BTreeMap<Role, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for trail in trails {
        let mut role = Role { kind: trail.kind, name: name(history, &jobs, &named, trail) };
        let nth = times.entry(role.clone()).or_default();
        *nth += 1;
        if *nth > 1 {
            role.name = format!("{} #{nth}", role.name);
        }
        named.insert(&trail.uid, role.name.clone());
        found.push((role, trail));
    }
    found
}

/// What the scenario calls its jobs, by UID and by name.
fn jobs(history: &History) -> HashMap<&str, &str> {
    let mut jobs = HashMap::new();
    for event in history.events() {
        if let What::JobNamed(named) = &event.what {
            jobs.insert(named.name.as_str(), named.job.as_str());
            if let Some(uid) = &named.uid {
                jobs.insert(uid.as_str(), named.job.as_str());
            }
        }
    }
    jobs
}

fn name(
    history: &History,
    jobs: &HashMap<&str, &str>,
    named: &HashMap<&str, String>,
    trail: &Trail,
) -> String {
    let is_of_the_scenario = matches!(trail.kind, Kind::TrainJob | Kind::Job);
    let job = jobs.get(trail.uid.as_str()).or_else(|| jobs.get(trail.name.as_str()));
    if let Some(job) = job.filter(|_| is_of_the_scenario) {
        return (*job).to_owned();
    }
    let raws: Vec<&Value> = trail.versions().iter().filter_map(|it| history.raw(it)).collect();
    let owners = raws.iter().filter_map(|raw| raw["metadata"]["ownerReferences"].as_array());
    let mut owners = owners.flatten().filter_map(|owner| owner["uid"].as_str());
    let owner = owners.find_map(|uid| named.get(uid));
    let metadata = raws.first().map_or(&Value::Null, |raw| &raw["metadata"]);
    let text = |of: &str, key: &str| metadata[of].get(key).and_then(Value::as_str);
    match (trail.kind, owner) {
        (Kind::Workload | Kind::JobSet, Some(owner)) => owner.clone(),
        (Kind::Job, Some(owner)) => {
            let jobset = text("labels", names::JOBSET_NAME).unwrap_or_default();
            let own = trail.name.strip_prefix(jobset).unwrap_or(&trail.name);
            format!("{owner}/{}", own.trim_start_matches('-'))
        }
        (Kind::Pod, Some(owner)) => match text("annotations", COMPLETION_INDEX) {
            Some(index) => format!("{owner}[{index}]"),
            None => owner.clone(),
        },
        _ => without_tokens(&trail.name),
    }
}

/// A name without what differs from run to run.
fn without_tokens(name: &str) -> String {
    let parts = name.split('-').map(|part| if part.len() == TOKEN { "…" } else { part });
    parts.collect::<Vec<_>>().join("-")
}
