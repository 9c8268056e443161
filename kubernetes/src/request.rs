//! One request to the API server: its time limit, and what is known of it afterwards.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::io;
use std::time::Duration;

use thiserror::Error;

/// How long requests may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A single request, watches excepted.
    pub request: Duration,
}

impl Default for Limits {
    /// 10 seconds a request.
    fn default() -> Self {
        Self { request: Duration::from_secs(10) }
    }
}

/// What a request is about, for messages: the verb and the resource as RBAC has them, and the
/// object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `get`, `list`, `create`, `patch`, `update` or `delete`.
    pub verb: &'static str,
    /// The resource in the plural, with its group and subresource, such as
    /// `workloads.kueue.x-k8s.io/status`.
    pub resource: &'static str,
    /// The object or the namespace, as people name it.
    pub object: String,
}

impl Request {
    /// A request for `object`.
    pub fn new(verb: &'static str, resource: &'static str, object: impl Into<String>) -> Self {
        Self { verb, resource, object: object.into() }
    }

    /// Whether the request changes something, so that its outcome can be unknown.
    pub fn is_write(&self) -> bool {
        !matches!(self.verb, "get" | "list" | "watch")
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.verb, self.resource, self.object)
    }
}

/// A request that did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{request}: {message}")]
pub struct RequestError {
    /// Which request.
    pub request: Request,
    /// What is known of it.
    pub outcome: Outcome,
    /// What the API server, or the connection, said.
    pub message: String,
}

/// What is known of a request that did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Refused: the object is at another version than the write carries (409, reason Conflict).
    Conflict,
    /// Refused: other field managers own what the write sets (409 of a server-side apply without
    /// force).
    OwnedByOthers,
    /// Refused: an object of this name exists (409, reason `AlreadyExists`).
    Exists,
    /// There is no such object (404).
    NotFound,
    /// The sender lacks the right (403 by RBAC).
    Forbidden,
    /// Refused by a webhook, or by validation (403 of a webhook, 400, 422).
    Denied,
    /// Nothing was done, and it may work later: no connection, 429, a webhook that cannot be
    /// called.
    Unavailable,
    /// A write that may or may not have been applied: a time limit, a cut connection, 500, 503,
    /// 504 (CA-05).
    Unknown,
}

/// Sends a request, within the time limit.
pub async fn send<T>(
    limits: Limits,
    request: Request,
    sent: impl Future<Output = kube::Result<T>>,
) -> Result<T, RequestError> {
    match tokio::time::timeout(limits.request, sent).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(classify(request, &error)),
        Err(_) => {
            let message = format!("no answer within {} s", limits.request.as_secs_f64());
            let outcome = unknown_if_write(&request);
            Err(RequestError { request, outcome, message })
        }
    }
}

/// As [`send`], with "there is no such object" as an answer.
pub async fn send_optional<T>(
    limits: Limits,
    request: Request,
    sent: impl Future<Output = kube::Result<T>>,
) -> Result<Option<T>, RequestError> {
    match send(limits, request, sent).await {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.outcome == Outcome::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// What is known of a request after kube's error.
pub fn classify(request: Request, error: &kube::Error) -> RequestError {
    match error {
        kube::Error::Api(status) => {
            let outcome = of_answer(&request, status.code, &status.reason, &status.message);
            RequestError { request, outcome, message: status.message.clone() }
        }
        other => {
            let outcome = if never_connected(other) {
                Outcome::Unavailable
            } else {
                unknown_if_write(&request)
            };
            RequestError { request, outcome, message: chain(other) }
        }
    }
}

fn unknown_if_write(request: &Request) -> Outcome {
    if request.is_write() { Outcome::Unknown } else { Outcome::Unavailable }
}

fn of_answer(request: &Request, code: u16, reason: &str, message: &str) -> Outcome {
    match (code, reason) {
        (409, "AlreadyExists") => Outcome::Exists,
        // The one sign that tells it from a version conflict, which has the same code and reason.
        (409, _) if message.starts_with("Apply failed with") => Outcome::OwnedByOthers,
        (409, _) => Outcome::Conflict,
        (404 | 410, _) => Outcome::NotFound,
        (403, _) if message.contains("admission webhook") => Outcome::Denied,
        // Kueue's and Trainer's own words, when a webhook's denial is passed on without its name.
        (403, _) if !message.contains("cannot ") => Outcome::Denied,
        (401 | 403, _) => Outcome::Forbidden,
        (429, _) => Outcome::Unavailable,
        (500, _) if message.contains("failed calling webhook") => Outcome::Unavailable,
        (400..=499, _) => Outcome::Denied,
        _ => unknown_if_write(request),
    }
}

/// Whether no connection came about, so that the request cannot have arrived.
fn never_connected(error: &kube::Error) -> bool {
    let mut next: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(io) = error.downcast_ref::<io::Error>()
            && matches!(io.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound)
        {
            return true;
        }
        next = error.source();
    }
    false
}

/// An error with all its causes, in one line.
pub fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use kube::core::Status;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::version(409, "Conflict", "the object has been modified", Outcome::Conflict)]
    #[case::managers(409, "Conflict", "Apply failed with 1 conflict: ...", Outcome::OwnedByOthers)]
    #[case::exists(409, "AlreadyExists", "trainjobs \"x\" already exists", Outcome::Exists)]
    #[case::gone(404, "NotFound", "not found", Outcome::NotFound)]
    #[case::right(403, "Forbidden", "User \"x\" cannot patch resource", Outcome::Forbidden)]
    #[case::webhook(
        403,
        "Forbidden",
        "admission webhook \"v\" denied the request",
        Outcome::Denied
    )]
    #[case::schema(422, "Invalid", "spec.x: Required value", Outcome::Denied)]
    #[case::crowd(429, "TooManyRequests", "slow down", Outcome::Unavailable)]
    #[case::no_webhook(500, "InternalError", "failed calling webhook \"v\"", Outcome::Unavailable)]
    #[case::fault(500, "InternalError", "etcdserver: request timed out", Outcome::Unknown)]
    #[case::shutdown(503, "ServiceUnavailable", "shutting down", Outcome::Unknown)]
    #[case::slow(504, "Timeout", "request did not complete", Outcome::Unknown)]
    fn an_answer_to_a_write_says_what_is_known(
        #[case] code: u16,
        #[case] reason: &str,
        #[case] message: &str,
        #[case] outcome: Outcome,
    ) {
        let status = Status {
            code,
            reason: reason.to_owned(),
            message: message.to_owned(),
            ..Status::default()
        };
        let request = Request::new("patch", "workloads.kueue.x-k8s.io/status", "ns/w");
        let error = classify(request, &kube::Error::Api(Box::new(status)));
        assert_eq!(error.outcome, outcome);
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_without_an_answer_in_time_is_of_unknown_outcome() {
        let request = Request::new("patch", "trainjobs.trainer.kubeflow.org", "ns/t");
        let error = send::<()>(Limits::default(), request, std::future::pending()).await;
        let error = error.unwrap_err();
        assert_eq!(error.outcome, Outcome::Unknown);
        assert_eq!(
            error.to_string(),
            "patch trainjobs.trainer.kubeflow.org ns/t: no answer within 10 s"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_read_without_an_answer_in_time_is_only_unavailable() {
        let request = Request::new("get", "trainjobs.trainer.kubeflow.org", "ns/t");
        let error = send::<()>(Limits::default(), request, std::future::pending()).await;
        assert_eq!(error.unwrap_err().outcome, Outcome::Unavailable);
    }
}
