//! Which flavors the pods of a Workload get (Kueue `pkg/scheduler/flavorassigner`).
//!
//! A ClusterQueue neither borrows nor lends here: the webhook refuses what would.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::component::View;
use crate::kueue::quantity::Quantity;
use crate::kueue::queue::usage::{self, Amounts, Request};
use crate::object::{Object, items, text};
use crate::resource::RESOURCE_FLAVOR;

/// How it can be assigned; the least is the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mode {
    /// There is room.
    Fit,
    /// There is room without others.
    Preempt,
    /// There is none.
    NoFit,
}

/// What was found for a Workload.
#[derive(Debug)]
pub(super) struct Assignment {
    pod_sets: Vec<PodSet>,
}

/// What was found for a pod set.
#[derive(Debug)]
struct PodSet {
    request: Request,
    flavors: BTreeMap<String, String>,
    mode: Mode,
    reasons: Vec<String>,
}

/// A flavor that was looked at.
struct Tried {
    flavor: String,
    mode: Mode,
    reasons: Vec<String>,
}

/// What there is, and what is taken.
struct Quota {
    nominal: Amounts,
    taken: Amounts,
}

impl Quota {
    fn take(&mut self, flavor: &str, resource: &str, quantity: Quantity) {
        let known = self.taken.entry((flavor.to_owned(), resource.to_owned())).or_default();
        *known = *known + quantity;
    }

    /// Kueue `fitsResourceQuota`.
    fn fits(
        &self,
        assumed: &Amounts,
        flavor: &str,
        resource: &str,
        asked: Quantity,
    ) -> (Mode, Option<String>) {
        let of = (flavor.to_owned(), resource.to_owned());
        let get = |amounts: &Amounts| amounts.get(&of).copied().unwrap_or_default();
        let (nominal, before) = (get(&self.nominal), get(assumed));
        let wanted = before + asked;
        if wanted > nominal {
            let message = format!(
                "insufficient quota for {resource} in flavor {flavor}, previously considered \
                 podsets requests ({}) + current podset request ({}) > maximum capacity ({})",
                before.text(resource),
                asked.text(resource),
                nominal.text(resource),
            );
            return (Mode::NoFit, Some(message));
        }
        let available = nominal - get(&self.taken) + before;
        if wanted <= available {
            return (Mode::Fit, None);
        }
        let missing = (wanted - available).text(resource);
        let message = format!(
            "insufficient unused quota for {resource} in flavor {flavor}, {missing} more needed"
        );
        (Mode::Preempt, Some(message))
    }
}

impl Assignment {
    /// Looks for flavors for a Workload, beside those that have quota.
    pub(super) fn of(
        cluster_queue: &Object,
        workload: &Object,
        view: &View,
        reserving: &[Object],
    ) -> Self {
        let mut quota = Quota {
            nominal: usage::nominal(cluster_queue),
            taken: usage::taken_by(reserving.iter()),
        };
        let mut assumed = Amounts::new();
        let mut pod_sets = Vec::new();
        for (at, request) in usage::requests(workload).into_iter().enumerate() {
            let spec = &workload["spec"]["podSets"][at]["template"]["spec"];
            let found = pod_set(cluster_queue, view, &quota, &assumed, spec, request);
            for (resource, flavor) in &found.flavors {
                let asked = found.request.resources[resource];
                quota.take(flavor, resource, asked);
                let known = assumed.entry((flavor.clone(), resource.clone())).or_default();
                *known = *known + asked;
            }
            let failed = found.mode == Mode::NoFit;
            pod_sets.push(found);
            if failed {
                break;
            }
        }
        Self { pod_sets }
    }

    /// How the worst of its pod sets is assigned.
    pub(super) fn mode(&self) -> Mode {
        self.pod_sets.iter().map(|it| it.mode).max().unwrap_or(Mode::Fit)
    }

    /// Why it does not fit.
    pub(super) fn message(&self) -> String {
        let told = self.pod_sets.iter().filter(|it| !it.reasons.is_empty()).map(|it| {
            let mut reasons = it.reasons.clone();
            reasons.sort();
            let of = &it.request.pod_set;
            format!("couldn't assign flavors to pod set {of}: {}", reasons.join(", "))
        });
        told.collect::<Vec<_>>().join("; ")
    }

