//! Whom to evict for another (Kueue `pkg/scheduler/preemption`).

use crate::component::Plan;
use crate::kueue::names::JOB_UID;
use crate::kueue::queue::usage::{self, Amounts};
use crate::kueue::workload::status::{Draft, Versioned};
use crate::kueue::workload::{is_evicted, priority, queued_since};
use crate::object::{Object, condition, label, name, seconds, text, uid};

const SOURCE: &str =
    "Kueue pkg/scheduler/preemption/preemption.go, IssuePreemptions: without a version";

/// Those that have to go so that these amounts fit: as few as are found by going through the
/// candidates in order, and taking back whoever need not go.
pub(super) fn targets<'a>(
    cluster_queue: &Object,
    preemptor: &Object,
    wanted: &Amounts,
    reserving: &'a [Object],
    now: jiff::Timestamp,
) -> Vec<&'a Object> {
    let nominal = usage::nominal(cluster_queue);
    let fits = |without: &[&Object]| {
        let left = reserving.iter().filter(|it| !without.iter().any(|gone| uid(gone) == uid(it)));
        let taken = usage::taken_by(left);
        wanted.iter().all(|(of, wanted)| {
            let get = |amounts: &Amounts| amounts.get(of).copied().unwrap_or_default();
            get(&taken) + *wanted <= get(&nominal)
        })
    };
    let mut targets = Vec::new();
    for candidate in candidates(cluster_queue, preemptor, wanted, reserving, now) {
        targets.push(candidate);
        if fits(&targets) {
            return filled_back(targets, fits);
        }
    }
    Vec::new()
}

/// Kueue `fillBackWorkloads`.
fn filled_back(mut targets: Vec<&Object>, fits: impl Fn(&[&Object]) -> bool) -> Vec<&Object> {
    for at in (0..targets.len().saturating_sub(1)).rev() {
        let mut fewer = targets.clone();
        fewer.swap_remove(at);
        if fits(&fewer) {
            targets = fewer;
        }
    }
    targets
}

/// Kueue `SatisfiesPreemptionPolicy`, `CandidatesOrdering`.
fn candidates<'a>(
    cluster_queue: &Object,
    preemptor: &Object,
    wanted: &Amounts,
    reserving: &'a [Object],
    now: jiff::Timestamp,
) -> Vec<&'a Object> {
    let policy = text(cluster_queue, "/spec/preemption/withinClusterQueue");
    let may = |it: &&Object| {
        let lower = priority(it) < priority(preemptor);
        let newer =
            priority(it) == priority(preemptor) && queued_since(preemptor) < queued_since(it);
        match policy {
            "LowerPriority" => lower,
            "LowerOrNewerEqualPriority" => lower || newer,
            _ => false,
        }
    };
    let helps = |it: &&Object| usage::taken(it).keys().any(|of| wanted.contains_key(of));
    let mut all: Vec<_> = reserving.iter().filter(may).filter(helps).collect();
    all.sort_by(|a, b| {
        let since = |it: &Object| {
            let reserved = condition(it, "QuotaReserved").filter(|it| it["status"] == "True");
            reserved.map_or_else(|| seconds(now), |it| text(it, "/lastTransitionTime").to_owned())
        };
        let evicted_first = is_evicted(b).cmp(&is_evicted(a));
        let newest_first = since(b).cmp(&since(a));
        evicted_first
            .then(priority(a).cmp(&priority(b)))
            .then(newest_first)
            .then_with(|| uid(a).cmp(uid(b)))
    });
    all
}

/// Evicts them; not those that are evicted already.
pub(super) fn evictions(
    cluster_queue: &Object,
    preemptor: &Object,
    targets: &[&Object],
    now: jiff::Timestamp,
) -> Plan {
    let path = match text(cluster_queue, "/spec/cohortName") {
        "" => format!("/{}", name(cluster_queue)),
        cohort => format!("/{cohort}/{}", name(cluster_queue)),
    };
    let job = label(preemptor, JOB_UID).filter(|it| !it.is_empty()).unwrap_or("UNKNOWN");
    let message = format!(
        "Preempted to accommodate a workload (UID: {}, JobUID: {job}) due to prioritization in the \
         ClusterQueue; preemptor path: {path}; preemptee path: {path}",
        uid(preemptor),
    );
    let targets = targets.iter().filter(|it| !is_evicted(it));
    targets.fold(Plan::nothing(), |plan, target| {
        let mut draft = Draft::of(target, now);
        draft.set_preempted("InClusterQueue", &message);
        draft.evict("Preempted", "", &message);
        plan.and(draft.apply(Versioned::Loose), SOURCE)
    })
}
