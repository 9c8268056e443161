//! How requests that did not succeed become answers of calls.

use dispatch_contract::{CallError, ErrorKind, ObjectRef};
use dispatch_kubernetes::request::{Outcome, RequestError};

/// A failed call of this kind, with the rules that ask for it.
pub(crate) fn fail(kind: ErrorKind, message: impl Into<String>, rules: &[&str]) -> CallError {
    CallError {
        kind,
        message: message.into(),
        rules: rules.iter().map(|&rule| rule.to_owned()).collect(),
    }
}

/// The input is wrong in `field` (CA-06).
pub(crate) fn invalid(field: &str, why: impl std::fmt::Display) -> CallError {
    fail(ErrorKind::Invalid, format!("{field}: {why}"), &["CA-06"])
}

/// There is no object of this name and UID.
pub(crate) fn not_found(namespace: &str, object: &ObjectRef) -> CallError {
    let message = format!(
        "there is no TrainJob {namespace}/{} of UID {}; another UID is another object",
        object.name, object.uid
    );
    fail(ErrorKind::NotFound, message, &[])
}

/// What a caller is told of a request that did not succeed.
#[expect(clippy::needless_pass_by_value, reason = "so that it fits `map_err`")]
pub(crate) fn of_request(error: RequestError) -> CallError {
    let request = &error.request;
    let message = match error.outcome {
        Outcome::Forbidden => format!(
            "the right to {} {} is missing ({}); apply the roles that the adapter ships: {}",
            request.verb, request.resource, request.object, error.message
        ),
        Outcome::Unknown => format!(
            "{error}; it may or may not have been applied, so read the object again and repeat \
             the call"
        ),
        _ => error.to_string(),
    };
    match error.outcome {
        Outcome::Forbidden => fail(ErrorKind::Forbidden, message, &["RT-02"]),
        Outcome::Unknown => fail(ErrorKind::Unknown, message, &["CA-05"]),
        Outcome::NotFound => fail(ErrorKind::NotFound, message, &[]),
        Outcome::Denied => fail(ErrorKind::Refused, message, &[]),
        Outcome::Unavailable | Outcome::Conflict | Outcome::OwnedByOthers | Outcome::Exists => {
            fail(ErrorKind::Unavailable, message, &[])
        }
    }
}

#[cfg(test)]
mod tests {
    use dispatch_kubernetes::request::Request;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::right(Outcome::Forbidden, ErrorKind::Forbidden)]
    #[case::unknown(Outcome::Unknown, ErrorKind::Unknown)]
    #[case::gone(Outcome::NotFound, ErrorKind::NotFound)]
    #[case::denied(Outcome::Denied, ErrorKind::Refused)]
    #[case::conflict(Outcome::Conflict, ErrorKind::Unavailable)]
    #[case::unavailable(Outcome::Unavailable, ErrorKind::Unavailable)]
    fn an_outcome_has_a_kind(#[case] outcome: Outcome, #[case] kind: ErrorKind) {
        let request = Request::new("patch", "trainjobs.trainer.kubeflow.org", "n/t");
        let error = of_request(RequestError { request, outcome, message: "why".to_owned() });
        assert_eq!(error.kind, kind);
    }

    #[test]
    fn a_missing_right_is_named_by_verb_and_resource() {
        let request = Request::new("patch", "workloads.kueue.x-k8s.io", "n/w");
        let outcome = Outcome::Forbidden;
        let error = of_request(RequestError { request, outcome, message: "no".to_owned() });
        assert!(
            error.message.starts_with("the right to patch workloads.kueue.x-k8s.io is missing"),
            "{error}"
        );
        assert_eq!(error.rules, ["RT-02"]);
    }
}
