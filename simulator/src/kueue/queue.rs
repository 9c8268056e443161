//! The queues that Workloads wait in: which one is whose, and whether it admits.

pub(super) mod cluster_queue;
pub(super) mod local_queue;
pub(super) mod usage;

use crate::component::View;
use crate::object::{Object, is_terminating, is_true, items, name, namespace, text};
use crate::resource::{ADMISSION_CHECK, CLUSTER_QUEUE, LOCAL_QUEUE, RESOURCE_FLAVOR};

use super::workload;

/// What becomes of what a queue has admitted while it is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The queue runs.
    None,
    /// It admits nothing more.
    Hold,
    /// It admits nothing more, and what runs is evicted.
    HoldAndDrain,
}

/// Whether a queue, of either kind, is stopped.
pub(super) fn stop(queue: &Object) -> Stop {
    match text(queue, "/spec/stopPolicy") {
        "Hold" => Stop::Hold,
        "HoldAndDrain" => Stop::HoldAndDrain,
        _ => Stop::None,
    }
}

/// The LocalQueue of a Workload.
pub(super) fn local_queue<'a>(view: &'a View, workload: &Object) -> Option<&'a Object> {
    view.get(LOCAL_QUEUE, namespace(workload), workload::queue_name(workload))
}

/// The name of the ClusterQueue of a Workload: by its LocalQueue, while that is not stopped. A stopped
/// one is not among the queues (Kueue `pkg/controller/core/localqueue_controller.go`).
pub(super) fn cluster_queue_name<'a>(view: &'a View, workload: &Object) -> Option<&'a str> {
    let queue = local_queue(view, workload).filter(|it| stop(it) == Stop::None)?;
    Some(text(queue, "/spec/clusterQueue"))
}

/// The ClusterQueue of a Workload, likewise.
pub(super) fn cluster_queue<'a>(view: &'a View, workload: &Object) -> Option<&'a Object> {
    view.get(CLUSTER_QUEUE, "", cluster_queue_name(view, workload)?)
}

/// The flavors that a ClusterQueue has quota of, in their order.
pub(super) fn flavors(cluster_queue: &Object) -> impl Iterator<Item = &str> {
    let groups = items(cluster_queue, "/spec/resourceGroups").iter();
    groups.flat_map(|group| items(group, "/flavors")).map(|flavor| text(flavor, "/name"))
}

/// The checks that a ClusterQueue lists.
pub(super) fn checks(cluster_queue: &Object) -> impl Iterator<Item = &str> {
    let rules = items(cluster_queue, "/spec/admissionChecksStrategy/admissionChecks");
    rules.iter().map(|rule| text(rule, "/name"))
}

/// Whether a ClusterQueue admits; if it does not, why, and what it says of it (Kueue
/// `pkg/cache/scheduler/clusterqueue.go`, `inactiveReason`).
pub(super) fn readiness(view: &View, cluster_queue: &Object) -> Result<(), (&'static str, String)> {
    if is_terminating(cluster_queue) {
        let message = "Can't admit new workloads; clusterQueue is terminating";
        return Err(("Terminating", message.to_owned()));
    }
    let mut why = Vec::new();
    if stop(cluster_queue) != Stop::None {
        why.push(("Stopped", "is stopped".to_owned()));
    }
    let listed = |reason, what: &str, mut names: Vec<&str>| {
        names.sort_unstable();
        let message = format!("references {what}(s): {}", names.join(","));
        (!names.is_empty()).then_some((reason, message))
    };
    let no_flavor = |it: &&str| view.get(RESOURCE_FLAVOR, "", it).is_none();
    let flavors = flavors(cluster_queue).filter(no_flavor).collect();
    why.extend(listed("FlavorNotFound", "missing ResourceFlavor", flavors));
    let check = |name: &str| view.get(ADMISSION_CHECK, "", name);
    let missing = checks(cluster_queue).filter(|it| check(it).is_none()).collect();
    why.extend(listed("AdmissionCheckNotFound", "missing AdmissionCheck", missing));
    let is_inactive = |it: &&str| check(it).is_some_and(|it| !is_true(it, "Active"));
    let inactive = checks(cluster_queue).filter(is_inactive).collect();
    why.extend(listed("AdmissionCheckInactive", "inactive AdmissionCheck", inactive));
    let Some((reason, _)) = why.first() else { return Ok(()) };
    let messages: Vec<_> = why.iter().map(|(_, message)| message.as_str()).collect();
    Err((*reason, format!("Can't admit new workloads: {}.", messages.join(", "))))
}

/// The ClusterQueues that have quota of a flavor, or list a check.
pub(super) fn users<'a>(
    view: &'a View,
    what: &'a Object,
    uses: fn(&Object, &str) -> bool,
) -> impl Iterator<Item = &'a Object> {
    view.all(CLUSTER_QUEUE).filter(move |it| uses(it, name(what)))
}

/// Whether a ClusterQueue has quota of a flavor.
pub(super) fn has_flavor(cluster_queue: &Object, flavor: &str) -> bool {
    flavors(cluster_queue).any(|it| it == flavor)
}

/// Whether a ClusterQueue lists a check.
pub(super) fn has_check(cluster_queue: &Object, check: &str) -> bool {
    checks(cluster_queue).any(|it| it == check)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn view(check: Option<&str>) -> View {
        let mut view = View::default();
        view.put(RESOURCE_FLAVOR, Arc::new(json!({"metadata": {"name": "f"}})));
        if let Some(active) = check {
            let check = json!({
                "metadata": {"name": "c"},
                "status": {"conditions": [{"type": "Active", "status": active}]},
            });
            view.put(ADMISSION_CHECK, Arc::new(check));
        }
        view
    }

    fn queue(flavor: &str, stop: &str) -> Object {
        json!({"spec": {
            "stopPolicy": stop,
            "resourceGroups": [{"flavors": [{"name": flavor}]}],
            "admissionChecksStrategy": {"admissionChecks": [{"name": "c"}]},
        }})
    }

    #[rstest]
    #[case(Some("True"), queue("f", "None"), None)]
    #[case(Some("False"), queue("f", "None"), Some(("AdmissionCheckInactive",
        "Can't admit new workloads: references inactive AdmissionCheck(s): c.")))]
    #[case(None, queue("f", "Hold"), Some(("Stopped",
        "Can't admit new workloads: is stopped, references missing AdmissionCheck(s): c.")))]
    #[case(Some("True"), queue("g", "None"), Some(("FlavorNotFound",
        "Can't admit new workloads: references missing ResourceFlavor(s): g.")))]
    fn a_queue_admits_only_with_all_that_it_names(
        #[case] check: Option<&str>,
        #[case] queue: Value,
        #[case] why: Option<(&str, &str)>,
    ) {
        let told = readiness(&view(check), &queue).err();
        assert_eq!(told.as_ref().map(|(reason, message)| (*reason, message.as_str())), why);
    }

    #[test]
    fn a_stopped_local_queue_leads_to_no_cluster_queue() {
        let mut view = View::default();
        let of = |stop: &str| {
            Arc::new(json!({
                "metadata": {"name": "q", "namespace": "n"},
                "spec": {"clusterQueue": "cq", "stopPolicy": stop},
            }))
        };
        let workload = json!({"metadata": {"namespace": "n"}, "spec": {"queueName": "q"}});
        view.put(LOCAL_QUEUE, of("None"));
        assert_eq!(cluster_queue_name(&view, &workload), Some("cq"));
        assert_eq!(cluster_queue(&view, &workload), None);
        view.put(LOCAL_QUEUE, of("Hold"));
        assert_eq!(cluster_queue_name(&view, &workload), None);
    }
}
