//! What a ClusterQueue uses, flavors and admission checks, is not deleted while it does (Kueue
//! `pkg/controller/core/admissioncheck_controller.go`, `resourceflavor_controller.go`).

use super::names::{IN_USE, KUEUE};
use super::queue;
use super::queue::cluster_queue::with_the_finalizer;
use super::workload::controller::without_the_finalizer;
use crate::api::Request;
use crate::component::{Change, Controller, Key, Plan, View};
use crate::object::{Object, has_finalizer, is_terminating};
use crate::resource::{ADMISSION_CHECK, CLUSTER_QUEUE, RESOURCE_FLAVOR, Resource};

/// The controller of one of the two kinds.
pub(super) struct InUseController {
    kind: &'static Resource,
    watched: &'static [&'static Resource],
    uses: fn(&Object, &str) -> bool,
    source: &'static str,
}

impl InUseController {
    pub(super) fn of_checks() -> Self {
        static WATCHED: [&Resource; 2] = [ADMISSION_CHECK, CLUSTER_QUEUE];
        Self {
            kind: ADMISSION_CHECK,
            watched: &WATCHED,
            uses: queue::has_check,
            source: "Kueue pkg/controller/core/admissioncheck_controller.go, Reconcile",
        }
    }

    pub(super) fn of_flavors() -> Self {
        static WATCHED: [&Resource; 2] = [RESOURCE_FLAVOR, CLUSTER_QUEUE];
        Self {
            kind: RESOURCE_FLAVOR,
            watched: &WATCHED,
            uses: queue::has_flavor,
            source: "Kueue pkg/controller/core/resourceflavor_controller.go, Reconcile",
        }
    }
}

impl Controller for InUseController {
    fn name(&self) -> &'static str {
        self.kind.plural
    }

    fn watches(&self) -> &'static [&'static Resource] {
        self.watched
    }

    fn wakes(&self, view: &View, change: &Change<'_>) -> Vec<Key> {
        if change.resource == self.kind {
            return vec![Key::of(change.object)];
        }
        view.all(self.kind).filter(|it| is_terminating(it)).map(Key::of).collect()
    }

    fn reconcile(&mut self, view: &View, key: &Key, _now: jiff::Timestamp) -> Plan {
        let Some(object) = view.get(self.kind, "", &key.name) else { return Plan::nothing() };
        let in_use = || queue::users(view, object, self.uses).next().is_some();
        let changed = if is_terminating(object) {
            if in_use() { None } else { without_the_finalizer(object) }
        } else {
            (!has_finalizer(object, IN_USE)).then(|| with_the_finalizer(object))
        };
        match changed {
            Some(changed) => Plan::one(Request::update(self.kind, changed, KUEUE), self.source),
            None => Plan::nothing(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::api::Verb;

    #[rstest]
    #[case::new(false, false, true, Some(true))]
    #[case::known(true, false, true, None)]
    #[case::deleted_in_use(true, true, true, None)]
    #[case::deleted_and_free(true, true, false, Some(false))]
    fn a_check_stays_while_a_queue_lists_it(
        #[case] has_finalizer: bool,
        #[case] deleted: bool,
        #[case] used: bool,
        #[case] gets_finalizer: Option<bool>,
    ) {
        let mut check = json!({"metadata": {"name": "c", "resourceVersion": "1"}});
        if has_finalizer {
            check["metadata"]["finalizers"] = json!([IN_USE]);
        }
        if deleted {
            check["metadata"]["deletionTimestamp"] = "t".into();
        }
        let mut view = View::default();
        view.put(ADMISSION_CHECK, Arc::new(check));
        if used {
            let checks = json!({"admissionChecks": [{"name": "c"}]});
            let queue = json!({
                "metadata": {"name": "q"}, "spec": {"admissionChecksStrategy": checks},
            });
            view.put(CLUSTER_QUEUE, Arc::new(queue));
        }
        let at = jiff::Timestamp::UNIX_EPOCH;
        let plan = InUseController::of_checks().reconcile(&view, &Key::new("", "c"), at);
        let written = plan.requests.first().map(|it| match &it.request.verb {
            Verb::Update(object, _) => crate::object::has_finalizer(object, IN_USE),
            other => panic!("{other:?}"),
        });
        assert_eq!(written, gets_finalizer);
    }
}
