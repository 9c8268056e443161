//! Which checks are this controller's (RG-14).

use std::sync::Arc;

use kube::runtime::reflector::{ObjectRef, Store};

use crate::triggers::WatchedCheck;

/// The `AdmissionChecks` that name this controller, as a watch keeps them. Which controller a check
/// names cannot be changed, so that the watch can only be late.
#[derive(Clone)]
pub struct ServedChecks {
    store: Store<WatchedCheck>,
    controller_name: Arc<str>,
}

impl ServedChecks {
    pub(crate) fn new(store: Store<WatchedCheck>, controller_name: &str) -> Self {
        Self { store, controller_name: controller_name.into() }
    }

    /// Whether the `AdmissionCheck` of this name names this controller.
    pub fn serves(&self, check: &str) -> bool {
        self.store.get(&ObjectRef::new(check)).is_some_and(|check| self.is_served(&check))
    }

    pub(crate) fn is_served(&self, check: &WatchedCheck) -> bool {
        check.0.as_ref().is_ok_and(|check| *check.spec.controller_name == *self.controller_name)
    }
}
