//! The adapter, as the suite sees it: calls and answers.

use std::time::Duration;

use dispatch_contract::driver::Call;
use dispatch_contract::{CallError, ErrorKind};
use futures::future::BoxFuture;
use serde_json::Value;
use thiserror::Error;

/// An adapter that is judged. Answers are JSON, as the driver protocol has them.
pub trait Adapter: Send + Sync {
    /// Its name in the history.
    fn name(&self) -> &str;

    /// Makes one call and waits for its answer, for as long as that takes. Several calls may be
    /// made at once.
    fn call<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Value, Failure>>;
}

/// A call did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Failure {
    /// The adapter answered so.
    #[error(transparent)]
    Answered(#[from] CallError),
    /// There is no answer that means anything: the call may have been applied or not.
    #[error(transparent)]
    Unanswered(#[from] Unanswered),
}

/// Why a call has no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unanswered {
    /// The adapter ended while the call was in flight.
    #[error("the adapter ended ({0}) before it answered")]
    Died(String),
    /// The adapter did not answer in time.
    #[error("the adapter did not answer within {0:?}")]
    Hung(Duration),
    /// The adapter said something that the protocol does not know.
    #[error("the adapter broke the driver protocol: {0}")]
    BrokeProtocol(String),
}

impl Failure {
    /// The failed call, as histories have it: without an answer its outcome is unknown.
    pub fn call_error(&self) -> CallError {
        match self {
            Self::Answered(error) => error.clone(),
            Self::Unanswered(why) => {
                CallError { kind: ErrorKind::Unknown, message: why.to_string(), rules: Vec::new() }
            }
        }
    }
}
