//! What is logged of an answer.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use crate::history::{Ending, Refused, RequestEnded, may_be_kept};

/// The greatest length of a message that is logged, in characters.
const MESSAGE_CHARS: usize = 500;

/// What is logged of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    status: Option<u16>,
    refused: Option<Refused>,
    uid: Option<String>,
    resource_version: Option<String>,
    items: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Answer {
    metadata: Metadata,
    details: Details,
    reason: Option<String>,
    message: Option<String>,
    items: Option<Vec<IgnoredAny>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata {
    uid: Option<String>,
    resource_version: Option<String>,
}

/// Of a `Status`: what was deleted.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    uid: Option<String>,
}

impl Summary {
    /// Of an answer whose body is not looked at.
    pub(super) fn of_status(status: u16) -> Self {
        Self { status: Some(status), ..Self::default() }
    }

    /// Of an answer with its whole body.
    pub(super) fn of(status: u16, body: &[u8]) -> Self {
        let this = Self::of_status(status);
        let Ok(answer) = serde_json::from_slice::<Answer>(body) else { return this };
        if status >= 400 {
            let reason = answer.reason.unwrap_or_default();
            let message = message(answer.message.unwrap_or_default());
            return Self { refused: Some(Refused { reason, message }), ..this };
        }
        Self {
            uid: answer.metadata.uid.or(answer.details.uid).filter(|uid| !uid.is_empty()),
            resource_version: answer.metadata.resource_version.filter(|it| !it.is_empty()),
            items: answer.items.map(|items| items.len() as u64),
            ..this
        }
    }

    /// Of an answer in the API server's place.
    pub(super) fn refused(status: u16, refused: Refused) -> Self {
        Self { refused: Some(refused), ..Self::of_status(status) }
    }

    /// Why it was refused, as the API server says it to machines.
    pub(super) fn refusal_reason(&self) -> Option<&str> {
        Some(self.refused.as_ref()?.reason.as_str())
    }

    /// The order of the end of a request that was answered so.
    pub(super) fn order(&self) -> Option<u64> {
        self.resource_version.as_deref()?.parse().ok()
    }

    /// The end of a request that was answered so.
    pub(super) fn ended(&self, request: u64, ending: Ending) -> RequestEnded {
        RequestEnded {
            request,
            ending,
            status: self.status,
            refused: self.refused.clone(),
            uid: self.uid.clone(),
            resource_version: self.resource_version.clone(),
            items: self.items,
        }
    }
}

fn message(mut message: String) -> String {
    if !may_be_kept(&json!(message)) {
        return "(left out: it has credentials in it)".to_owned();
    }
    if let Some((end, _)) = message.char_indices().nth(MESSAGE_CHARS) {
        message.truncate(end);
        message.push('…');
    }
    message
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::Value;

    use super::*;

    fn none() -> Summary {
        Summary { status: Some(200), ..Summary::default() }
    }

    fn text(text: &str) -> String {
        text.to_owned()
    }

    #[rstest]
    #[case::object(
        json!({"kind": "Pod", "metadata": {"uid": "u", "resourceVersion": "7"}, "status": {}}),
        Summary { uid: Some(text("u")), resource_version: Some(text("7")), ..none() })]
    #[case::list(
        json!({"kind": "PodList", "metadata": {"resourceVersion": "9"}, "items": [{}, {}]}),
        Summary { resource_version: Some(text("9")), items: Some(2), ..none() })]
    #[case::deleted(
        json!({"kind": "Status", "status": "Success", "metadata": {}, "details": {"uid": "u"}}),
        Summary { uid: Some(text("u")), ..none() })]
    #[case::a_token(
        json!({"kind": "TokenRequest", "metadata": {"name": "s"}, "status": {"token": "planted"}}),
        none())]
    #[case::no_object(json!(["x"]), none())]
    fn an_answer_is_told_by_uid_version_and_items(#[case] body: Value, #[case] summary: Summary) {
        assert_eq!(Summary::of(200, body.to_string().as_bytes()), summary);
    }

    #[test]
    fn a_refusal_is_told_by_its_reason_and_message() {
        let body = json!({"reason": "Conflict", "message": "x".repeat(900), "code": 409});
        let summary = Summary::of(409, body.to_string().as_bytes());
        let refused = summary.ended(3, Ending::Answered).refused.unwrap();
        assert_eq!(refused.reason, "Conflict");
        assert_eq!(refused.message.chars().count(), MESSAGE_CHARS + 1);
    }

    #[test]
    fn credentials_in_a_message_are_left_out() {
        let body = json!({"reason": "Unauthorized", "message": "no: Bearer c2VjcmV0LXRva2Vu0"});
        let summary = Summary::of(401, body.to_string().as_bytes());
        assert!(!format!("{summary:?}").contains("c2VjcmV0"));
    }

    #[rstest]
    #[case::a_number("17", Some(17))]
    #[case::no_number("x", None)]
    fn the_order_is_the_version(#[case] version: &str, #[case] order: Option<u64>) {
        let body = json!({"metadata": {"resourceVersion": version}});
        assert_eq!(Summary::of(200, body.to_string().as_bytes()).order(), order);
    }
}
