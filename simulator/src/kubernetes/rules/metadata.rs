//! The rules of all objects' metadata (Kubernetes `apimachinery/pkg/api/validation/objectmeta.go`).

use serde_json::Value;

use crate::api::{Denied, Lookup, Operation, Review, Webhook, invalid};
use crate::component::Component;
use crate::object::{items, text};

/// The rules of references to owners.
pub(super) struct OwnerRules;

impl Webhook for OwnerRules {
    fn name(&self) -> &'static str {
        "metadata"
    }

    fn component(&self) -> Option<Component> {
        None
    }

    fn looks_at(&self, review: &Review<'_>) -> bool {
        review.operation != Operation::Delete && review.subresource.is_none()
    }

    fn validate(
        &self,
        _review: &Review<'_>,
        object: &Value,
        _stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        const PATH: &str = "metadata.ownerReferences";
        let owners = items(object, "/metadata/ownerReferences");
        let mut wrong = Vec::new();
        for owner in owners {
            for field in ["apiVersion", "kind", "name", "uid"] {
                if text(owner, &format!("/{field}")).is_empty() {
                    let why = format!("{field} must not be empty");
                    wrong.push(format!("{PATH}.{field}: Invalid value: \"\": {why}"));
                }
            }
        }
        // An object that is made again under the same name meets what the last one owned.
        let mut controllers = owners.iter().filter(|it| it["controller"] == true);
        if let (Some(first), Some(second)) = (controllers.next(), controllers.next()) {
            let shown = |it: &Value| format!("{}/{}", text(it, "/kind"), text(it, "/name"));
            let all = Value::from(owners);
            wrong.push(format!(
                "{PATH}: Invalid value: {all}: Only one reference can have Controller set to \
                 true. Found \"true\" in references for {} and {}",
                shown(first),
                shown(second)
            ));
        }
        invalid(wrong)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::resource::POD;
    use crate::testing::{Stored, review};

    fn owner(uid: &str, controls: bool) -> Value {
        json!({"apiVersion": "v1", "kind": "K", "name": "a", "uid": uid, "controller": controls})
    }

    #[rstest]
    #[case::one(json!([owner("a", true), owner("b", false)]), true)]
    #[case::two(json!([owner("a", true), owner("b", true)]), false)]
    #[case::without_a_uid(json!([owner("", true)]), false)]
    fn one_owner_controls(#[case] owners: Value, #[case] allowed: bool) {
        let object = json!({"metadata": {"ownerReferences": owners}});
        let review = review(POD, Operation::Create, None);
        assert_eq!(OwnerRules.validate(&review, &object, &Stored::default()).is_ok(), allowed);
    }
}
