//! Requests to the API server, as the proxy sees them, and what faults do to them.
//!
//! Watches of the recorder tell what the cluster had; these events tell what a subject asked for,
//! what it was answered, and what it had seen when it decided.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::{Kind, Role};

/// A party whose requests pass the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Subject {
    /// What it is.
    pub role: Role,
    /// Which one of its role, from 0.
    pub replica: u32,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.role {
            Role::Controller => write!(f, "controller-{}", self.replica),
            role => f.write_str(role.as_str()),
        }
    }
}

impl FromStr for Subject {
    type Err = UnknownSubject;

    /// Reads what [`Subject`] is displayed as.
    fn from_str(text: &str) -> Result<Self, UnknownSubject> {
        if let Some(number) = text.strip_prefix("controller-") {
            let replica = number.parse().ok().filter(|replica: &u32| replica.to_string() == number);
            let of_number = |replica| Self { role: Role::Controller, replica };
            return replica.map(of_number).ok_or(UnknownSubject);
        }
        let alone = Role::ALL.into_iter().filter(|role| *role != Role::Controller);
        let role = alone.into_iter().find(|role| role.as_str() == text);
        role.map(|role| Self { role, replica: 0 }).ok_or(UnknownSubject)
    }
}

/// A text names no [`Subject`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected adapter, controller-<n> or a component")]
pub struct UnknownSubject;

/// A request reached the proxy. What became of it is told by the events that carry its number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// The number of the request, unique in the history.
    pub request: u64,
    /// Who sent it.
    pub from: Subject,
    /// The verb, as RBAC has it: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`,
    /// `deletecollection`; of a path that is no resource's, the method in lower case.
    pub verb: String,
    /// How a patch is to be applied; `None` of other verbs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<PatchKind>,
    /// The API group; empty of the core group.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The resource, in the plural; of a path that is no resource's, the path.
    pub resource: String,
    /// Its subresource, such as `status`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subresource: Option<String>,
    /// The namespace, where the request names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The object's name; of a create, the one in the body, or the prefix that the server is to
    /// complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The query, such as `labelSelector`, `resourceVersion`, `fieldManager`, `force`, `dryRun`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub query: BTreeMap<String, String>,
    /// Whose credentials it carried, as far as the credentials say so themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The body, of a write to a kind that is recorded; never of a Secret or a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
}

impl Request {
    /// The kind that it is about; `None` of one that is not recorded.
    pub fn kind(&self) -> Option<Kind> {
        Kind::of_resource(&self.group, &self.resource)
    }

    /// Whether it asks for a change.
    pub fn is_write(&self) -> bool {
        matches!(
            self.verb.as_str(),
            "create" | "update" | "patch" | "delete" | "deletecollection" | "post" | "put"
        )
    }

    /// Whether it is only tried: a dry run changes nothing.
    pub fn is_dry_run(&self) -> bool {
        self.query.contains_key("dryRun")
    }

    /// The `resourceVersion` that a write carries as its precondition: in the object, in the
    /// options of a delete, or in an operation of a JSON patch, which may test it or set it.
    pub fn precondition(&self) -> Option<&str> {
        const PATH: &str = "/metadata/resourceVersion";
        let body = self.body.as_ref()?;
        let names = |operation: &&Value| {
            operation["path"] == PATH
                && matches!(operation["op"].as_str(), Some("test" | "add" | "replace"))
        };
        let found = match body {
            Value::Array(operations) => operations.iter().find(names).map(|it| &it["value"]),
            object => {
                object.pointer(PATH).or_else(|| object.pointer("/preconditions/resourceVersion"))
            }
        };
        found.and_then(Value::as_str).filter(|version| !version.is_empty())
    }
}

/// How a patch is to be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PatchKind {
    /// Server-side apply.
    Apply,
    /// JSON merge patch.
    Merge,
    /// JSON patch.
    Json,
    /// Strategic merge patch.
    Strategic,
}

/// A request was sent on to the API server. Of a request that was held or delayed, the event's order
/// is the store's latest revision, read immediately before; else it has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestSent {
    /// The number of the request.
    pub request: u64,
    /// The body that was sent, where a fault changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_body: Option<Value>,
}

/// A request came to its end. The event's order is the version that the answer carries, where it
/// carries one: of a write, that of the object it made; of a list, the store's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestEnded {
    /// The number of the request.
    pub request: u64,
    /// What became of it.
    pub ending: Ending,
    /// The status of the API server's answer, or of the one given in its place; `None` where there
    /// was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The reason of an answer that refuses, such as `Conflict`, and its message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
    /// The UID of the object that was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Of the object or list that was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    /// Of a list, the number of its items; what they were is in the versions of the objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<u64>,
}

/// An answer that refuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The reason, as Kubernetes has it.
    pub reason: String,
    /// The message, cut off where it is long.
    pub message: String,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// The subject got the API server's answer. Of a watch: the API server ended it.
    Answered,
    /// The API server answered, and the subject did not get it.
    AnswerLost,
    /// It never reached the API server, and the subject got no answer.
    RequestLost,
    /// It never reached the API server; the subject was answered in its place.
    AnsweredInstead,
    /// The subject gave up, or was gone, before the answer came. Of a watch: the subject ended it.
    GivenUp,
    /// The API server could not be reached, or broke off.
    Unreachable,
    /// Of a watch: a fault ended it.
    Cut,
}

/// A watch delivered an event to a subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Delivered {
    /// The number of the watch's request.
    pub request: u64,
    /// `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`.
    #[serde(rename = "type")]
    pub type_: String,
    /// The object's name; `None` of a bookmark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its UID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// The version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
}

/// Something happened with a fault. Where a request met it, the event's order is the store's latest
/// revision, read immediately before; the rest has the order of the step that it is part of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FaultChanged {
    /// The fault's name in the scenario.
    pub fault: String,
    /// What happened.
    pub change: FaultChange,
    /// The request that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<u64>,
}

/// What happened with a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultChange {
    /// It is in place: from now on it waits for its request.
    Placed,
    /// A request met it.
    Met,
    /// What it held goes on.
    Released,
    /// It no longer waits.
    Removed,
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn a_subject_is_read_as_it_is_written() {
        let subjects = Role::ALL.map(|role| Subject { role, replica: 0 });
        let last = Subject { role: Role::Controller, replica: 12 };
        for subject in subjects.into_iter().chain([last]) {
            assert_eq!(subject.to_string().parse(), Ok(subject));
        }
    }

    #[rstest]
    fn what_is_no_subject_is_refused(
        #[values("", "controller", "controller-", "controller--1", "controller-01", "adapter-0")]
        text: &str,
    ) {
        assert_eq!(text.parse::<Subject>(), Err(UnknownSubject));
    }
}
