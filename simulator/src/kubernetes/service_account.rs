//! Every namespace has a service account named default (Kubernetes
//! `pkg/controller/serviceaccount/serviceaccounts_controller.go`).

use jiff::Timestamp;
use serde_json::json;

use crate::api::Request;
use crate::component::{Change, Controller, Key, Plan, View};
use crate::object::{is_terminating, namespace};
use crate::resource::{NAMESPACE, Resource, SERVICE_ACCOUNT};

/// Makes service accounts.
pub(super) struct ServiceAccounts;

impl Controller for ServiceAccounts {
    fn name(&self) -> &'static str {
        "serviceaccount"
    }

    fn watches(&self) -> &'static [&'static Resource] {
        static KINDS: [&Resource; 2] = [NAMESPACE, SERVICE_ACCOUNT];
        &KINDS
    }

    fn wakes(&self, _view: &View, change: &Change<'_>) -> Vec<Key> {
        if *change.resource == *NAMESPACE {
            return vec![Key::of(change.object)];
        }
        vec![Key::new("", namespace(change.object))]
    }

    fn reconcile(&mut self, view: &View, key: &Key, _now: Timestamp) -> Plan {
        let there = view.get(SERVICE_ACCOUNT, &key.name, "default").is_some();
        let home = view.get(NAMESPACE, "", &key.name).filter(|it| !is_terminating(it));
        if home.is_none() || there {
            return Plan::nothing();
        }
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": "default", "namespace": key.name},
        });
        let request = Request::create(SERVICE_ACCOUNT, account, "");
        Plan::one(request, "Kubernetes pkg/controller/serviceaccount/serviceaccounts_controller.go")
    }
}
