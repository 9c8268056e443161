//! A request as it arrives: what is logged of it, and what faults look at.

use http::header::CONTENT_TYPE;
use http::request::Parts;
use serde_json::Value;

use super::target::Target;
use super::{identity, protobuf};
use crate::history::{Asks, Kind, PatchKind, Request, Subject, may_be_kept};

/// The greatest body that is logged, in bytes of JSON.
const LOGGED_BYTES: usize = 256 * 1024;

/// The greatest length of a text within it, in characters.
const TEXT_CHARS: usize = 2048;

/// A request that was read.
#[derive(Clone, Debug)]
pub(super) struct Arrived {
    /// As it is logged, with the number 0.
    pub(super) request: Request,
    /// What the whole body asks for.
    pub(super) asks: Asks,
    /// Whether the path is a resource's.
    pub(super) is_resource: bool,
    /// The kind of its resource, if that kind is recorded.
    pub(super) kind: Option<Kind>,
    /// The whole body, where it is JSON or YAML.
    pub(super) document: Option<Value>,
}

/// Reads a request.
pub(super) fn read(from: Subject, head: &Parts, body: &[u8]) -> Arrived {
    let target = Target::of(&head.method, &head.uri);
    let content = head.headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let content = content.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let document = document(content, body);
    let outline = protobuf::outline(body);
    let of_body = document.as_ref().or(outline.as_ref());
    let kind = Kind::of_resource(&target.group, &target.resource);
    let name = target.name.or_else(|| of_body.and_then(name).filter(|_| target.verb == "create"));
    let request = Request {
        request: 0,
        from,
        patch: patch(content).filter(|_| target.verb == "patch"),
        verb: target.verb,
        group: target.group,
        resource: target.resource,
        subresource: target.subresource,
        namespace: target.namespace,
        name,
        query: target.query,
        user: identity::user(&head.headers),
        body: of_body.and_then(|body| logged(kind, body)),
    };
    let asks = of_body.map(Asks::of_body).unwrap_or_default();
    Arrived { request, asks, is_resource: target.is_resource, kind, document }
}

