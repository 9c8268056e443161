//! The Workload of a job, as it is made (Kueue `pkg/controller/jobframework/reconciler.go`,
//! `ConstructWorkload`, `prepareWorkload`).

use serde_json::{Value, json};

use super::{AGAIN, Turn};
use crate::component::Plan;
use crate::kueue::names::{ADMISSION_GATED_BY, IN_USE, JOB_UID, PRIORITY_CLASS, QUEUE_NAME};
use crate::object::{Object, annotation, controlled_by, label, name, namespace, number, uid};
use crate::resource::{WORKLOAD, WORKLOAD_PRIORITY_CLASS};

/// How long a Workload's name may be without its hash.
const LONGEST_PREFIX: usize = 247;

impl Turn<'_> {
    /// The Workload that the job has to have. A gate is on it from the start.
    pub(super) fn new_workload(&self) -> Result<Object, Plan> {
        let resource = self.integration.resource();
        let mut workload = json!({
            "apiVersion": WORKLOAD.api_version(),
            "kind": WORKLOAD.kind,
            "metadata": {
                "name": self.workload_name(),
                "namespace": namespace(self.job),
                "labels": { JOB_UID: uid(self.job) },
                "finalizers": [IN_USE],
                "ownerReferences": [controlled_by(resource, self.job)],
            },
            "spec": {
                "queueName": label(self.job, QUEUE_NAME).unwrap_or_default(),
                "podSets": self.pod_sets()?,
            },
        });
        let gates = annotation(self.job, ADMISSION_GATED_BY).filter(|it| !it.is_empty());
        if let Some(gates) = gates.filter(|_| self.features.admission_gated_by) {
            workload["metadata"]["annotations"] = json!({ ADMISSION_GATED_BY: gates });
        }
        self.set_priority(&mut workload)?;
        Ok(workload)
    }

    pub(super) fn pod_sets(&self) -> Result<Vec<Value>, Plan> {
        self.integration.pod_sets(self.view, self.job).map_err(|failed| {
            tracing::debug!(job = name(self.job), why = failed.message(), "no pod sets");
            Plan::nothing().again(AGAIN)
        })
    }

    /// By the label; jobs without one have none, and priority 0: there are no priority classes of
    /// pods here.
    pub(super) fn set_priority(&self, workload: &mut Object) -> Result<(), Plan> {
        let Some(class) = label(self.job, PRIORITY_CLASS).filter(|it| !it.is_empty()) else {
            workload["spec"]["priority"] = 0.into();
            return Ok(());
        };
        let known = self.view.get(WORKLOAD_PRIORITY_CLASS, "", class);
        let value = known.and_then(|it| number(it, "/value"));
        workload["spec"]["priority"] = value.ok_or_else(|| Plan::nothing().again(AGAIN))?.into();
        workload["spec"]["priorityClassRef"] = json!({
            "group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": class,
        });
        Ok(())
    }

    /// Kind and name of the job, and five digits of what it is: of the job's UID, too, so that a name
    /// used again has another Workload (Kueue `pkg/controller/jobframework/workload_names.go`).
    fn workload_name(&self) -> String {
        let resource = self.integration.resource();
        let parts = [resource.kind, resource.group, name(self.job), uid(self.job)];
        let hash = crate::digest::sha1(&parts.join("\n"));
        let mut prefix = self.integration.prefix(self.job);
        prefix.truncate(LONGEST_PREFIX);
        format!("{prefix}-{}", &hash[..5])
    }
}
