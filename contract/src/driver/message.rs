//! Requests and answers of JSON-RPC 2.0, as lines.

use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::{CallError, ErrorKind};

/// The codes of errors, as JSON-RPC has them. What counts is the kind in `data`.
pub mod code {
    /// The line is not JSON.
    pub const NOT_JSON: i64 = -32_700;
    /// The line is JSON and not a request.
    pub const NOT_A_REQUEST: i64 = -32_600;
    /// There is no such method.
    pub const NO_METHOD: i64 = -32_601;
    /// The parameters are not those of the method.
    pub const BAD_PARAMETERS: i64 = -32_602;
    /// The call failed, as `data` says.
    pub const CALL_FAILED: i64 = -32_000;
}

/// What a request is answered by.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Id {
    /// A number.
    Number(u64),
    /// A text.
    Text(String),
}

/// A request of the supervisor.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// What its answer carries too.
    pub id: Id,
    /// What is asked for.
    pub method: String,
    /// With what; null where nothing was given.
    pub params: Value,
}

impl Request {
    /// The request as a line, with its end.
    pub fn line(&self) -> String {
        let Self { id, method, params } = self;
        line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    }

    /// Reads a line. What is not a request has an answer too, which is the error.
    pub fn read(bytes: &[u8]) -> Result<Self, Response> {
        let value: Value = serde_json::from_slice(bytes).map_err(|error| {
            Response::error(None, code::NOT_JSON, format!("the line is not JSON: {error}"))
        })?;
        let id = value.get("id").and_then(|id| Id::deserialize(id).ok());
        Self::of(value).map_err(|why| {
            Response::error(id, code::NOT_A_REQUEST, format!("the line is not a request: {why}"))
        })
    }

    fn of(value: Value) -> Result<Self, String> {
        let mut message = Message::of(value)?;
        let id = message.take("id")?;
        let method = message.take("method")?;
        let params = message.keys.remove("params").unwrap_or_default();
        message.nothing_more()?;
        Ok(Self { id, method, params })
    }
}

/// An answer of the adapter.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// The id of the request; `None` where the line had none that could be read.
    pub id: Option<Id>,
    /// The result, or the error.
    pub outcome: Result<Value, ErrorObject>,
}

/// What went wrong, as JSON-RPC has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorObject {
    /// One of [`code`].
    pub code: i64,
    /// For people.
    pub message: String,
    /// The failed call, with its kind. Every answer that has an id carries it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<CallError>,
}

/// A line is not an answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Unreadable(String);

impl Response {
    /// The answer of a call that succeeded.
    pub fn ok(id: Id, result: Value) -> Self {
        Self { id: Some(id), outcome: Ok(result) }
    }

    /// The answer of a call that failed.
    pub fn failed(id: Id, error: CallError) -> Self {
        let code = code::CALL_FAILED;
        let error = ErrorObject { code, message: error.message.clone(), data: Some(error) };
        Self { id: Some(id), outcome: Err(error) }
    }

    /// The answer to something that is no call: the kind follows from the code.
    pub fn error(id: Option<Id>, code: i64, message: impl Into<String>) -> Self {
        let message = message.into();
        let kind = match code {
            code::NO_METHOD => ErrorKind::NotSupported,
            _ => ErrorKind::Invalid,
        };
        let data = id.is_some().then(|| CallError {
            kind,
            message: message.clone(),
            rules: vec!["CA-06".to_owned()],
        });
        Self { id, outcome: Err(ErrorObject { code, message, data }) }
    }

    /// The answer as a line, with its end.
    pub fn line(&self) -> String {
        let (key, value) = match &self.outcome {
            Ok(result) => ("result", result.clone()),
            Err(error) => ("error", json!(error)),
        };
        line(&json!({"jsonrpc": "2.0", "id": self.id, key: value}))
    }

    /// Reads a line.
    pub fn read(bytes: &[u8]) -> Result<Self, Unreadable> {
        let value = serde_json::from_slice(bytes);
        let value = value.map_err(|error| Unreadable(format!("it is not JSON: {error}")))?;
        Self::of(value).map_err(Unreadable)
    }

    fn of(value: Value) -> Result<Self, String> {
        let mut message = Message::of(value)?;
        let id = message.take("id")?;
        let result = message.keys.remove("result");
        let error = message.keys.remove("error");
        message.nothing_more()?;
        let outcome = match (result, error) {
            (Some(result), None) => Ok(result),
            (None, Some(error)) => {
                let read = serde_json::from_value(error);
                Err(read.map_err(|error| format!("its `error` cannot be read: {error}"))?)
            }
            (Some(_), Some(_)) => return Err("it has both `result` and `error`".to_owned()),
            (None, None) => return Err("it has neither `result` nor `error`".to_owned()),
        };
        Ok(Self { id, outcome })
    }
}

impl ErrorObject {
    /// The failed call. An adapter that has no such method, or refuses the parameters, by the codes
    /// of JSON-RPC need not say the kind. `None` where the kind is not known.
    pub fn call_error(self) -> Option<CallError> {
        let kind = match self.code {
            code::NO_METHOD => Some(ErrorKind::NotSupported),
            code::BAD_PARAMETERS => Some(ErrorKind::Invalid),
            _ => None,
        };
        let of_code = |kind| CallError { kind, message: self.message, rules: Vec::new() };
        self.data.or_else(|| kind.map(of_code))
    }
}

/// The keys of a message that are not read yet.
struct Message {
    keys: Map<String, Value>,
}

