//! Which checks are this controller's (RG-14).

use std::sync::Arc;

use dispatch_contract::resources::AdmissionCheck;
use kube::core::DeserializeGuard;
use kube::runtime::reflector::{ObjectRef, Store};

/// An `AdmissionCheck` as the watch keeps it: one that cannot be understood does not stop it.
pub(crate) type WatchedCheck = DeserializeGuard<AdmissionCheck>;

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
        self.is_named_by(check).unwrap_or(false)
    }

    /// Whether it is served, or was before it could no longer be understood.
    pub(crate) fn may_be_served(&self, check: &WatchedCheck) -> bool {
        self.is_named_by(check).unwrap_or(true)
    }

    /// `None` of a check that cannot be understood.
    fn is_named_by(&self, check: &WatchedCheck) -> Option<bool> {
        let check = check.0.as_ref().ok()?;
        Some(*check.spec.controller_name == *self.controller_name)
    }
}

#[cfg(test)]
mod tests {
    use kube::runtime::reflector::store;
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::of_this_controller(json!({"controllerName": "example.com/this"}), true, true)]
    #[case::of_another(json!({"controllerName": "example.com/another"}), false, false)]
    #[case::not_to_be_understood(json!({"controllerName": 7}), false, true)]
    fn only_a_check_that_can_be_another_controllers_wakes_nobody(
        #[case] spec: serde_json::Value,
        #[case] is: bool,
        #[case] may_be: bool,
    ) {
        let check: WatchedCheck = serde_json::from_value(json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "AdmissionCheck",
            "metadata": {"name": "c"}, "spec": spec,
        }))
        .unwrap();
        let served = ServedChecks::new(store().0, "example.com/this");
        assert_eq!((served.is_served(&check), served.may_be_served(&check)), (is, may_be));
    }
}
