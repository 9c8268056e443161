//! The pod statuses that a kubelet writes.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, Pod};
use serde_json::{Value, json};

use super::policy::Ending;

/// The address of every node and pod: one that is reserved for documentation (RFC 5737). Nothing
/// listens there; a loopback address would be refused in Endpoints and `EndpointSlices`, and
/// the warnings about it would stand in front of those that matter.
const ADDRESS: &str = "192.0.2.1";

/// The patch of `pods/status` with which the containers of a pod start.
pub(super) fn running(pod: &Pod, now: Timestamp) -> Value {
    let state = json!({ "running": { "startedAt": now } });
    status(pod, "Running", "True", &state, now)
}

/// The patch of `pods/status` with which the containers of a pod end.
pub(super) fn ended(pod: &Pod, ending: Ending, now: Timestamp) -> Value {
    let reason = match ending {
        Ending::Succeeded => "Completed",
        Ending::Failed => "Error",
    };
    let terminated = json!({
        "exitCode": ending.exit_code(), "reason": reason, "startedAt": started(pod, now), "finishedAt": now,
    });
    status(pod, ending.phase(), "False", &json!({ "terminated": terminated }), now)
}

/// A strategic merge patch: conditions are merged by type, so those of the scheduler stay. The UID
/// makes the server refuse it for another pod of the same name.
fn status(pod: &Pod, phase: &str, ready: &str, state: &Value, now: Timestamp) -> Value {
    let spec = pod.spec.as_ref();
    let statuses = |containers: &[Container]| -> Vec<Value> {
        containers
            .iter()
            .map(|container| container_status(container, ready == "True", state))
            .collect()
    };
    let conditions: Vec<Value> = [
        ("PodReadyToStartContainers", "True"),
        ("Initialized", "True"),
        ("ContainersReady", ready),
        ("Ready", ready),
    ]
    .iter()
    .map(|(kind, value)| json!({ "type": kind, "status": value, "lastTransitionTime": now }))
    .collect();
    json!({
        "metadata": { "uid": pod.metadata.uid },
        "status": {
            "phase": phase,
            "startTime": started(pod, now),
            "hostIP": ADDRESS,
            "podIP": ADDRESS,
            "podIPs": [{ "ip": ADDRESS }],
            "conditions": conditions,
            "containerStatuses": spec.map(|spec| statuses(&spec.containers)).unwrap_or_default(),
        },
    })
}

fn container_status(container: &Container, ready: bool, state: &Value) -> Value {
    json!({
        "name": container.name,
        "image": container.image.as_deref().unwrap_or_default(),
        "imageID": "",
        "containerID": "virtual://none",
        "ready": ready,
        "started": ready,
        "restartCount": 0,
        "state": state,
    })
}

fn started(pod: &Pod, now: Timestamp) -> Timestamp {
    pod.status.as_ref().and_then(|status| status.start_time.as_ref()).map_or(now, |time| time.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod() -> Pod {
        serde_json::from_value(json!({
            "metadata": { "uid": "u" },
            "spec": { "containers": [{ "name": "a", "image": "i" }, { "name": "b" }] },
        }))
        .unwrap()
    }

    #[test]
    fn a_running_pod_is_ready_with_every_container() {
        let patch = running(&pod(), Timestamp::UNIX_EPOCH);
        assert_eq!(patch["metadata"]["uid"], "u");
        assert_eq!(patch["status"]["phase"], "Running");
        assert_eq!(
            patch["status"]["conditions"][3],
            json!({
                "type": "Ready", "status": "True", "lastTransitionTime": "1970-01-01T00:00:00Z",
            })
        );
        let containers = patch["status"]["containerStatuses"].as_array().unwrap();
        assert_eq!(containers.len(), 2);
        assert!(
            containers
                .iter()
                .all(|one| one["ready"] == true && one["state"]["running"].is_object())
        );
    }

    #[test]
    fn an_ended_pod_has_the_exit_code_of_its_ending() {
        for (ending, code) in [(Ending::Succeeded, 0), (Ending::Failed, 1)] {
            let patch = ended(&pod(), ending, Timestamp::UNIX_EPOCH);
            assert_eq!(patch["status"]["phase"], ending.phase());
            let state = &patch["status"]["containerStatuses"][1]["state"]["terminated"];
            assert_eq!(state["exitCode"], code);
        }
    }
}
