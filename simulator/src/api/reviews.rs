//! Reviews of who may do what.

use serde_json::{Value, json};

use super::access::{self, Attributes};
use super::failure::Failure;
use super::store::Store;
use super::user::Caller;
use crate::object::text;

/// A kind of review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Of the caller.
    OfSelf,
    /// Of anybody.
    OfSubject,
}

/// The kind of review at this path, if there is one.
pub(super) fn kind(group: &str, version: &str, plural: &str) -> Option<Kind> {
    match (group, version, plural) {
        ("authorization.k8s.io", "v1", "selfsubjectaccessreviews") => Some(Kind::OfSelf),
        ("authorization.k8s.io", "v1", "subjectaccessreviews") => Some(Kind::OfSubject),
        _ => None,
    }
}

/// Answers a review.
pub(super) fn answer(
    store: &Store,
    caller: &Caller,
    kind: Kind,
    mut body: Value,
) -> Result<Value, Failure> {
    let subject = match kind {
        Kind::OfSelf => caller.clone(),
        Kind::OfSubject => {
            let own = Attributes {
                verb: "create",
                group: "authorization.k8s.io",
                resource: "subjectaccessreviews",
                ..Attributes::default()
            };
            access::check(store, caller, &own)?;
            subject(&body)
        }
    };
    let asked = &body["spec"]["resourceAttributes"];
    if !asked.is_object() {
        return Err(Failure::unsupported("access reviews of paths"));
    }
    let attributes = Attributes {
        verb: text(asked, "/verb"),
        group: text(asked, "/group"),
        resource: text(asked, "/resource"),
        subresource: text(asked, "/subresource"),
        namespace: text(asked, "/namespace"),
        name: text(asked, "/name"),
    };
    let allowed = access::is_allowed(store, &subject, &attributes);
    body["status"] = json!({"allowed": allowed});
    Ok(body)
}

fn subject(body: &Value) -> Caller {
    let spec = &body["spec"];
    let mut subject = Caller::of(text(spec, "/user"));
    let named = spec["groups"].as_array().into_iter().flatten().filter_map(Value::as_str);
    // Who is reviewed has the groups that are given, and no others.
    subject.groups = named.map(str::to_owned).collect();
    subject
}