    /// What it would take.
    pub(super) fn amounts(&self) -> Amounts {
        let mut all = Amounts::new();
        for pod_set in &self.pod_sets {
            for (resource, flavor) in &pod_set.flavors {
                let known = all.entry((flavor.clone(), resource.clone())).or_default();
                *known = *known + pod_set.request.resources[resource];
            }
        }
        all
    }

    /// As they stand in the admission.
    pub(super) fn pod_sets(&self) -> Vec<Value> {
        let told = self.pod_sets.iter().map(|it| {
            let used = it.request.resources.iter();
            let used: BTreeMap<_, _> = used.map(|(name, used)| (name, used.text(name))).collect();
            let mut told = json!({"name": it.request.pod_set, "count": it.request.count});
            if !it.flavors.is_empty() {
                told["flavors"] = json!(it.flavors);
                told["resourceUsage"] = json!(used);
            }
            told
        });
        told.collect()
    }
}

fn pod_set(
    cluster_queue: &Object,
    view: &View,
    quota: &Quota,
    assumed: &Amounts,
    spec: &Value,
    request: Request,
) -> PodSet {
    let mut found =
        PodSet { request, flavors: BTreeMap::new(), mode: Mode::Fit, reasons: Vec::new() };
    let groups = items(cluster_queue, "/spec/resourceGroups");
    let covers = |group: &Value, resource: &str| {
        items(group, "/coveredResources").iter().any(|it| it == resource)
    };
    for resource in found.request.resources.keys() {
        if !groups.iter().any(|group| covers(group, resource)) {
            found.reasons.push(format!("resource {resource} unavailable in ClusterQueue"));
            found.mode = Mode::NoFit;
        }
    }
    if found.mode == Mode::NoFit {
        return found;
    }
    for group in groups {
        let asked = found.request.resources.iter().filter(|(resource, _)| covers(group, resource));
        let asked: BTreeMap<_, _> =
            asked.map(|(name, quantity)| (name.clone(), *quantity)).collect();
        if asked.is_empty() {
            continue;
        }
        let flavors = items(group, "/flavors").iter().map(|it| text(it, "/name"));
        let tried: Vec<_> =
            flavors.map(|flavor| tried(view, quota, assumed, spec, flavor, &asked)).collect();
        // The first that fits; otherwise the best. All say why they are not it.
        let best = tried.iter().min_by_key(|it| it.mode);
        let Some(best) = best else { continue };
        found.mode = found.mode.max(best.mode);
        if best.mode != Mode::NoFit {
            found.flavors.extend(asked.keys().map(|it| (it.clone(), best.flavor.clone())));
        }
        if best.mode != Mode::Fit {
            found.reasons.extend(tried.iter().flat_map(|it| it.reasons.clone()));
        }
    }
    found
}

fn tried(
    view: &View,
    quota: &Quota,
    assumed: &Amounts,
    spec: &Value,
    flavor: &str,
    asked: &BTreeMap<String, Quantity>,
) -> Tried {
    let mut tried = Tried { flavor: flavor.to_owned(), mode: Mode::Fit, reasons: Vec::new() };
    let labels = view.get(RESOURCE_FLAVOR, "", flavor).map(|it| &it["spec"]["nodeLabels"]);
    let selector = spec["nodeSelector"].as_object().into_iter().flatten();
    let fits = selector.into_iter().all(|(key, value)| {
        labels.and_then(|labels| labels.get(key)).is_none_or(|label| label == value)
    });
    if !fits {
        tried.mode = Mode::NoFit;
        tried.reasons.push(format!("flavor {flavor} doesn't match node affinity"));
        return tried;
    }
    for (resource, asked) in asked {
        let (mode, reason) = quota.fits(assumed, flavor, resource, *asked);
        tried.mode = tried.mode.max(mode);
        tried.reasons.extend(reason);
    }
    tried
}
