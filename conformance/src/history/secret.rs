//! What must not be in a history, since histories are passed on in bug reports.

use std::fmt;

use serde_json::Value;

use super::ObjectVersion;

/// The greatest depth of an event's JSON. Deeper text is refused by the reader.
pub(super) const DEPTH: usize = 100;

/// Why an event may not be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// An object of kind Secret.
    Secret {
        /// Where in the event.
        path: String,
    },
    /// A text or a field that holds credentials.
    Credentials {
        /// Where in the event.
        path: String,
        /// What it looks like.
        looks_like: &'static str,
    },
    /// It is nested deeper than [`DEPTH`].
    TooDeep,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Secret { path } => write!(f, "there is a Secret at {path}"),
            Self::Credentials { path, looks_like } => {
                write!(f, "what is at {path} looks like {looks_like}")
            }
            Self::TooDeep => write!(f, "it is nested deeper than {DEPTH}"),
        }
    }
}

/// Field names whose value, as a text, is a credential.
const FIELDS: [&str; 6] =
    ["authorization", "token", "bearertoken", "password", "client-key-data", "clientkeydata"];

/// Looks for the first thing in an event that must not be written.
pub(super) fn find(event: &Value) -> Option<Finding> {
    let mut path = Path(Vec::new());
    walk(event, &mut path)
}

/// The same for the event of a version: nearly all of it is the object, which is not copied for this.
pub(super) fn find_in_version(version: &ObjectVersion) -> Option<Finding> {
    let ObjectVersion { kind: _, namespace, name, uid, resource_version, change: _, object } =
        version;
    let mut path = Path(["what", "version", "object"].map(Step::Key).into());
    walk(object, &mut path).or_else(|| {
        let texts = [namespace.as_ref(), Some(name), Some(uid), Some(resource_version)];
        texts
            .into_iter()
            .flatten()
            .find_map(|text| credentials(text))
            .map(|looks_like| Finding::Credentials { path: "/what/version".to_owned(), looks_like })
    })
}

/// The greatest depth at which an event has what is part of it.
const WITHIN: usize = 8;

/// Whether a part of an event may be written: it holds nothing that must not be, and is not too
/// deep. Whoever leaves it out in time keeps the rest of the event.
pub(crate) fn may_be_kept(part: &Value) -> bool {
    let mut path = Path((0..WITHIN).map(Step::Index).collect());
    walk(part, &mut path).is_none()
}

/// Where the walk is, written out only when something is found.
struct Path<'a>(Vec<Step<'a>>);

enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|step| match step {
            Step::Key(key) => write!(f, "/{key}"),
            Step::Index(index) => write!(f, "/{index}"),
        })
    }
}

fn walk<'a>(value: &'a Value, path: &mut Path<'a>) -> Option<Finding> {
    if path.0.len() >= DEPTH {
        return Some(Finding::TooDeep);
    }
    match value {
        Value::Object(fields) => {
            if fields.get("kind").and_then(Value::as_str) == Some("Secret") && is_object(fields) {
                return Some(Finding::Secret { path: path.to_string() });
            }
            fields.iter().find_map(|(key, value)| {
                // Most fields are texts that hold nothing, so that nobody wants to know where.
                if let Value::String(text) = value
                    && !is_credential(key)
                    && credentials(text).is_none()
                {
                    return None;
                }
                path.0.push(Step::Key(key));
                let found = field(key, value, path).or_else(|| walk(value, path));
                path.0.pop();
                found
            })
        }
        Value::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
            path.0.push(Step::Index(index));
            let found = walk(item, path);
            path.0.pop();
            found
        }),
        Value::String(text) => credentials(text)
            .map(|looks_like| Finding::Credentials { path: path.to_string(), looks_like }),
        _ => None,
    }
}

/// A reference names a Secret by its kind too, and is no secret; an object has data or metadata.
fn is_object(fields: &serde_json::Map<String, Value>) -> bool {
    ["data", "stringData", "metadata"].iter().any(|key| fields.contains_key(*key))
}

fn is_credential(key: &str) -> bool {
    FIELDS.iter().any(|field| key.eq_ignore_ascii_case(field))
}

fn field(key: &str, value: &Value, path: &Path<'_>) -> Option<Finding> {
    let holds_text = value.as_str().is_some_and(|text| !text.trim().is_empty());
    (is_credential(key) && holds_text)
        .then(|| Finding::Credentials { path: path.to_string(), looks_like: "credentials" })
}

