//! The errors that the proxy answers with, as the API server would word them.

use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use hyper::body::Bytes;
use serde_json::{Value, json};

use super::fault::Refusal;
use crate::history::{Refused, Request};

/// An error for a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// The status.
    pub(super) status: StatusCode,
    /// The reason and the message.
    pub(super) refused: Refused,
    retry_after: bool,
    details: Value,
}

impl Failure {
    /// The error that a fault answers with.
    pub(super) fn of(refusal: Refusal, request: &Request) -> Self {
        let of_group = match request.group.as_str() {
            "" => request.resource.clone(),
            group => format!("{}.{group}", request.resource),
        };
        let name = request.name.as_deref().unwrap_or_default();
        let about = format!("{of_group} \"{name}\"");
        let (status, reason, message) = match refusal {
            Refusal::Forbidden => {
                (StatusCode::FORBIDDEN, "Forbidden", lacks_the_right(&about, request))
            }
            Refusal::Conflict => (
                StatusCode::CONFLICT,
                "Conflict",
                format!(
                    "Operation cannot be fulfilled on {about}: the object has been modified; \
                     please apply your changes to the latest version and try again"
                ),
            ),
            Refusal::Expired => (StatusCode::GONE, "Expired", EXPIRED.to_owned()),
            Refusal::TooManyRequests => (
                StatusCode::TOO_MANY_REQUESTS,
                "TooManyRequests",
                "Too many requests, please try again later.".to_owned(),
            ),
            Refusal::InternalError => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "InternalError",
                "Internal error occurred: etcdserver: leader changed".to_owned(),
            ),
            Refusal::ServiceUnavailable => (
                StatusCode::SERVICE_UNAVAILABLE,
                "ServiceUnavailable",
                "the server is currently unable to handle the request".to_owned(),
            ),
            Refusal::Timeout => (
                StatusCode::GATEWAY_TIMEOUT,
                "Timeout",
                "Timeout: request did not complete within the allotted timeout".to_owned(),
            ),
        };
        let mut details = json!({ "group": request.group, "kind": request.resource });
        if let Some(name) = &request.name {
            details["name"] = json!(name);
        }
        let retry_after = refusal == Refusal::TooManyRequests;
        if retry_after {
            details["retryAfterSeconds"] = json!(1);
        }
        let refused = Refused { reason: reason.to_owned(), message };
        Self { status, refused, retry_after, details }
    }

    /// An error of the proxy's own.
    pub(super) fn own(status: StatusCode, reason: &str, message: String) -> Self {
        let refused = Refused { reason: reason.to_owned(), message };
        Self { status, refused, retry_after: false, details: json!({}) }
    }

    /// The body: a `Status`.
    pub(super) fn body(&self) -> Value {
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.refused.message, "reason": self.refused.reason,
            "details": self.details, "code": self.status.as_u16(),
        })
    }

    /// The whole answer.
    pub(super) fn response(&self) -> Response<Bytes> {
        let mut response = Response::new(Bytes::from(self.body().to_string()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// What RBAC says of a request that it refuses. Clients tell it by these words from a webhook's denial,
/// which has the same status and reason.
fn lacks_the_right(about: &str, request: &Request) -> String {
    let user = request.user.as_deref().unwrap_or("system:anonymous");
    let scope = match &request.namespace {
        Some(namespace) => format!("in the namespace \"{namespace}\""),
        None => "at the cluster scope".to_owned(),
    };
    let Request { verb, resource, group, .. } = request;
    format!(
        "{about} is forbidden: User \"{user}\" cannot {verb} resource \"{resource}\" in API group \
         \"{group}\" {scope}"
    )
}

const EXPIRED: &str = "too old resource version: the requested version is no longer available";

/// The last line of a watch whose version is no longer kept.
pub(super) fn expired_event() -> Bytes {
    let refused = Refused { reason: "Expired".to_owned(), message: EXPIRED.to_owned() };
    let (status, details) = (StatusCode::GONE, json!({}));
    let status = Failure { status, refused, retry_after: false, details }.body();
    Bytes::from(format!("{}\n", json!({ "type": "ERROR", "object": status })))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::proxy::table::tests::request;

    #[rstest]
    #[case::forbidden(Refusal::Forbidden, 403, "Forbidden")]
    #[case::conflict(Refusal::Conflict, 409, "Conflict")]
    #[case::expired(Refusal::Expired, 410, "Expired")]
    #[case::too_many_requests(Refusal::TooManyRequests, 429, "TooManyRequests")]
    #[case::internal_error(Refusal::InternalError, 500, "InternalError")]
    #[case::service_unavailable(Refusal::ServiceUnavailable, 503, "ServiceUnavailable")]
    #[case::timeout(Refusal::Timeout, 504, "Timeout")]
    fn an_answer_is_a_status_that_kubernetes_clients_read(
        #[case] refusal: Refusal,
        #[case] code: u16,
        #[case] reason: &str,
    ) {
        let response = Failure::of(refusal, &request("patch", "workloads", "w", None)).response();
        let status: kube::core::Status = serde_json::from_slice(response.body()).unwrap();
        assert_eq!((status.code, status.reason.as_str()), (code, reason));
        assert_eq!(response.status().as_u16(), code);
        assert_eq!(response.headers().contains_key(RETRY_AFTER), code == 429);
        assert_eq!(status.details.unwrap().name, "w");
    }

    #[test]
    fn the_end_of_an_expired_watch_is_one_line() {
        let text = String::from_utf8(expired_event().to_vec()).unwrap();
        assert_eq!(text.find('\n'), Some(text.len() - 1));
        let event: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&event["type"], &event["object"]["code"]), (&json!("ERROR"), &json!(410)));
    }
}
