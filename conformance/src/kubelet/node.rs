//! The virtual nodes: their objects, their statuses and their Leases.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Value, json};

/// Label of every virtual node; the value names the scenario's own set.
pub const VIRTUAL: &str = "conformance.dispatch.phpboyscout.uk/virtual";

/// The namespace in which a node's Lease has to be for the node to count as alive.
pub(super) const LEASES: &str = "kube-node-lease";

/// For how long a node's Lease is good, in seconds, as a kubelet writes it.
const LEASE_DURATION_S: i32 = 40;

/// The virtual nodes of one scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSet {
    /// The set's name: the value of the label and of the taint, and the start of every node's name.
    pub name: String,
    /// How many nodes there are.
    pub nodes: u8,
    /// What each node has to give, by resource: `cpu`, `memory`, `pods`.
    pub allocatable: BTreeMap<String, String>,
}

impl NodeSet {
    /// One node with room for everything that a scenario may queue: what is scarce is quota.
    pub fn roomy(name: impl Into<String>) -> Self {
        let allocatable = [("cpu", "1000"), ("memory", "1000Gi"), ("pods", "1000")];
        Self {
            name: name.into(),
            nodes: 1,
            allocatable: allocatable.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        }
    }

    /// The names of the nodes.
    pub fn node_names(&self) -> Vec<String> {
        (0..self.nodes).map(|index| format!("{}-node-{index}", self.name)).collect()
    }

    /// The labels that a pod, or a `ResourceFlavor`, selects these nodes by.
    pub fn labels(&self) -> Value {
        json!({ VIRTUAL: self.name })
    }

    /// What a pod, or a `ResourceFlavor`, needs to tolerate to get on these nodes.
    pub fn toleration(&self) -> Value {
        json!({ "key": VIRTUAL, "operator": "Equal", "value": self.name, "effect": "NoSchedule" })
    }

    /// The Node object, to be created.
    pub fn node(&self, name: &str) -> Node {
        let mut node = Node::default();
        node.metadata.name = Some(name.to_owned());
        let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        node.metadata.labels =
            Some([label(VIRTUAL, &self.name), label("kubernetes.io/hostname", name)].into());
        let taint = k8s_openapi::api::core::v1::Taint {
            key: VIRTUAL.to_owned(),
            value: Some(self.name.clone()),
            effect: "NoSchedule".to_owned(),
            time_added: None,
        };
        node.spec.get_or_insert_default().taints = Some(vec![taint]);
        node
    }

    /// The patch of `nodes/status` that keeps a node Ready.
    pub fn status(&self, now: Timestamp) -> Value {
        let healthy = [
            ("Ready", "True", "KubeletReady"),
            ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
            ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
            ("PIDPressure", "False", "KubeletHasSufficientPID"),
        ];
        let conditions: Vec<Value> = healthy
            .iter()
            .map(|(kind, status, reason)| {
                json!({
                    "type": kind, "status": status, "reason": reason, "message": "a virtual node",
                    "lastHeartbeatTime": now,
                })
            })
            .collect();
        json!({ "status": {
            "capacity": self.allocatable,
            "allocatable": self.allocatable,
            "conditions": conditions,
            "nodeInfo": {
                "architecture": "amd64", "bootID": "", "containerRuntimeVersion": "virtual://1",
                "kernelVersion": "", "kubeProxyVersion": "", "kubeletVersion": "v1.35.4",
                "machineID": "", "operatingSystem": "linux", "osImage": "", "systemUUID": "",
            },
        }})
    }
}

/// The server-side apply that makes or renews the Lease of the node of this UID, which owns it as with
/// a kubelet: one that is renewed while its node is removed goes too.
pub(super) fn lease(node: &str, uid: &str, now: Timestamp) -> Value {
    let mut lease = Lease::default();
    lease.metadata.name = Some(node.to_owned());
    lease.metadata.namespace = Some(LEASES.to_owned());
    lease.metadata.owner_references = Some(vec![OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Node".to_owned(),
        name: node.to_owned(),
        uid: uid.to_owned(),
        ..OwnerReference::default()
    }]);
    let spec = lease.spec.get_or_insert_default();
    spec.holder_identity = Some(node.to_owned());
    spec.lease_duration_seconds = Some(LEASE_DURATION_S);
    spec.renew_time = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime(now));
    json!(lease)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_carries_the_label_and_the_taint_that_its_flavor_selects_and_tolerates() {
        let set = NodeSet::roomy("r-0");
        let node = json!(set.node(&set.node_names()[0]));
        assert_eq!(node["metadata"]["labels"][VIRTUAL], set.labels()[VIRTUAL]);
        let (taint, toleration) = (&node["spec"]["taints"][0], set.toleration());
        for key in ["key", "value", "effect"] {
            assert_eq!(taint[key], toleration[key]);
        }
    }

    #[test]
    fn nodes_of_two_sets_share_no_name() {
        let (one, other) = (NodeSet::roomy("r-0"), NodeSet::roomy("r-1"));
        assert!(one.node_names().iter().all(|name| !other.node_names().contains(name)));
    }

    #[test]
    fn a_lease_says_who_renewed_it_and_when() {
        let lease = lease("n", "u", Timestamp::UNIX_EPOCH);
        assert_eq!(lease["kind"], "Lease");
        assert_eq!(lease["metadata"]["ownerReferences"][0]["uid"], "u");
        assert_eq!(lease["spec"]["holderIdentity"], "n");
        assert_eq!(lease["spec"]["renewTime"], "1970-01-01T00:00:00.000000Z");
    }
}