/// What is logged of a body; nothing, of kinds that are not recorded, nor of Events, which are
/// many.
pub(super) fn logged(kind: Option<Kind>, body: &Value) -> Option<Value> {
    kind.filter(|kind| *kind != Kind::Event)?;
    if !may_be_kept(body) {
        return None;
    }
    let mut body = body.clone();
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    shorten(&mut body);
    (body.to_string().len() <= LOGGED_BYTES).then_some(body)
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some((end, _)) = text.char_indices().nth(TEXT_CHARS) {
                text.truncate(end);
                text.push('…');
            }
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

fn document(content: &str, body: &[u8]) -> Option<Value> {
    if body.is_empty() {
        return None;
    }
    // What is sent as YAML is mostly JSON, which is YAML too.
    let json = serde_json::from_slice(body).ok();
    if !content.ends_with("yaml") || json.is_some() {
        return json;
    }
    serde_saphyr::from_str(std::str::from_utf8(body).ok()?).ok()
}

fn name(body: &Value) -> Option<String> {
    let text = |path| body.pointer(path).and_then(Value::as_str).filter(|text| !text.is_empty());
    text("/metadata/name").or_else(|| text("/metadata/generateName")).map(str::to_owned)
}

fn patch(content: &str) -> Option<PatchKind> {
    match content {
        "application/apply-patch+yaml" | "application/apply-patch+cbor" => Some(PatchKind::Apply),
        "application/merge-patch+json" => Some(PatchKind::Merge),
        "application/json-patch+json" => Some(PatchKind::Json),
        "application/strategic-merge-patch+json" => Some(PatchKind::Strategic),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::history::Role;

    const TOKEN: &str = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl";

    fn arrived(method: &str, uri: &str, content: &str, body: &[u8]) -> Arrived {
        let head = http::Request::builder().method(method).uri(uri).header(CONTENT_TYPE, content);
        let head = head.header("authorization", format!("Bearer {TOKEN}")).body(()).unwrap();
        let from = Subject { role: Role::Adapter, replica: 0 };
        read(from, &head.into_parts().0, body)
    }

    const TRAIN_JOBS: &str = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs";
    const OPENED: &str = r#"{"metadata":{"name":"j","annotations":
        {"dispatch.phpboyscout.uk/opened":"true"},"managedFields":[{"manager":"m"}]}}"#;

    #[rstest]
    #[case::merge("PATCH", "application/merge-patch+json", Some(PatchKind::Merge))]
    #[case::apply("PATCH", "application/apply-patch+yaml", Some(PatchKind::Apply))]
    #[case::json("PATCH", "application/json-patch+json; charset=utf-8", Some(PatchKind::Json))]
    #[case::strategic(
        "PATCH",
        "application/strategic-merge-patch+json",
        Some(PatchKind::Strategic)
    )]
    #[case::no_patch("PUT", "application/json", None)]
    fn how_a_patch_is_applied_is_in_its_content_type(
        #[case] method: &str,
        #[case] content: &str,
        #[case] kind: Option<PatchKind>,
    ) {
        let arrived = arrived(method, &format!("{TRAIN_JOBS}/j"), content, b"{}");
        assert_eq!(arrived.request.patch, kind);
    }

    #[test]
    fn a_write_to_a_recorded_kind_is_logged_with_body_and_user() {
        let arrived = arrived("POST", TRAIN_JOBS, "application/json", OPENED.as_bytes());
        let opened = json!({"dispatch.phpboyscout.uk/opened": "true"});
        assert_eq!(
            arrived.request.body,
            Some(json!({"metadata":
            {"name": "j", "annotations": opened}}))
        );
        assert_eq!(arrived.request.name.as_deref(), Some("j"));
        assert_eq!(arrived.request.user.as_deref(), Some("me"));
        assert!(arrived.asks.opened);
    }

    #[test]
    fn an_apply_may_be_yaml() {
        let body = b"metadata:\n  annotations:\n    dispatch.phpboyscout.uk/opened: 'true'\n";
        let content = "application/apply-patch+yaml";
        let arrived = arrived("PATCH", &format!("{TRAIN_JOBS}/j"), content, body);
        assert!(arrived.asks.opened && arrived.request.body.is_some());
    }

    #[test]
    fn a_pod_is_named_by_the_prefix_that_the_server_is_to_complete() {
        let uri = "/api/v1/namespaces/ns/pods";
        let body = br#"{"metadata":{"generateName":"j-node-0-0-"}}"#;
        let arrived = arrived("POST", uri, "application/json", body);
        assert_eq!(arrived.request.name.as_deref(), Some("j-node-0-0-"));
    }

    #[rstest]
    #[case::secret(
        "/api/v1/namespaces/ns/secrets",
        r#"{"metadata":{"name":"planted"},"data":{"a":"cGxhbnRlZA=="}}"#
    )]
    #[case::token("/api/v1/namespaces/ns/serviceaccounts/s/token", r#"{"spec":{"planted":1}}"#)]
    #[case::review(
        "/apis/authentication.k8s.io/v1/tokenreviews",
        r#"{"spec":{"token":"planted"}}"#
    )]
    #[case::event("/api/v1/namespaces/ns/events", r#"{"message":"planted"}"#)]
    #[case::a_recorded_kind_with_credentials(
        "/api/v1/namespaces/ns/pods",
        r#"{"spec":{"containers":[{"env":[{"token":"planted"}]}]}}"#
    )]
    #[case::a_secret_under_another_name(
        "/api/v1/namespaces/ns/pods",
        r#"{"kind":"Secret","data":{"a":"planted"}}"#
    )]
    fn secrets_are_not_logged(#[case] uri: &str, #[case] body: &str) {
        let arrived = arrived("POST", uri, "application/json", body.as_bytes());
        let logged = serde_json::to_string(&Request { name: None, ..arrived.request }).unwrap();
        let kept = ["planted", "cGxhbnRlZA", TOKEN].iter().find(|secret| logged.contains(**secret));
        assert_eq!(kept, None, "{logged}");
    }

    #[test]
    fn long_texts_are_cut_and_huge_bodies_left_out() {
        let pods = "/api/v1/namespaces/ns/pods";
        let long = json!({"spec": {"x": "ä".repeat(TEXT_CHARS + 1), "suspend": true}});
        let cut = arrived("POST", pods, "application/json", long.to_string().as_bytes());
        let text = cut.request.body.unwrap()["spec"]["x"].as_str().unwrap().to_owned();
        assert_eq!(text.chars().count(), TEXT_CHARS + 1);
        assert!(text.ends_with("ä…"));
        let huge = json!({"spec": {"suspend": true, "x": vec!["0123456789"; LOGGED_BYTES / 10]}});
        let cut = arrived("POST", pods, "application/json", huge.to_string().as_bytes());
        assert_eq!(cut.request.body, None);
        assert_eq!(cut.asks.suspend, Some(true), "faults look at the whole body");
    }
}
