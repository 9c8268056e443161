//! The calls of an adapter, as the driver protocol sends them.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    ListEntry, ListRequest, ObjectRef, PreflightAnswer, ReleaseAnswer, StartAnswer, StartRequest,
    StatusAnswer, StopAnswer,
};

/// The calls of an adapter. Each is a method of the driver protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verb {
    /// Creates an object, closed.
    Start,
    /// Opens it.
    Open,
    /// Says how it is.
    Status,
    /// Suspends it until it is released.
    Hold,
    /// Ends the hold.
    Release,
    /// Deletes it.
    Stop,
    /// Lists all.
    List,
    /// Proves the gate.
    Preflight,
}

impl Verb {
    /// Every call, in the order of the documentation.
    pub const ALL: [Self; 8] = [
        Self::Start,
        Self::Open,
        Self::Status,
        Self::Hold,
        Self::Release,
        Self::Stop,
        Self::List,
        Self::Preflight,
    ];

    /// The call as the driver protocol and scenarios spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Open => "open",
            Self::Status => "status",
            Self::Hold => "hold",
            Self::Release => "release",
            Self::Stop => "stop",
            Self::List => "list",
            Self::Preflight => "preflight",
        }
    }

    /// The call of this method.
    pub fn of_method(method: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.as_str() == method)
    }

    /// Whether an answer is one that this call has; if not, what is wrong with it.
    pub fn check_answer(self, answer: &Value) -> Result<(), String> {
        match self {
            Self::Start => is::<StartAnswer>(answer),
            Self::Open | Self::Hold => is::<Done>(answer),
            Self::Status => is::<StatusAnswer>(answer),
            Self::Release => is::<ReleaseAnswer>(answer),
            Self::Stop => is::<StopAnswer>(answer),
            Self::List => is::<Vec<ListEntry>>(answer),
            Self::Preflight => is::<PreflightAnswer>(answer),
        }
    }
}

fn is<T: DeserializeOwned>(answer: &Value) -> Result<(), String> {
    T::deserialize(answer).map(drop).map_err(|error| error.to_string())
}

/// A call to an adapter.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// Creates an object, closed.
    Start(StartRequest),
    /// Opens it.
    Open(ObjectRef),
    /// Says how it is.
    Status(ObjectRef),
    /// Suspends it until it is released.
    Hold(ObjectRef),
    /// Ends the hold.
    Release(ObjectRef),
    /// Deletes it.
    Stop(ObjectRef),
    /// Lists all.
    List,
    /// Proves the gate.
    Preflight,
}

impl Call {
    /// The call of a method, from its parameters; if they are not its own, what is wrong.
    pub fn read(verb: Verb, params: Value) -> Result<Self, String> {
        let nothing = |params| of::<ListRequest>(params).map(drop);
        Ok(match verb {
            Verb::Start => Self::Start(of(params)?),
            Verb::Open => Self::Open(of(params)?),
            Verb::Status => Self::Status(of(params)?),
            Verb::Hold => Self::Hold(of(params)?),
            Verb::Release => Self::Release(of(params)?),
            Verb::Stop => Self::Stop(of(params)?),
            Verb::List => nothing(params).map(|()| Self::List)?,
            Verb::Preflight => nothing(params).map(|()| Self::Preflight)?,
        })
    }

    /// Which call it is.
    pub fn verb(&self) -> Verb {
        match self {
            Self::Start(_) => Verb::Start,
            Self::Open(_) => Verb::Open,
            Self::Status(_) => Verb::Status,
            Self::Hold(_) => Verb::Hold,
            Self::Release(_) => Verb::Release,
            Self::Stop(_) => Verb::Stop,
            Self::List => Verb::List,
            Self::Preflight => Verb::Preflight,
        }
    }

    /// What it asks for, as it is sent.
    pub fn params(&self) -> Value {
        match self {
            Self::Start(request) => json!(request),
            Self::Open(object)
            | Self::Status(object)
            | Self::Hold(object)
            | Self::Release(object)
            | Self::Stop(object) => json!(object),
            Self::List | Self::Preflight => json!({}),
        }
    }
}

fn of<T: DeserializeOwned>(params: Value) -> Result<T, String> {
    // Parameters may be left out where there are none to give.
    let params = if params.is_null() { json!({}) } else { params };
    serde_json::from_value(params).map_err(|error| error.to_string())
}

/// The answer of a call that has nothing to say but that it succeeded: `{}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Done {}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn object() -> ObjectRef {
        ObjectRef { name: "dj-a-s1".to_owned(), uid: "u".to_owned() }
    }

    fn start() -> Call {
        let request = json!({"name": "dj-a-s1", "runtimeRef": {"name": "torch"}});
        Call::Start(serde_json::from_value(request).unwrap())
    }

    #[rstest]
    fn a_call_is_read_as_it_is_sent(
        #[values(
            start(),
            Call::Open(object()),
            Call::Status(object()),
            Call::Hold(object()),
            Call::Release(object()),
            Call::Stop(object()),
            Call::List,
            Call::Preflight
        )]
        call: Call,
    ) {
        assert_eq!(Verb::of_method(call.verb().as_str()), Some(call.verb()));
        assert_eq!(Call::read(call.verb(), call.params()), Ok(call));
    }

    #[test]
    fn a_call_is_spelt_alike_as_a_method_and_as_a_value() {
        for verb in Verb::ALL {
            assert_eq!(serde_json::to_value(verb).unwrap(), verb.as_str());
        }
    }

    #[rstest]
    #[case::missing(Verb::Open, json!({"name": "a"}), "uid")]
    #[case::unknown(Verb::List, json!({"all": true}), "all")]
    #[case::unknown_of_start(
        Verb::Start, json!({"name": "a", "runtimeRef": {"name": "b"}, "cpu": 1}), "cpu")]
    #[case::nothing(Verb::Status, json!(null), "name")]
    #[case::a_list(Verb::Open, json!([1]), "uid")]
    fn parameters_of_another_shape_are_refused_by_name(
        #[case] verb: Verb,
        #[case] params: Value,
        #[case] part: &str,
    ) {
        let error = Call::read(verb, params).unwrap_err();
        assert!(error.contains(part) || error.contains("invalid"), "{error}");
    }

    #[rstest]
    #[case::start(Verb::Start, json!({"name": "a", "uid": "u"}), true)]
    #[case::start_without_uid(Verb::Start, json!({"name": "a"}), false)]
    #[case::open(Verb::Open, json!({}), true)]
    #[case::open_of_nothing(Verb::Open, json!(null), false)]
    #[case::open_with_more(Verb::Open, json!({"opened": true}), false)]
    #[case::status(Verb::Status, json!({"state": "gated", "admission": "0"}), true)]
    #[case::status_of_no_state(Verb::Status, json!({"state": "asleep"}), false)]
    #[case::list(Verb::List, json!([]), true)]
    #[case::stop(Verb::Stop, json!({"deleted": true}), true)]
    fn an_answer_is_one_that_the_call_has_or_it_is_not(
        #[case] verb: Verb,
        #[case] answer: Value,
        #[case] is: bool,
    ) {
        assert_eq!(verb.check_answer(&answer).is_ok(), is, "{:?}", verb.check_answer(&answer));
    }
}