/// What a text holds, if it holds credentials.
fn credentials(text: &str) -> Option<&'static str> {
    // Most texts are short names and times; these have no room for a credential.
    if text.len() < 16 {
        return None;
    }
    // All that is looked for has one of these; most names and times that are longer have none.
    if !text.bytes().any(|byte| byte == b'J' || byte.is_ascii_whitespace()) {
        return None;
    }
    if text.contains("-----BEGIN") && text.contains("PRIVATE KEY-----") {
        return Some("a private key");
    }
    let mut words = text.split_ascii_whitespace().peekable();
    while let Some(word) = words.next() {
        let scheme = word.trim_end_matches(':').rsplit([':', '"', '\'']).next().unwrap_or_default();
        let is_scheme = ["bearer", "basic"].iter().any(|it| scheme.eq_ignore_ascii_case(it));
        if is_scheme && words.peek().is_some_and(|next| is_opaque(next)) {
            return Some("an Authorization header");
        }
    }
    has_web_token(text).then_some("a token")
}

/// A word of the letters of base64, long enough not to be one of a language, and with a digit or
/// an upper-case letter in it.
fn is_opaque(word: &str) -> bool {
    let word = word.trim_matches(['"', '\'', ',']);
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    word.len() >= 12
        && word.bytes().all(letters)
        && word.bytes().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
}

/// Whether there is a JSON web token: three parts of base64url, the first of which begins like
/// `{"` does.
fn has_web_token(text: &str) -> bool {
    if !text.contains("eyJ") {
        return false;
    }
    let inside = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    text.split(|c| !inside(c)).any(|word| {
        let mut parts = word.split('.');
        let first = parts.next().is_some_and(|part| part.starts_with("eyJ") && part.len() > 8);
        first && parts.next().is_some_and(|part| part.len() > 8) && parts.next().is_some()
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    const TOKEN: &str = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzeXN0ZW0ifQ.c2lnbmF0dXJl";

    #[rstest]
    #[case::secret(json!({"object": {"kind": "Secret", "data": {"x": "cGxhbnRlZA=="}}}), "/object")]
    #[case::secret_in_a_list(
        json!({"items": [{"kind": "Secret", "metadata": {"name": "s"}}]}), "/items/0")]
    #[case::header(json!({"input": {"Authorization": "anything at all"}}), "/input/Authorization")]
    #[case::token_field(json!({"user": {"token": "abc"}}), "/user/token")]
    #[case::bearer_in_a_text(
        json!({"why": "401 for Authorization: Bearer c2VjcmV0LXRva2Vu0"}), "/why")]
    #[case::web_token_in_an_annotation(
        json!({"metadata": {"annotations": {"a": format!("x={TOKEN};")}}}),
        "/metadata/annotations/a")]
    #[case::private_key(json!({"a": ["-----BEGIN EC PRIVATE KEY-----\nMHc"]}), "/a/0")]
    fn a_planted_secret_is_found(#[case] event: Value, #[case] at: &str) {
        let found = find(&event).map(|finding| finding.to_string()).unwrap_or_default();
        assert!(found.contains(at), "{found:?} does not name {at}");
    }

    #[rstest]
    #[case::reference_to_a_secret(json!({"ref": {"kind": "Secret", "name": "s"}}))]
    #[case::volume_of_a_pod(json!({"projected": {"sources": [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}]}}))]
    #[case::hold_token(json!({"annotations":
        {"dispatch.phpboyscout.uk/held": "01k0000000000000000000000a"}}))]
    #[case::prose(json!({"message": "the bearer resourceversions of a basic understanding"}))]
    #[case::empty_field(json!({"token": "", "password": null}))]
    fn what_is_no_secret_is_let_through(#[case] event: Value) {
        assert_eq!(find(&event), None);
    }

    #[test]
    fn what_may_be_kept_can_be_written_in_any_event() {
        let nested = |depth| (0..depth).fold(json!(1), |inner, _| json!([inner]));
        let deepest = (0..DEPTH).rev().find(|depth| may_be_kept(&nested(*depth))).unwrap();
        let event = (0..WITHIN).fold(nested(deepest), |inner, _| json!({ "in": inner }));
        assert_eq!(find(&event), None);
        assert!(!may_be_kept(&json!({"token": "abc"})));
    }

    #[test]
    fn what_is_too_deep_to_be_read_back_is_found() {
        let deep = (0..DEPTH).fold(json!(1), |inner, _| json!([inner]));
        assert_eq!(find(&deep), Some(Finding::TooDeep));
    }
}
