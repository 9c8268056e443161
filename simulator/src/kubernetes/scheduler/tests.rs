use rstest::rstest;

use super::*;
use crate::testing::{at, body, verbs, view};

fn node(name: &str, cpu: &str) -> Value {
    json!({
        "metadata": {"name": name, "labels": {"virtual": "yes"}},
        "spec": {"taints": [{"key": "virtual", "value": "yes", "effect": "NoSchedule"}]},
        "status": {"allocatable": {"cpu": cpu, "pods": "10"}},
    })
}

fn pod(name: &str, node: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "n", "uid": name},
        "spec": {
            "nodeName": node,
            "nodeSelector": {"virtual": "yes"},
            "tolerations": [{"key": "virtual", "operator": "Equal", "value": "yes"}],
            "containers": [{"resources": {"requests": {"cpu": "1"}}}],
        },
        "status": {"phase": "Pending"},
    })
}

fn bound_to(objects: &[(&'static Resource, Value)]) -> Option<String> {
    let plan = Scheduler::default().reconcile(&view(objects), &Key::new("n", "a"), at(0));
    let bound = verbs(&plan) == ["create pods/binding"];
    bound.then(|| text(body(&plan, 0), "/target/name").to_owned())
}

#[test]
fn a_pod_goes_to_the_emptiest_node() {
    let nodes = [(NODE, node("x", "2")), (NODE, node("y", "2"))];
    let mut objects = nodes.to_vec();
    objects.push((POD, pod("a", "")));
    assert_eq!(bound_to(&objects).as_deref(), Some("x"));
    objects.push((POD, pod("b", "x")));
    assert_eq!(bound_to(&objects).as_deref(), Some("y"));
}

#[rstest]
#[case::without_the_label("/spec/nodeSelector/virtual", json!("no"))]
#[case::without_the_toleration("/spec/tolerations", json!([]))]
#[case::without_room("/spec/containers/0/resources/requests/cpu", json!("3"))]
fn a_pod_that_fits_nowhere_is_told_so(#[case] pointer: &str, #[case] value: Value) {
    let mut waiting = pod("a", "");
    *waiting.pointer_mut(pointer).unwrap() = value;
    let view = view(&[(NODE, node("x", "2")), (POD, waiting)]);
    let plan = Scheduler::default().reconcile(&view, &Key::new("n", "a"), at(0));
    assert_eq!(verbs(&plan), ["patch pods/status"]);
    assert_eq!(body(&plan, 0)["status"]["conditions"][0]["reason"], "Unschedulable");
}

#[test]
fn a_pod_that_is_gated_or_going_is_left_alone() {
    let mut gated = pod("a", "");
    gated["spec"]["schedulingGates"] = json!([{"name": "g"}]);
    assert_eq!(bound_to(&[(NODE, node("x", "2")), (POD, gated)]), None);
    let mut going = pod("a", "");
    going["metadata"]["deletionTimestamp"] = "t".into();
    assert_eq!(bound_to(&[(NODE, node("x", "2")), (POD, going)]), None);
}

#[test]
fn room_is_not_given_twice_before_the_first_is_seen() {
    let mut scheduler = Scheduler::default();
    let view = view(&[(NODE, node("x", "1")), (POD, pod("a", "")), (POD, pod("b", ""))]);
    let first = scheduler.reconcile(&view, &Key::new("n", "a"), at(0));
    assert_eq!(verbs(&first), ["create pods/binding"]);
    let second = scheduler.reconcile(&view, &Key::new("n", "b"), at(0));
    assert_eq!(verbs(&second), ["patch pods/status"]);
}
