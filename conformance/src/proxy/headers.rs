//! What of the headers is passed on, in either direction.

use http::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, HOST, HeaderName, HeaderValue, TE,
    TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, Method};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const JSON: &str = "application/json";

/// Headers that are about one connection and not about the request.
const OF_A_CONNECTION: [HeaderName; 7] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Makes the headers of a request those that go to the API server. Credentials stay as they are.
///
/// Answers are asked for uncompressed, and in JSON instead of Kubernetes' protobuf, so that they
/// can be read on their way: a client takes the encoding of an answer from the answer itself.
pub(super) fn to_upstream(headers: &mut HeaderMap) {
    strip(headers);
    headers.remove(HOST);
    headers.remove(CONTENT_LENGTH);
    headers.remove(ACCEPT_ENCODING);
    let accepted: Vec<_> =
        headers.get_all(ACCEPT).iter().filter_map(|it| it.to_str().ok()).collect();
    if accepted.iter().any(|types| types.contains(PROTOBUF)) {
        let readable = accepted.join(",").replace(PROTOBUF, JSON);
        if let Ok(readable) = HeaderValue::from_str(&readable) {
            headers.insert(ACCEPT, readable);
        }
    }
}

/// Makes the headers of an answer those that go to the subject.
pub(super) fn to_subject(headers: &mut HeaderMap) {
    strip(headers);
}

/// Whether a request would turn its connection into something else than HTTP: a WebSocket, or the
/// streams of `exec`, `attach` and `port-forward`.
pub(super) fn leaves_http(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::CONNECT || headers.contains_key(UPGRADE)
}

fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&OF_A_CONNECTION) {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use http::header::{AUTHORIZATION, CONTENT_TYPE};

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn credentials_and_content_go_on_and_what_is_of_the_connection_does_not() {
        let mut request = headers(&[
            ("authorization", "Bearer x"),
            ("impersonate-user", "someone"),
            ("content-type", "application/json"),
            ("connection", "keep-alive, x-of-this-hop"),
            ("x-of-this-hop", "1"),
            ("keep-alive", "timeout=5"),
            ("host", "127.0.0.1:1"),
            ("accept-encoding", "gzip"),
            ("transfer-encoding", "chunked"),
        ]);
        to_upstream(&mut request);
        let mut left: Vec<_> = request.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, [AUTHORIZATION.as_str(), CONTENT_TYPE.as_str(), "impersonate-user"]);
    }

    #[test]
    fn answers_are_asked_for_in_json() {
        let protobuf = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,\
            application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        let mut request = headers(&[("accept", protobuf)]);
        to_upstream(&mut request);
        let accepted = request[ACCEPT].to_str().unwrap();
        assert!(!accepted.contains("protobuf"), "{accepted}");
        assert!(accepted.starts_with("application/json;as=PartialObjectMetadata"), "{accepted}");
        let openapi = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
        let mut request = headers(&[("accept", openapi)]);
        to_upstream(&mut request);
        assert_eq!(request[ACCEPT], openapi);
    }

    #[test]
    fn what_leaves_http_is_known_by_its_upgrade() {
        assert!(leaves_http(&Method::GET, &headers(&[("upgrade", "websocket")])));
        assert!(leaves_http(&Method::CONNECT, &headers(&[])));
        assert!(!leaves_http(&Method::POST, &headers(&[("connection", "keep-alive")])));
    }
}
