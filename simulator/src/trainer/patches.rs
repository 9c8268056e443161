//! The runtime patches of a `TrainJob`.

use serde_json::Value;

use super::merge::merge;
use crate::object::items;

/// Merges all patches into a runtime's template, in the order in which they are listed: the last one
/// wins (Trainer `pkg/runtime/core/trainingruntime.go`, `mergeRuntimePatches`).
pub(super) fn apply_patches(train_job: &Value, template: &mut Value) {
    for patch in items(train_job, "/spec/runtimePatches") {
        let patch = &patch["trainingRuntimeSpec"]["template"];
        for part in ["labels", "annotations"] {
            let wanted = &patch["metadata"][part];
            if wanted.is_object() {
                merge(&mut template["metadata"][part], wanted);
            }
        }
        let jobs = template["spec"]["replicatedJobs"].as_array_mut();
        for job in jobs.into_iter().flatten() {
            for wanted in items(patch, "/spec/replicatedJobs") {
                if wanted["name"] == job["name"] && wanted["template"].is_object() {
                    merge(&mut job["template"], &wanted["template"]);
                }
            }
        }
    }
}
