//! What Workloads ask for, and what they take.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::kueue::quantity::Quantity;
use crate::object::{Object, items, number, text};

/// A flavor, and a resource of it.
pub(in crate::kueue) type FlavorResource = (String, String);

/// So much of each.
pub(in crate::kueue) type Amounts = BTreeMap<FlavorResource, Quantity>;

/// What the pods of a pod set ask for together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::kueue) struct Request {
    pub(in crate::kueue) pod_set: String,
    pub(in crate::kueue) count: i64,
    pub(in crate::kueue) resources: BTreeMap<String, Quantity>,
}

/// What a Workload asks for.
pub(in crate::kueue) fn requests(workload: &Object) -> Vec<Request> {
    let pod_sets = items(workload, "/spec/podSets").iter();
    let request = pod_sets.map(|pod_set| {
        let name = text(pod_set, "/name");
        let count = number(pod_set, "/count").unwrap_or(1) - reclaimable(workload, name);
        let spec = &pod_set["template"]["spec"];
        let resources = of_pod(spec).into_iter().map(|(name, one)| (name, one.times(count)));
        Request { pod_set: name.to_owned(), count, resources: resources.collect() }
    });
    request.collect()
}

/// As they stand in a Workload's status.
pub(in crate::kueue) fn told(requests: &[Request]) -> Vec<Value> {
    let told = requests.iter().map(|it| {
        let resources = it.resources.iter();
        let resources: BTreeMap<_, _> =
            resources.map(|(name, quantity)| (name, quantity.text(name))).collect();
        json!({"name": it.pod_set, "resources": resources})
    });
    told.collect()
}

/// How many pods of a pod set have succeeded, and ask for nothing any more.
fn reclaimable(workload: &Object, pod_set: &str) -> i64 {
    let all = items(workload, "/status/reclaimablePods").iter();
    all.filter(|it| it["name"] == pod_set).find_map(|it| number(it, "/count")).unwrap_or_default()
}

/// What one pod asks for: its containers together, or the greatest of those that run before them,
/// and its overhead. A limit stands for a request that is not there.
fn of_pod(spec: &Value) -> BTreeMap<String, Quantity> {
    let mut sum: BTreeMap<String, Quantity> = BTreeMap::new();
    for container in items(spec, "/containers") {
        for (name, quantity) in of_container(container) {
            let known = sum.entry(name).or_default();
            *known = *known + quantity;
        }
    }
    for container in items(spec, "/initContainers") {
        for (name, quantity) in of_container(container) {
            let known = sum.entry(name).or_default();
            *known = quantity.max(*known);
        }
    }
    for (name, quantity) in quantities(&spec["overhead"]) {
        let known = sum.entry(name).or_default();
        *known = *known + quantity;
    }
    sum
}

fn of_container(container: &Value) -> BTreeMap<String, Quantity> {
    let mut all = quantities(&container["resources"]["limits"]);
    all.extend(quantities(&container["resources"]["requests"]));
    all
}

fn quantities(list: &Value) -> BTreeMap<String, Quantity> {
    let all = list.as_object().into_iter().flatten();
    all.filter_map(|(name, value)| Some((name.clone(), Quantity::of(value)?))).collect()
}

/// What a Workload that has quota takes of it.
pub(in crate::kueue) fn taken(workload: &Object) -> Amounts {
    let mut all = Amounts::new();
    for assignment in items(workload, "/status/admission/podSetAssignments") {
        let count = number(assignment, "/count").unwrap_or(1);
        let left = count - reclaimable(workload, text(assignment, "/name"));
        for (resource, used) in quantities(&assignment["resourceUsage"]) {
            let flavor = assignment["flavors"][&resource].as_str().unwrap_or_default().to_owned();
            let known = all.entry((flavor, resource)).or_default();
            *known = *known + used.divided_by(count).times(left);
        }
    }
    all
}

/// What Workloads take together.
pub(in crate::kueue) fn taken_by<'a>(workloads: impl Iterator<Item = &'a Object>) -> Amounts {
    let mut all = Amounts::new();
    for (of, quantity) in workloads.flat_map(taken) {
        let known = all.entry(of).or_default();
        *known = *known + quantity;
    }
    all
}

/// The quota of a ClusterQueue.
pub(in crate::kueue) fn nominal(cluster_queue: &Object) -> Amounts {
    let groups = items(cluster_queue, "/spec/resourceGroups").iter();
    let flavors = groups.flat_map(|group| items(group, "/flavors"));
    let quotas = flavors.flat_map(|flavor| {
        let of = text(flavor, "/name");
        items(flavor, "/resources").iter().map(move |resource| {
            let quota = Quantity::of(&resource["nominalQuota"]).unwrap_or_default();
            ((of.to_owned(), text(resource, "/name").to_owned()), quota)
        })
    });
    quotas.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantity(text: &str) -> Quantity {
        Quantity::of(&json!(text)).unwrap()
    }

    #[test]
    fn a_pod_asks_for_its_containers_or_for_the_greatest_before_them() {
        let of = |cpu: &str| json!({"resources": {"requests": {"cpu": cpu}}});
        let spec =
            json!({"containers": [of("1"), of("500m")], "initContainers": [of("2"), of("1")]});
        assert_eq!(of_pod(&spec)["cpu"], quantity("2"));
        let spec = json!({
            "containers": [{"resources": {"limits": {"cpu": "3"}}}], "overhead": {"cpu": "1"},
        });
        assert_eq!(of_pod(&spec)["cpu"], quantity("4"));
    }

    #[test]
    fn pods_that_have_succeeded_give_their_quota_back() {
        let workload = json!({
            "spec": {"podSets": [{"name": "a", "count": 4, "template": {"spec": {
                "containers": [{"resources": {"requests": {"cpu": "2"}}}],
            }}}]},
            "status": {
                "reclaimablePods": [{"name": "a", "count": 1}],
                "admission": {"podSetAssignments": [{
                    "name": "a", "count": 4, "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "8"},
                }]},
            },
        });
        assert_eq!(taken(&workload)[&("f".to_owned(), "cpu".to_owned())], quantity("6"));
        assert_eq!(told(&requests(&workload))[0], json!({"name": "a", "resources": {"cpu": "6"}}));
    }
}
