//! Who may do what: roles, and who they are bound to.

use serde_json::Value;

use super::failure::Failure;
use super::store::Store;
use super::user::{Caller, service_account};
use crate::object::{items, text};
use crate::resource::{CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING};

/// What somebody wants to do.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attributes<'a> {
    pub(super) verb: &'a str,
    pub(super) group: &'a str,
    pub(super) resource: &'a str,
    pub(super) subresource: &'a str,
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
}

/// Refuses what the caller may not do.
pub(super) fn check(
    store: &Store,
    caller: &Caller,
    attributes: &Attributes<'_>,
) -> Result<(), Failure> {
    if is_allowed(store, caller, attributes) {
        return Ok(());
    }
    let Attributes { verb, group, resource, namespace, name, .. } = *attributes;
    let qualified =
        if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") };
    let about = if name.is_empty() { qualified } else { format!("{qualified} \"{name}\"") };
    let scope = if namespace.is_empty() {
        "at the cluster scope".to_owned()
    } else {
        format!("in the namespace \"{namespace}\"")
    };
    let message = format!(
        "{about} is forbidden: User \"{}\" cannot {verb} resource \"{}\" in API group \"{group}\" {scope}",
        caller.name,
        attributes.full_resource(),
    );
    let details = serde_json::json!({"name": name, "group": group, "kind": resource});
    Err(Failure { code: 403, reason: "Forbidden", message, details })
}

/// Whether somebody may do something.
pub(super) fn is_allowed(store: &Store, caller: &Caller, attributes: &Attributes<'_>) -> bool {
    if caller.is_master() {
        return true;
    }
    let everywhere = store.all(CLUSTER_ROLE_BINDING, None).map(|it| (it.object(), ""));
    let within = attributes.namespace;
    let here = store
        .all(ROLE_BINDING, Some(within))
        .filter(|_| !within.is_empty())
        .map(|it| (it.object(), within));
    everywhere
        .chain(here)
        .filter(|(binding, _)| items(binding, "/subjects").iter().any(|it| caller.is(it)))
        .any(|(binding, namespace)| {
            rules(store, binding, namespace).iter().any(|it| grants(it, attributes))
        })
}

impl Attributes<'_> {
    /// With the subresource: `workloads/status`.
    fn full_resource(&self) -> String {
        if self.subresource.is_empty() {
            self.resource.to_owned()
        } else {
            format!("{}/{}", self.resource, self.subresource)
        }
    }
}

impl Caller {
    /// Whether a subject of a binding is this one.
    fn is(&self, subject: &Value) -> bool {
        let name = text(subject, "/name");
        match text(subject, "/kind") {
            "User" => name == self.name,
            "Group" => self.groups.iter().any(|it| it == name),
            "ServiceAccount" => {
                service_account(&self.name) == Some((text(subject, "/namespace"), name))
            }
            _ => false,
        }
    }
}

/// The rules of the role that a binding gives.
fn rules<'a>(store: &'a Store, binding: &Value, namespace: &str) -> &'a [Value] {
    let name = text(binding, "/roleRef/name");
    let role = match text(binding, "/roleRef/kind") {
        "ClusterRole" => store.find(CLUSTER_ROLE, "", name),
        "Role" => store.find(ROLE, namespace, name),
        _ => None,
    };
    role.map_or(&[], |it| items(it.object(), "/rules"))
}

/// Whether a rule grants this: Kubernetes `pkg/apis/rbac/v1/evaluation_helpers.go`.
fn grants(rule: &Value, attributes: &Attributes<'_>) -> bool {
    let has = |key: &str, wanted: &[&str]| {
        let all = rule[key].as_array().into_iter().flatten().filter_map(Value::as_str);
        all.into_iter().any(|it| it == "*" || wanted.contains(&it))
    };
    let full = attributes.full_resource();
    let any = format!("*/{}", attributes.subresource);
    let named = items(rule, "/resourceNames");
    has("verbs", &[attributes.verb])
        && has("apiGroups", &[attributes.group])
        && has("resources", &[&full, if attributes.subresource.is_empty() { &full } else { &any }])
        && (named.is_empty() || named.iter().any(|it| it == attributes.name))
}
