//! Creates of subresources: bindings of pods, tokens of service accounts.

use serde_json::{Value, json};

use super::failure::Failure;
use super::metadata::precondition_failed;
use super::server::State;
use super::stored::Document;
use super::target::Target;
use super::user;
use super::writing::Written;
use crate::object::{is_terminating, items, number, seconds, text};
use crate::resource;

/// For how long a token is good that does not say it, in seconds.
const TOKEN_S: i64 = 3600;

impl State {
    /// Answers the create of a subresource.
    pub(super) fn create_subresource(
        &mut self,
        target: &Target<'_>,
        body: &Value,
    ) -> Result<Written, Failure> {
        let resource = target.resource;
        let subresource = target.subresource.unwrap_or_default();
        if resource == resource::POD && subresource == "binding" {
            self.bind(target, body)
        } else if resource == resource::SERVICE_ACCOUNT && subresource == "token" {
            self.token(target, body)
        } else {
            Err(Failure::unsupported(&format!("creates of {resource}/{subresource}")))
        }
    }

    /// Binds a pod to a node: Kubernetes `pkg/registry/core/pod/storage`, setPodNodeAndMetadata.
    fn bind(&mut self, target: &Target<'_>, body: &Value) -> Result<Written, Failure> {
        let (resource, name) = (target.resource, target.name);
        let found = self.store.find(resource, target.namespace, name);
        let mut pod = found.ok_or_else(|| Failure::not_found(resource, name))?.object().clone();
        let conflict = |why: &str| {
            let message =
                format!("Operation cannot be fulfilled on pods/binding \"{name}\": {why}");
            Failure::about(409, "Conflict", resource, name, message)
        };
        let (wanted, uid) = (text(body, "/metadata/uid"), text(&pod, "/metadata/uid"));
        if !wanted.is_empty() && wanted != uid {
            return Err(precondition_failed(resource, &pod, "UID", wanted, uid));
        }
        if is_terminating(&pod) {
            let why = format!("pod {name} is being deleted, cannot be assigned to a host");
            return Err(conflict(&why));
        }
        let node = text(&pod, "/spec/nodeName");
        if !node.is_empty() {
            return Err(conflict(&format!("pod {name} is already assigned to node \"{node}\"")));
        }
        if !items(&pod, "/spec/schedulingGates").is_empty() {
            return Err(conflict(&format!("pod {name} has non-empty .spec.schedulingGates")));
        }
        pod["spec"]["nodeName"] = text(body, "/target/name").into();
        set_scheduled(&mut pod, &seconds(target.now));
        if !target.dry_run {
            self.store.put(resource, pod);
        }
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
        });
        Ok((201, Document::Other(status)))
    }

    /// Gives a token of a service account.
    fn token(&mut self, target: &Target<'_>, body: &Value) -> Result<Written, Failure> {
        let found = self.store.find(target.resource, target.namespace, target.name);
        let account = found.ok_or_else(|| Failure::not_found(target.resource, target.name))?;
        let uid = text(account.object(), "/metadata/uid");
        let lasts = number(body, "/spec/expirationSeconds").unwrap_or(TOKEN_S);
        let expires = target.now + jiff::SignedDuration::from_secs(lasts);
        let token = user::token(target.namespace, target.name, uid, expires.as_second());
        let answer = json!({
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {
                "name": target.name, "namespace": target.namespace,
                "creationTimestamp": seconds(target.now),
            },
            "spec": {
                "audiences": ["https://kubernetes.default.svc"], "expirationSeconds": lasts,
                "boundObjectRef": null,
            },
            "status": {"token": token, "expirationTimestamp": seconds(expires)},
        });
        Ok((201, Document::Other(answer)))
    }
}

fn set_scheduled(pod: &mut Value, now: &str) {
    let mut conditions = items(pod, "/status/conditions").to_vec();
    conditions.retain(|it| it["type"] != "PodScheduled");
    conditions.push(json!({
        "type": "PodScheduled", "status": "True", "lastTransitionTime": now,
    }));
    pod["status"]["conditions"] = conditions.into();
}
