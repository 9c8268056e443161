//! Jobs (Kueue `pkg/controller/jobframework/defaults.go`, `validation.go`, and the webhooks of each
//! kind under `pkg/controller/jobs`).

use serde_json::{Value, json};

use super::{Errors, Running, gate};
use crate::api::{Denied, Failure, Lookup, Operation, Review, Webhook};
use crate::component::Component;
use crate::kueue::job::pod_set::Failed;
use crate::kueue::job::{Ancestor, Integration, ancestor, by_owner, train_job};
use crate::kueue::names::{
    DEFAULT_QUEUE, MAX_EXECUTION_TIME, MIN_PARALLELISM, PATCH_MANAGER, PREBUILT_WORKLOAD,
    PRIORITY_CLASS, QUEUE_NAME,
};
use crate::kueue::queue::{self, Stop};
use crate::object::{Object, annotation, controller, items, label, namespace, text};
use crate::resource::LOCAL_QUEUE;

/// The webhooks of one kind of job.
pub(super) struct JobWebhook {
    integration: Integration,
    running: Running,
}

impl JobWebhook {
    pub(super) fn new(integration: Integration, running: Running) -> Self {
        Self { integration, running }
    }

    fn changed(&self, old: &Object, new: &Object, stored: &dyn Lookup, errors: &mut Errors) {
        let suspended = self.integration.is_suspended(new);
        let of = |it: &Object, key: &str| Value::from(label(it, key).unwrap_or_default());
        let path = |key: &str| format!("metadata.labels[{key}]");
        let (queue, before) = (of(new, QUEUE_NAME), of(old, QUEUE_NAME));
        if !suspended {
            errors.immutable(&path(QUEUE_NAME), &before, &queue);
            let prebuilt = [of(old, PREBUILT_WORKLOAD), of(new, PREBUILT_WORKLOAD)];
            errors.immutable(&path(PREBUILT_WORKLOAD), &prebuilt[0], &prebuilt[1]);
        }
        if queue == "" && before != "" && has_default_queue(stored, namespace(old)) {
            let why = "queue-name must not be empty in namespace with default queue";
            errors.invalid(&path(QUEUE_NAME), &queue, why);
        }
        let (class, before) = (of(new, PRIORITY_CLASS), of(old, PRIORITY_CLASS));
        let why = match (before == "", class == "") {
            (true, false) if !suspended => {
                "WorkloadPriorityClass cannot be added to a non-suspended workload"
            }
            (false, true) => "WorkloadPriorityClass cannot be removed from a workload",
            _ => "",
        };
        if !why.is_empty() {
            errors.invalid(&path(PRIORITY_CLASS), &class, why);
        }
        if self.running.features().admission_gated_by {
            gate::on_update(old, new, errors);
        }
    }

    /// Kueue asks its copy of Trainer's library about the pods, also at each change.
    fn pods(&self, object: &Object, stored: &dyn Lookup) -> Result<(), Denied> {
        if self.integration != Integration::TrainJob {
            return Ok(());
        }
        let find = |resource, namespace: &str, name: &str| stored.get(resource, namespace, name);
        match train_job::pod_sets(object, find) {
            Ok(_) => Ok(()),
            Err(Failed::Unsupported(why)) => {
                Err(Denied::Failure(Failure::new(501, "NotImplemented", why)))
            }
            Err(failed) => Err(Denied::Webhook(failed.message().to_owned())),
        }
    }
}

impl Webhook for JobWebhook {
    fn name(&self) -> &'static str {
        match self.integration {
            Integration::Job => "vjob.kb.io",
            Integration::JobSet => "vjobset.kb.io",
            Integration::TrainJob => "vtrainjob.kb.io",
        }
    }

    fn component(&self) -> Option<Component> {
        Some(Component::Kueue)
    }

    fn looks_at(&self, review: &Review<'_>) -> bool {
        review.writes_main(&[self.integration.resource()])
    }

    fn mutate(
        &self,
        review: &Review<'_>,
        object: &mut Value,
        stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        if review.operation != Operation::Create {
            return Ok(());
        }
        let queue = |it: &Object| label(it, QUEUE_NAME).unwrap_or_default().to_owned();
        let is_part = controller(object).is_some_and(|it| by_owner(it).is_some());
        if queue(object).is_empty() && !is_part && has_default_queue(stored, namespace(object)) {
            object["metadata"]["labels"][QUEUE_NAME] = DEFAULT_QUEUE.into();
        }
        let queue = queue(object);
        let suspend = match ancestor(object, |owner, resource| {
            stored.get(resource, namespace(object), text(owner, "/name"))
        }) {
            Ancestor::Unknown => {
                return Err(Denied::Webhook("workload owner not found".to_owned()));
            }
            Ancestor::Known(..) => false,
            Ancestor::None => !queue.is_empty(),
        };
        if suspend {
            object["spec"]["suspend"] = true.into();
        }
        if self.integration == Integration::TrainJob {
            add_patch(object, Some(queue).filter(|it| suspend && !it.is_empty()));
        }
        Ok(())
    }

    fn validate(
        &self,
        review: &Review<'_>,
        object: &Object,
        stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        if label(object, MAX_EXECUTION_TIME).is_some() {
            return Err(Denied::Failure(Failure::unsupported(MAX_EXECUTION_TIME)));
        }
        if annotation(object, MIN_PARALLELISM).is_some() {
            return Err(Denied::Failure(Failure::unsupported(MIN_PARALLELISM)));
        }
        let mut errors = Errors::default();
        if let Some(old) = review.old {
            self.changed(old, object, stored, &mut errors);
        }
        for key in [QUEUE_NAME, PREBUILT_WORKLOAD] {
            names_an_object(object, key, &mut errors);
        }
        if review.old.is_none() && self.running.features().admission_gated_by {
            gate::on_create(object, &mut errors);
        }
        errors.denied()?;
        self.pods(object, stored)
    }
}

/// Kueue's entry among the patches: it carries the queue to the `JobSet`. A second one is refused by
/// the kind's own rules.
fn add_patch(train_job: &mut Value, queue: Option<String>) {
    let mut template = json!({"spec": {}});
    if let Some(queue) = queue {
        template["metadata"] = json!({"labels": { QUEUE_NAME: queue }});
    }
    let mut patches = items(train_job, "/spec/runtimePatches").to_vec();
    patches.push(json!({
        "manager": PATCH_MANAGER, "trainingRuntimeSpec": { "template": template },
    }));
    train_job["spec"]["runtimePatches"] = patches.into();
}

/// Whether jobs without a queue get one here.
fn has_default_queue(stored: &dyn Lookup, namespace: &str) -> bool {
    let queue = stored.get(LOCAL_QUEUE, namespace, DEFAULT_QUEUE);
    queue.is_some_and(|it| queue::stop(it) == Stop::None)
}

/// A label that has to be a name, if it is there. An empty one is none.
fn names_an_object(object: &Object, key: &str, errors: &mut Errors) {
    let Some(value) = label(object, key) else { return };
    let part = |it: &str| {
        let inner = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-';
        !it.is_empty() && it.chars().all(inner) && !it.starts_with('-') && !it.ends_with('-')
    };
    if value.len() > 253 || !value.split('.').all(part) {
        let why = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
                   '-' or '.', and must start and end with an alphanumeric character";
        errors.invalid(&format!("metadata.labels[{key}]"), &value.into(), why);
    }
}
