//! The rules of pods (Kubernetes `pkg/apis/core/v1/defaults.go`, `pkg/registry/core/pod/strategy.go`,
//! and the admission plugins `DefaultTolerationSeconds` and `Priority`).

use serde_json::{Value, json};

use super::pod_spec;
use crate::api::{Denied, Lookup, Operation, Review, Webhook, invalid};
use crate::component::Component;
use crate::object::{default_to, items, text};
use crate::resource::POD;

/// What may change in a pod's spec once it is made.
const MUTABLE: [&str; 4] =
    ["activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates"];

/// The rules of pods.
pub(super) struct PodRules;

impl Webhook for PodRules {
    fn name(&self) -> &'static str {
        "pods"
    }

    fn component(&self) -> Option<Component> {
        None
    }

    fn looks_at(&self, review: &Review<'_>) -> bool {
        // A binding is a create, too, and no pod.
        review.writes(&[POD]) && matches!(review.subresource, None | Some("status"))
    }

    fn mutate(
        &self,
        review: &Review<'_>,
        pod: &mut Value,
        _stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        if !pod["spec"].is_object() {
            return Ok(());
        }
        pod_spec::complete(&mut pod["spec"]);
        default_to(pod, &["spec", "enableServiceLinks"], true);
        if review.operation != Operation::Create {
            return Ok(());
        }
        request_limits(pod);
        tolerate_lost_nodes(&mut pod["spec"]);
        default_to(pod, &["spec", "priority"], 0);
        default_to(pod, &["spec", "preemptionPolicy"], "PreemptLowerPriority");
        pod["status"] = json!({"phase": "Pending", "qosClass": quality(pod)});
        Ok(())
    }

    fn validate(
        &self,
        review: &Review<'_>,
        pod: &Value,
        _stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        pod_spec::refuse_unsupported(&pod["spec"])?;
        let mut wrong = pod_spec::wrong_in(&pod["spec"], "spec");
        if review.old.is_some_and(|old| without_mutable(old) != without_mutable(pod)) {
            wrong.push(
                "spec: Forbidden: pod updates may not change fields other than \
                 `spec.containers[*].image`,`spec.initContainers[*].image`,\
                 `spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
                 tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it \
                 was previously negative)"
                    .to_owned(),
            );
        }
        invalid(wrong)
    }
}

/// What a container may use it asks for, if it does not say.
fn request_limits(pod: &mut Value) {
    for kind in ["containers", "initContainers"] {
        let containers = pod["spec"].get_mut(kind).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let limits = container["resources"]["limits"].as_object().cloned();
            for (resource, limit) in limits.into_iter().flatten() {
                default_to(container, &["resources", "requests", &resource], limit);
            }
        }
    }
}

/// `DefaultTolerationSeconds`.
fn tolerate_lost_nodes(spec: &mut Value) {
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let tolerates = |it: &Value| {
            matches!(text(it, "/key"), own if own == key || own.is_empty())
                && matches!(text(it, "/effect"), "" | "NoExecute")
        };
        if items(spec, "/tolerations").iter().any(tolerates) {
            continue;
        }
        if spec["tolerations"].is_null() {
            spec["tolerations"] = json!([]);
        }
        if let Some(all) = spec["tolerations"].as_array_mut() {
            all.push(json!({
                "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300,
            }));
        }
    }
}

/// The class of service: by what its containers ask for, and what they may use.
fn quality(pod: &Value) -> &'static str {
    let containers = items(pod, "/spec/containers");
    let of = |it: &Value, part: &str, resource: &str| it["resources"][part][resource].clone();
    let guaranteed = |it: &&Value| {
        ["cpu", "memory"].iter().all(|resource| {
            let limit = of(it, "limits", resource);
            !limit.is_null() && limit == of(it, "requests", resource)
        })
    };
    let asks = |it: &&Value| {
        ["limits", "requests"]
            .iter()
            .any(|part| it["resources"][*part].as_object().is_some_and(|all| !all.is_empty()))
    };
    if containers.iter().all(|it| guaranteed(&it)) {
        "Guaranteed"
    } else if containers.iter().any(|it| asks(&it)) {
        "Burstable"
    } else {
        "BestEffort"
    }
}

fn without_mutable(pod: &Value) -> Value {
    let mut spec = pod["spec"].clone();
    for kind in ["containers", "initContainers"] {
        let containers = spec.get_mut(kind).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            container.as_object_mut().map(|it| it.remove("image"));
        }
    }
    if let Some(fields) = spec.as_object_mut() {
        for field in MUTABLE {
            fields.remove(field);
        }
    }
    spec
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Stored, review};

    fn made() -> Value {
        let mut pod = json!({"metadata": {"name": "a"}, "spec": {"containers": [{
            "name": "node", "image": "registry.k8s.io/pause:3.10",
            "resources": {"requests": {"cpu": "2000m"}},
            "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        }], "restartPolicy": "Never"}});
        let review = review(POD, Operation::Create, None);
        PodRules.mutate(&review, &mut pod, &Stored::default()).unwrap();
        pod
    }

    #[test]
    fn a_pod_gets_what_it_leaves_open() {
        let lost = |key: &str| {
            json!({
                "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300,
            })
        };
        // Measured.
        let expected = json!({
            "containers": [{
                "name": "node", "image": "registry.k8s.io/pause:3.10",
                "imagePullPolicy": "IfNotPresent",
                "resources": {"requests": {"cpu": "2"}},
                "env": [{"name": "A", "valueFrom": {"fieldRef": {
                    "apiVersion": "v1", "fieldPath": "metadata.name",
                }}}],
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }],
            "dnsPolicy": "ClusterFirst", "enableServiceLinks": true,
            "preemptionPolicy": "PreemptLowerPriority", "priority": 0, "restartPolicy": "Never",
            "schedulerName": "default-scheduler", "securityContext": {},
            "terminationGracePeriodSeconds": 30,
            "tolerations": [
                lost("node.kubernetes.io/not-ready"), lost("node.kubernetes.io/unreachable"),
            ],
        });
        let pod = made();
        assert_eq!(pod["spec"], expected);
        assert_eq!(pod["status"], json!({"phase": "Pending", "qosClass": "Burstable"}));
    }

    #[test]
    fn the_spec_of_a_pod_stays() {
        let old = made();
        let mut new = old.clone();
        new["spec"]["containers"][0]["image"] = "other".into();
        let review = review(POD, Operation::Update, Some(&old));
        assert!(PodRules.validate(&review, &new, &Stored::default()).is_ok());
        new["spec"]["restartPolicy"] = "Always".into();
        assert!(PodRules.validate(&review, &new, &Stored::default()).is_err());
    }
}
