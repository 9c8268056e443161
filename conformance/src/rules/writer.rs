//! Who wrote a version.
//!
//! Where the controller's requests are recorded, they say it: the answer to a write carries the number
//! of the version that it made. Where they are not, or the answer was not seen, what the version itself
//! says of its fields has to do.
//!
//! Kueue's scheduler writes the whole list of checks from the copy that it decided on, without a
//! version: where a Ready was left on a Workload without quota, such a write can bring it back
//! after the controller has taken it away. That is not an act of the controller, and the field's
//! owner tells the two apart: with force, the last writer of another value is its only owner.

use serde_json::Value;

use super::requests::Requests;
use crate::history::{Role, Subject, Trail, Version};

/// Who wrote a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Author {
    /// This replica of the controller.
    Controller(Subject),
    /// Somebody else.
    Another,
    /// That is not known.
    Unknown,
}

/// Who wrote a version of an object.
pub(super) fn author(requests: &Requests<'_>, trail: &Trail, version: &Version) -> Author {
    if let Some(made) = requests.that_made(trail.kind, version.order) {
        let from = made.request.from;
        return if from.role == Role::Controller {
            Author::Controller(from)
        } else {
            Author::Another
        };
    }
    let known = requests.are_logged(Role::Controller)
        && !requests.may_have_made(Role::Controller, trail, version.order);
    if known { Author::Another } else { Author::Unknown }
}

/// Whether neither the controller nor the adapter wrote a version of an object. Not so where their
/// requests are not recorded, or one of them may have been the write.
pub(super) fn is_an_outsiders(requests: &Requests<'_>, trail: &Trail, version: &Version) -> bool {
    let subjects = [Role::Controller, Role::Adapter];
    if let Some(made) = requests.that_made(trail.kind, version.order) {
        return !subjects.contains(&made.request.from.role);
    }
    let may_have = |role: Role| requests.may_have_made(role, trail, version.order);
    subjects.iter().any(|role| requests.are_logged(*role)) && !subjects.into_iter().any(may_have)
}

/// The field managers of Kueue's writes to the status of a Workload.
const KUEUE: [&str; 2] = ["kueue-admission", "kueue"];

/// Whether Kueue, and nobody else, owns the state of this check in the object.
pub(super) fn is_kueues(object: &Value, check: &str) -> bool {
    let mut owners = owners_of_state(object, check).peekable();
    owners.peek().is_some() && owners.all(|manager| KUEUE.contains(&manager))
}

fn owners_of_state<'v>(object: &'v Value, check: &str) -> impl Iterator<Item = &'v str> {
    let key = format!("k:{}", serde_json::json!({ "name": check }));
    let managers = object["metadata"]["managedFields"].as_array();
    let owns = move |entry: &&Value| {
        !entry["fieldsV1"]["f:status"]["f:admissionChecks"][&key]["f:state"].is_null()
    };
    managers.into_iter().flatten().filter(owns).filter_map(|entry| entry["manager"].as_str())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn owned_by(managers: &[(&str, &str)]) -> Value {
        let entry = |(manager, check): &(&str, &str)| {
            let mut checks = serde_json::Map::new();
            checks.insert(format!("k:{{\"name\":\"{check}\"}}"), json!({"f:state": {}}));
            json!({"manager": manager,
                "fieldsV1": {"f:status": {"f:admissionChecks": checks}}})
        };
        json!({"metadata": {"managedFields": managers.iter().map(entry).collect::<Vec<_>>()}})
    }

    #[rstest]
    #[case::of_kueue(&[("kueue-admission", "mine")], true)]
    #[case::of_both_of_its_managers(&[("kueue-admission", "mine"), ("kueue", "mine")], true)]
    #[case::of_the_controller(&[("dispatch-admission", "mine")], false)]
    #[case::shared(&[("kueue-admission", "mine"), ("dispatch-admission", "mine")], false)]
    #[case::another_check(&[("kueue-admission", "other")], false)]
    #[case::of_nobody(&[], false)]
    fn the_state_is_kueues_when_nobody_else_owns_it(
        #[case] managers: &[(&str, &str)],
        #[case] expected: bool,
    ) {
        assert_eq!(is_kueues(&owned_by(managers), "mine"), expected);
    }
}