impl Message {
    fn of(value: Value) -> Result<Self, String> {
        let Value::Object(mut keys) = value else {
            return Err("expected an object with keys and values".to_owned());
        };
        match keys.remove("jsonrpc") {
            Some(version) if version == "2.0" => Ok(Self { keys }),
            _ => Err("expected `\"jsonrpc\": \"2.0\"`".to_owned()),
        }
    }

    fn take<T: serde::de::DeserializeOwned>(&mut self, key: &'static str) -> Result<T, String> {
        let value = self.keys.remove(key);
        let read = value.map_or_else(|| Err(serde_json::Error::missing_field(key)), T::deserialize);
        read.map_err(|error| format!("`{key}`: {error}"))
    }

    fn nothing_more(&self) -> Result<(), String> {
        self.keys.keys().next().map_or(Ok(()), |key| Err(format!("there is no key `{key}`")))
    }
}

/// JSON has no line ends of its own: within a text they are escaped.
fn line(message: &Value) -> String {
    format!("{message}\n")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn request() -> Request {
        let params = json!({"name": "a\nb", "uid": "u"});
        Request { id: Id::Number(7), method: "open".to_owned(), params }
    }

    #[test]
    fn a_request_is_one_line_and_read_as_it_was_written() {
        let line = request().line();
        assert_eq!(line.matches('\n').count(), 1);
        assert_eq!(Request::read(line.as_bytes()), Ok(request()));
    }

    #[test]
    fn parameters_can_be_left_out() {
        let read = Request::read(br#"{"jsonrpc":"2.0","id":"a","method":"list"}"#).unwrap();
        assert_eq!((read.id, read.params), (Id::Text("a".to_owned()), Value::Null));
    }

    #[rstest]
    #[case::not_json("{", code::NOT_JSON, None)]
    #[case::not_an_object("[]", code::NOT_A_REQUEST, None)]
    #[case::no_version(r#"{"id":1,"method":"list"}"#, code::NOT_A_REQUEST, Some(1))]
    #[case::no_id(r#"{"jsonrpc":"2.0","method":"list"}"#, code::NOT_A_REQUEST, None)]
    #[case::odd_id(r#"{"jsonrpc":"2.0","id":1.5,"method":"list"}"#, code::NOT_A_REQUEST, None)]
    #[case::no_method(r#"{"jsonrpc":"2.0","id":1}"#, code::NOT_A_REQUEST, Some(1))]
    #[case::more(
        r#"{"jsonrpc":"2.0","id":1,"method":"list","extra":1}"#,
        code::NOT_A_REQUEST,
        Some(1)
    )]
    fn a_line_that_is_no_request_has_an_answer(
        #[case] line: &str,
        #[case] code: i64,
        #[case] id: Option<u64>,
    ) {
        let answer = Request::read(line.as_bytes()).unwrap_err();
        let error = answer.outcome.clone().unwrap_err();
        assert_eq!((answer.id.clone(), error.code), (id.map(Id::Number), code));
        assert_eq!(error.data.is_some(), id.is_some());
        assert_eq!(Response::read(answer.line().as_bytes()), Ok(answer));
    }

    fn call_error() -> CallError {
        CallError {
            kind: ErrorKind::Rejected,
            message: "it ended".to_owned(),
            rules: vec!["OP-08".to_owned()],
        }
    }

    #[rstest]
    #[case::ok(Response::ok(Id::Number(1), json!({})))]
    #[case::nothing(Response::ok(Id::Number(1), Value::Null))]
    #[case::failed(Response::failed(Id::Text("a".to_owned()), call_error()))]
    #[case::without_id(Response::error(None, code::NOT_JSON, "no"))]
    fn an_answer_is_one_line_and_read_as_it_was_written(#[case] answer: Response) {
        let line = answer.line();
        assert_eq!(line.matches('\n').count(), 1);
        assert_eq!(Response::read(line.as_bytes()), Ok(answer));
    }

    #[rstest]
    #[case::not_json("hello", "it is not JSON")]
    #[case::neither(r#"{"jsonrpc":"2.0","id":1}"#, "neither `result` nor `error`")]
    #[case::both(r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{}}"#, "both")]
    #[case::no_id(r#"{"jsonrpc":"2.0","result":1}"#, "`id`: missing field")]
    #[case::odd_error(r#"{"jsonrpc":"2.0","id":1,"error":{"code":1}}"#, "`error` cannot be read")]
    #[case::a_request(r#"{"jsonrpc":"2.0","id":1,"method":"open"}"#, "no key `method`")]
    fn a_line_that_is_no_answer_is_refused_with_the_reason(#[case] line: &str, #[case] part: &str) {
        let error = Response::read(line.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }

    #[rstest]
    #[case::by_kind(code::CALL_FAILED, Some(call_error()), Some(ErrorKind::Rejected))]
    #[case::the_kind_wins(code::NO_METHOD, Some(call_error()), Some(ErrorKind::Rejected))]
    #[case::no_method(code::NO_METHOD, None, Some(ErrorKind::NotSupported))]
    #[case::parameters(code::BAD_PARAMETERS, None, Some(ErrorKind::Invalid))]
    #[case::internal(-32_603, None, None)]
    #[case::without_kind(code::CALL_FAILED, None, None)]
    fn what_an_error_is_follows_from_its_kind(
        #[case] code: i64,
        #[case] data: Option<CallError>,
        #[case] kind: Option<ErrorKind>,
    ) {
        let error = ErrorObject { code, message: "m".to_owned(), data };
        assert_eq!(error.call_error().map(|error| error.kind), kind);
    }
}
