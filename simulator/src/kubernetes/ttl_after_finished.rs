//! Jobs go some time after they have ended, if they say so (Kubernetes
//! `pkg/controller/ttlafterfinished`).

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use crate::api::{Propagation, Request};
use crate::component::{Change, Controller, Key, Plan, View};
use crate::object::{is_terminating, items, number, text};
use crate::resource::{JOB, Resource};

/// Deletes Jobs that have ended.
pub(super) struct FinishedJobs;

impl Controller for FinishedJobs {
    fn name(&self) -> &'static str {
        "ttl-after-finished"
    }

    fn watches(&self) -> &'static [&'static Resource] {
        static KINDS: [&Resource; 1] = [JOB];
        &KINDS
    }

    fn wakes(&self, _view: &View, change: &Change<'_>) -> Vec<Key> {
        let ends = !change.deleted && ended(change.object).is_some();
        ends.then(|| Key::of(change.object)).into_iter().collect()
    }

    fn reconcile(&mut self, view: &View, key: &Key, now: Timestamp) -> Plan {
        let job = view.get(JOB, &key.namespace, &key.name).filter(|it| !is_terminating(it));
        let Some((job, end)) = job.and_then(|it| Some((it, ended(it)?))) else {
            return Plan::nothing();
        };
        let Some(ttl) = number(job, "/spec/ttlSecondsAfterFinished") else {
            return Plan::nothing();
        };
        let left = end.as_millisecond() + ttl * 1000 - now.as_millisecond();
        match u64::try_from(left) {
            Ok(left) if left > 0 => Plan::nothing().again(Duration::from_millis(left)),
            _ => {
                let request = Request::delete(JOB, job, Some(Propagation::Foreground));
                Plan::one(request, "Kubernetes pkg/controller/ttlafterfinished")
            }
        }
    }
}

/// When a Job ended.
fn ended(job: &Value) -> Option<Timestamp> {
    let ends =
        |it: &&Value| matches!(text(it, "/type"), "Complete" | "Failed") && it["status"] == "True";
    let end = items(job, "/status/conditions").iter().find(ends)?;
    text(end, "/lastTransitionTime").parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::object::seconds;
    use crate::testing::{at, verbs, view};

    #[test]
    fn a_job_goes_when_its_time_is_over() {
        let job = json!({
            "metadata": {"name": "a", "namespace": "n"},
            "spec": {"ttlSecondsAfterFinished": 10},
            "status": {"conditions": [{
                "type": "Complete", "status": "True", "lastTransitionTime": seconds(at(0)),
            }]},
        });
        let (view, key) = (view(&[(JOB, job)]), Key::new("n", "a"));
        let plan = FinishedJobs.reconcile(&view, &key, at(4));
        assert_eq!(plan.again, Some(Duration::from_secs(6)));
        assert_eq!(verbs(&FinishedJobs.reconcile(&view, &key, at(10))), ["delete jobs"]);
    }
}
