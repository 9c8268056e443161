//! The job that another one is part of (Kueue `pkg/controller/jobframework/reconciler.go`,
//! `FindAncestorJobManagedByKueue`).

use serde_json::Value;

use super::integration::{Integration, by_owner};
use crate::kueue::names::QUEUE_NAME;
use crate::object::{Object, controller, label, uid};
use crate::resource::Resource;

/// What was found.
#[derive(Debug, PartialEq)]
pub(in crate::kueue) enum Ancestor<'a> {
    /// There is none that Kueue manages.
    None,
    /// The one furthest up that names a queue.
    Known(&'a Object, Integration),
    /// An owner is not there, so nobody knows.
    Unknown,
}

/// The job that this one is part of, and that names a queue itself. What has no such owner is a job of
/// its own, if it names a queue: also a part of a job whose queue was taken off it (measured).
pub(in crate::kueue) fn ancestor<'a>(
    job: &'a Object,
    find: impl Fn(&Value, &'static Resource) -> Option<&'a Object>,
) -> Ancestor<'a> {
    let mut found = Ancestor::None;
    let (mut at, mut seen) = (job, Vec::new());
    loop {
        if seen.contains(&uid(at)) {
            return Ancestor::Unknown;
        }
        seen.push(uid(at));
        let Some((owner, integration)) = controller(at).and_then(|it| Some((it, by_owner(it)?)))
        else {
            return found;
        };
        let Some(parent) = find(owner, integration.resource()) else { return Ancestor::Unknown };
        if label(parent, QUEUE_NAME).is_some_and(|it| !it.is_empty()) {
            found = Ancestor::Known(parent, integration);
        }
        at = parent;
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn object(kind: &str, name: &str, queue: Option<&str>, owner: Option<&str>) -> Object {
        let mut object = json!({"kind": kind, "metadata": {"name": name, "uid": name}});
        if let Some(queue) = queue {
            object["metadata"]["labels"] = json!({QUEUE_NAME: queue});
        }
        if let Some(owner) = owner {
            let api = if owner == "t" {
                "trainer.kubeflow.org/v1alpha1"
            } else {
                "jobset.x-k8s.io/v1alpha2"
            };
            let kind = if owner == "t" { "TrainJob" } else { "JobSet" };
            object["metadata"]["ownerReferences"] = json!([{"apiVersion": api, "kind": kind, "name": owner, "uid": owner, "controller": true}]);
        }
        object
    }

    #[rstest]
    #[case(Some("q"), Some("q"), Some("t"))]
    #[case(Some("q"), None, Some("t"))]
    #[case(None, Some("q"), Some("s"))]
    #[case(None, None, None)]
    fn the_one_furthest_up_with_a_queue_counts(
        #[case] of_train_job: Option<&str>,
        #[case] of_job_set: Option<&str>,
        #[case] found: Option<&str>,
    ) {
        let train_job = object("TrainJob", "t", of_train_job, None);
        let job_set = object("JobSet", "s", of_job_set, Some("t"));
        let job = object("Job", "j", None, Some("s"));
        let find = |owner: &Value, _: &'static Resource| {
            if owner["name"] == "t" { Some(&train_job) } else { Some(&job_set) }
        };
        let ancestor = ancestor(&job, find);
        match found {
            Some(name) => {
                let Ancestor::Known(object, _) = ancestor else { panic!("{ancestor:?}") };
                assert_eq!(uid(object), name);
            }
            None => assert_eq!(ancestor, Ancestor::None),
        }
    }

    #[test]
    fn an_owner_that_is_not_there_leaves_it_unknown() {
        let job = object("Job", "j", Some("q"), Some("s"));
        assert_eq!(ancestor(&job, |_, _| None), Ancestor::Unknown);
    }
}
