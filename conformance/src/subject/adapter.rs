//! The adapter, as the suite sees it: calls and answers.

use dispatch_contract::{CallError, ObjectRef, StartRequest};
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::history::Verb;

/// A call to the adapter.
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
    pub fn input(&self) -> Value {
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

/// An adapter that is judged. Answers are JSON, as the driver protocol has them.
pub trait Adapter: Send + Sync {
    /// Its name in the history.
    fn name(&self) -> &str;

    /// Makes one call and waits for its answer, for as long as that takes.
    fn call<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Value, CallError>>;
}
