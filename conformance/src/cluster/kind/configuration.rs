//! What kind is asked for.

use super::images::Images;
use crate::cluster::local::pins::STACK;
use crate::cluster::managers::{BURST, QPS};
use serde_json::{Value, json};

/// The addresses of pods, as the network of the built image has them.
const PODS: &str = "10.244.0.0/16";

/// The configuration of a cluster of one node, for kind's standard input.
pub(super) fn cluster(images: Images) -> Value {
    let networking = match images {
        // Its network is a part of it, as kindnet is not.
        Images::Built => {
            json!({ "podSubnet": PODS, "disableDefaultCNI": true, "kubeProxyMode": "nftables" })
        }
        Images::Official => json!({ "podSubnet": PODS }),
    };
    json!({
        "kind": "Cluster",
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "networking": networking,
        "nodes": [{ "role": "control-plane", "image": images.node() }],
        "kubeadmConfigPatches": [control_plane(images).to_string(), kubelet().to_string()],
    })
}

/// One of each, whose own limits are not the bottleneck.
fn control_plane(images: Images) -> Value {
    let client = json!({
        "leader-elect": "false",
        "kube-api-qps": QPS.to_string(),
        "kube-api-burst": BURST.to_string(),
    });
    // The store lives as long as the cluster: there is no crash to recover from.
    let mut etcd = json!({ "extraArgs": { "unsafe-no-fsync": "true" } });
    if images == Images::Built {
        etcd["imageTag"] = json!(STACK.version_of("go.etcd.io/etcd/server/v3"));
    }
    json!({
        "kind": "ClusterConfiguration",
        "apiServer": { "extraArgs": {
            "max-requests-inflight": "3000",
            "max-mutating-requests-inflight": "1500",
        } },
        "controllerManager": { "extraArgs": client },
        "scheduler": { "extraArgs": client },
        "etcd": { "local": etcd },
    })
}

/// Machines with version 1 of cgroups will do.
fn kubelet() -> Value {
    json!({ "kind": "KubeletConfiguration", "failCgroupV1": false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::built(Images::Built, true, json!("v3.6.13"))]
    #[case::official(Images::Official, false, Value::Null)]
    fn a_built_node_brings_its_network_and_the_pinned_store(
        #[case] images: Images,
        #[case] own_network: bool,
        #[case] store: Value,
    ) {
        let cluster = cluster(images);
        let has_own = cluster["networking"]["disableDefaultCNI"] == json!(true);
        assert_eq!(has_own, own_network);
        let patch: Value =
            serde_json::from_str(cluster["kubeadmConfigPatches"][0].as_str().unwrap()).unwrap();
        assert_eq!(patch["etcd"]["local"]["imageTag"], store);
    }
}
