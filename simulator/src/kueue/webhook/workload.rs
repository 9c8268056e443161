//! Workloads, and their status (Kueue `pkg/webhooks/workload_webhook.go`).

use serde_json::Value;

use super::{Errors, Running, gate};
use crate::api::{Denied, Lookup, Review, Webhook};
use crate::component::Component;
use crate::kueue::quantity::Quantity;
use crate::kueue::workload::has_quota_reservation;
use crate::object::{Object, items, number, text};
use crate::resource::WORKLOAD;

/// The webhooks of Workloads.
pub(super) struct WorkloadWebhook {
    running: Running,
}

impl WorkloadWebhook {
    pub(super) fn new(running: Running) -> Self {
        Self { running }
    }
}

impl Webhook for WorkloadWebhook {
    fn name(&self) -> &'static str {
        "vworkload.kb.io"
    }

    fn component(&self) -> Option<Component> {
        Some(Component::Kueue)
    }

    fn looks_at(&self, review: &Review<'_>) -> bool {
        review.writes(&[WORKLOAD]) && matches!(review.subresource, None | Some("status"))
    }

    fn validate(
        &self,
        review: &Review<'_>,
        object: &Object,
        _stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        let mut errors = Errors::default();
        admission(object, &mut errors);
        pod_set_updates(object, &mut errors);
        reclaimable_pods(object, &mut errors);
        if let Some(old) = review.old {
            changed(old, object, &mut errors);
        }
        if self.running.features().admission_gated_by {
            match review.old {
                Some(old) => gate::on_update(old, object, &mut errors),
                None => gate::on_create(object, &mut errors),
            }
        }
        errors.denied()
    }
}

fn pod_set_names(workload: &Object) -> Vec<&str> {
    items(workload, "/spec/podSets").iter().map(|it| text(it, "/name")).collect()
}

/// What is admitted are pod sets that there are, so much for each of their pods.
fn admission(workload: &Object, errors: &mut Errors) {
    if !has_quota_reservation(workload) {
        return;
    }
    let names = pod_set_names(workload);
    let assignments = items(workload, "/status/admission/podSetAssignments");
    for (at, assignment) in assignments.iter().enumerate() {
        let path = format!("status.admission.podSetAssignments[{at}]");
        if !names.contains(&text(assignment, "/name")) {
            errors.0.push(format!("{path}.name: Not found: {}", assignment["name"]));
        }
        let count = number(assignment, "/count").unwrap_or_default();
        for (resource, used) in assignment["resourceUsage"].as_object().into_iter().flatten() {
            let each = Quantity::of(used).map(|it| it.divided_by(count).times(count));
            if count > 0 && each != Quantity::of(used) {
                let path = format!("{path}.resourceUsage[{resource}]");
                errors.invalid(&path, used, &format!("is not a multiple of {count}"));
            }
        }
    }
}

/// A check updates pod sets that there are.
fn pod_set_updates(workload: &Object, errors: &mut Errors) {
    let names = pod_set_names(workload);
    for (at, check) in items(workload, "/status/admissionChecks").iter().enumerate() {
        for (of, update) in items(check, "/podSetUpdates").iter().enumerate() {
            if !names.contains(&text(update, "/name")) {
                let known: Vec<_> = names.iter().map(|it| format!("\"{it}\"")).collect();
                errors.0.push(format!(
                    "status.admissionChecks[{at}].podSetUpdates[{of}].name: Unsupported value: {}: \
                     supported values: {}",
                    update["name"],
                    known.join(", "),
                ));
            }
        }
    }
}

fn reclaimable_pods(workload: &Object, errors: &mut Errors) {
    for reclaimable in items(workload, "/status/reclaimablePods") {
        let path = format!("status.reclaimablePods[{}]", text(reclaimable, "/name"));
        let pod_sets = items(workload, "/spec/podSets").iter();
        let of = pod_sets.into_iter().find(|it| it["name"] == reclaimable["name"]);
        let most = of.map(|it| number(it, "/count").unwrap_or(1));
        match most {
            None => {
                errors.0.push(format!("{path}.name: Unsupported value: {}", reclaimable["name"]));
            }
            Some(most) if number(reclaimable, "/count").unwrap_or_default() > most => {
                let why = format!("should be less or equal to {most}");
                errors.invalid(&format!("{path}.count"), &reclaimable["count"], &why);
            }
            Some(_) => {}
        }
    }
}

/// While it has quota, its pods are what they are; and an admission comes and goes, but does not
/// change.
fn changed(old: &Object, new: &Object, errors: &mut Errors) {
    if has_quota_reservation(old) {
        let (before, after) = (items(old, "/spec/podSets"), items(new, "/spec/podSets"));
        if before.len() == after.len() {
            for (at, (before, after)) in before.iter().zip(after).enumerate() {
                errors.immutable(&format!("spec.podSets.{at}"), before, after);
            }
        } else {
            errors.invalid("spec.podSets", &new["spec"]["podSets"], "field is immutable");
        }
    }
    let admission =
        |it: &Object| it.pointer("/status/admission").filter(|it| !it.is_null()).cloned();
    if let (Some(before), Some(after)) = (admission(old), admission(new)) {
        errors.immutable("status.admission", &before, &after);
    }
    for (at, before) in items(old, "/status/admissionChecks").iter().enumerate() {
        let mut checks = items(new, "/status/admissionChecks").iter();
        let Some(after) = checks.find(|it| it["name"] == before["name"]) else { continue };
        if before["state"] == "Ready" && after["state"] == "Ready" {
            let of = |it: &Value| Value::from(items(it, "/podSetUpdates").to_vec());
            let path = format!("status.admissionChecks[{at}].podSetUpdates");
            errors.immutable(&path, &of(before), &of(after));
        }
    }
}
