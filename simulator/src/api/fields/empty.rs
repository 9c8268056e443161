//! What an object of a built-in kind has before anything is set in it.

use serde_json::{Value, json};

use crate::resource::{self, Resource};

/// An object without anything. Of a built-in kind, its structures are there, and belong to nobody:
/// the real server has them as fields of Go structures, which are never missing.
pub(in super::super) fn empty(resource: &Resource) -> Value {
    if resource == resource::POD {
        json!({"metadata": {}, "spec": {"containers": null}, "status": {}})
    } else if resource == resource::JOB {
        let template = json!({"metadata": {}, "spec": {"containers": null}});
        json!({"metadata": {}, "spec": {"template": template}, "status": {}})
    } else if resource == resource::EVENT {
        json!({
            "metadata": {}, "involvedObject": {}, "source": {}, "eventTime": null,
            "firstTimestamp": null, "lastTimestamp": null, "reportingComponent": "",
            "reportingInstance": "",
        })
    } else if resource == resource::LEASE {
        json!({"metadata": {}, "spec": {}})
    } else if resource == resource::NAMESPACE {
        json!({"metadata": {}, "spec": {}, "status": {}})
    } else if resource == resource::SERVICE {
        json!({"metadata": {}, "spec": {}, "status": {"loadBalancer": {}}})
    } else if resource == resource::NODE {
        let status = json!({"daemonEndpoints": {"kubeletEndpoint": {"Port": 0}}, "nodeInfo": {}});
        json!({"metadata": {}, "spec": {}, "status": status})
    } else {
        json!({})
    }
}
