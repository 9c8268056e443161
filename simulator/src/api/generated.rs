//! What the server itself gives a new object.

use serde_json::Value;

use crate::object::Object;
use crate::resource::{self, Resource};

/// What the server gives a new object that was not sent with it.
pub(super) struct Generated(Vec<&'static str>);

impl Generated {
    pub(super) fn of(resource: &Resource, sent: &Object) -> Self {
        let all = pointers(resource).iter().copied();
        Self(all.filter(|it| sent.pointer(it).is_none()).collect())
    }

    /// An object without it; none if it is the same.
    pub(super) fn without(&self, object: &Object) -> Option<Object> {
        if self.0.is_empty() {
            return None;
        }
        let mut object = object.clone();
        for pointer in &self.0 {
            let (above, key) = pointer.rsplit_once('/')?;
            let above = object.pointer_mut(above).and_then(Value::as_object_mut);
            above.and_then(|it| it.remove(&key.replace("~1", "/")));
        }
        Some(object)
    }
}

/// What it gives after the fields were given to their managers: it belongs to nobody. Kubernetes `pkg/registry/*/strategy.go`, `PrepareForCreate`.
fn pointers(resource: &Resource) -> &'static [&'static str] {
    if resource == resource::JOB {
        &[
            "/spec/selector",
            "/spec/template/metadata/labels/batch.kubernetes.io~1controller-uid",
            "/spec/template/metadata/labels/batch.kubernetes.io~1job-name",
            "/spec/template/metadata/labels/controller-uid",
            "/spec/template/metadata/labels/job-name",
        ]
    } else if resource == resource::POD {
        &["/spec/priority", "/spec/preemptionPolicy", "/status"]
    } else if resource == resource::NAMESPACE {
        &["/spec/finalizers", "/status"]
    } else {
        &[]
    }
}
