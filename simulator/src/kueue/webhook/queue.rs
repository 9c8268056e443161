//! `ClusterQueue`s and flavors (Kueue `pkg/webhooks/clusterqueue_webhook.go`,
//! `resourceflavor_webhook.go`). What the embedded Kueue does not have is refused here, where it is
//! asked for.

use serde_json::Value;

use crate::api::{Denied, Failure, Lookup, Operation, Review, Webhook};
use crate::component::Component;
use crate::kueue::names::IN_USE;
use crate::kueue::queue::cluster_queue::with_the_finalizer;
use crate::object::{Object, has_finalizer, items, name, text};
use crate::resource::{CLUSTER_QUEUE, RESOURCE_FLAVOR};

/// The webhooks of `ClusterQueue`s.
pub(super) struct ClusterQueueWebhook;

/// The webhooks of flavors.
pub(super) struct ResourceFlavorWebhook;

impl Webhook for ClusterQueueWebhook {
    fn name(&self) -> &'static str {
        "vclusterqueue.kb.io"
    }

    fn component(&self) -> Option<Component> {
        Some(Component::Kueue)
    }

    fn looks_at(&self, review: &Review<'_>) -> bool {
        review.writes_main(&[CLUSTER_QUEUE])
    }

    fn mutate(
        &self,
        review: &Review<'_>,
        object: &mut Value,
        _stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        add_finalizer(review, object);
        Ok(())
    }

    fn validate(
        &self,
        _review: &Review<'_>,
        object: &Object,
        stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        let cohort = text(object, "/spec/cohortName");
        let shared = stored.list(CLUSTER_QUEUE, None).into_iter().any(|it| {
            !cohort.is_empty() && text(it, "/spec/cohortName") == cohort && name(it) != name(object)
        });
        match unsupported(object) {
            _ if shared => refuse("a cohort of several ClusterQueues"),
            Some(what) => refuse(what),
            None => Ok(()),
        }
    }
}

fn refuse(what: &str) -> Result<(), Denied> {
    Err(Denied::Failure(Failure::unsupported(what)))
}

/// What of a `ClusterQueue` would be ignored.
fn unsupported(queue: &Object) -> Option<&'static str> {
    let has = |it: &Value, key: &str| it.get(key).is_some_and(|it| !it.is_null());
    let groups = items(queue, "/spec/resourceGroups").iter();
    let flavors = groups.flat_map(|group| items(group, "/flavors"));
    let mut quotas = flavors.flat_map(|flavor| items(flavor, "/resources"));
    let expressions = items(queue, "/spec/namespaceSelector/matchExpressions");
    if quotas.any(|it| has(it, "borrowingLimit") || has(it, "lendingLimit")) {
        Some("borrowing and lending limits")
    } else if !expressions.is_empty() {
        Some("expressions of a namespace selector")
    } else if has(&queue["spec"], "fairSharing") || has(&queue["spec"], "admissionScope") {
        Some("fair sharing")
    } else {
        None
    }
}

fn add_finalizer(review: &Review<'_>, object: &mut Value) {
    if review.operation == Operation::Create && !has_finalizer(object, IN_USE) {
        *object = with_the_finalizer(object);
    }
}

impl Webhook for ResourceFlavorWebhook {
    fn name(&self) -> &'static str {
        "vresourceflavor.kb.io"
    }

    fn component(&self) -> Option<Component> {
        Some(Component::Kueue)
    }

    fn looks_at(&self, review: &Review<'_>) -> bool {
        review.writes_main(&[RESOURCE_FLAVOR])
    }

    fn mutate(
        &self,
        review: &Review<'_>,
        object: &mut Value,
        _stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        add_finalizer(review, object);
        Ok(())
    }

    fn validate(
        &self,
        _review: &Review<'_>,
        object: &Object,
        _stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        if !items(object, "/spec/nodeTaints").is_empty() {
            return refuse("flavors with taints");
        }
        if !text(object, "/spec/topologyName").is_empty() {
            return refuse("flavors of a topology");
        }
        Ok(())
    }
}
