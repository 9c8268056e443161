//! Which fields of an object belong to whom: server-side apply, and `metadata.managedFields`.
//!
//! After structured-merge-diff: `merge/update.go`, `typed/compare.go`, `typed/tofieldset.go`,
//! `typed/remove.go`; and apimachinery `pkg/util/managedfields/internal`.

mod compare;
mod empty;
mod managers;
mod merge;
mod schema;
mod set;

pub(super) use empty::empty;
pub(super) use managers::{By, Managers};
pub(super) use schema::{Schema, of as schema_of};

use serde_json::{Value, json};

use super::failure::Failure;
use crate::resource::Resource;
use managers::Conflict;

/// Checks that a configuration can be applied.
pub(super) fn check(resource: &Resource, configuration: &Value) -> Result<(), Failure> {
    compare::check(schema_of(resource), configuration, "").map_err(|why| {
        let kind = format!("{}, Kind={}", resource.api_version(), resource.kind);
        let message = format!("failed to create typed patch object ({kind}): {why}");
        Failure::new(500, "InternalError", message)
    })
}

/// The refusal of an apply that others' fields are in the way of.
pub(super) fn refusal(conflicts: &[Conflict]) -> Failure {
    let message = match conflicts {
        [one] => {
            format!("Apply failed with 1 conflict: conflict with {}: {}", one.manager, one.path)
        }
        all => {
            let mut managers: Vec<&str> = all.iter().map(|it| it.manager.as_str()).collect();
            managers.sort_unstable();
            managers.dedup();
            let mut lines = Vec::new();
            for manager in managers {
                lines.push(format!("conflicts with {manager}:"));
                let of = all.iter().filter(|it| it.manager == manager);
                lines.extend(of.map(|it| format!("- {}", it.path)));
            }
            format!("Apply failed with {} conflicts: {}", all.len(), lines.join("\n"))
        }
    };
    let causes: Vec<_> = conflicts
        .iter()
        .map(|it| {
            json!({
                "reason": "FieldManagerConflict", "field": it.path,
                "message": format!("conflict with {}", it.manager),
            })
        })
        .collect();
    let mut failure = Failure::new(409, "Conflict", message);
    failure.details = json!({"causes": causes});
    failure
}
