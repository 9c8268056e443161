//! One question to the API server, and that it may not be asked.

use std::time::Duration;

use dispatch_kubernetes::request::chain;

/// How long one question may take.
const QUESTION_LIMIT: Duration = Duration::from_secs(20);

/// An answer, or why there is none.
pub(super) type Answer<T> = Result<T, Silence>;

/// Why a question was not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Silence {
    /// Whoever asks lacks the right.
    Forbidden,
    /// The API server cannot be asked, or fails.
    Failed(String),
}

/// Asks one question.
pub(super) async fn ask<T>(question: impl Future<Output = kube::Result<T>>) -> Answer<T> {
    match tokio::time::timeout(QUESTION_LIMIT, question).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(status))) if status.code == 403 => Err(Silence::Forbidden),
        Ok(Err(error)) => Err(Silence::Failed(chain(&error))),
        Err(_) => Err(Silence::Failed(format!("no answer within {QUESTION_LIMIT:?}"))),
    }
}

/// What is allowed to be told; `None` where the right is missing.
pub(super) fn if_allowed<T>(answer: Answer<T>) -> Answer<Option<T>> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(Silence::Forbidden) => Ok(None),
        Err(failed) => Err(failed),
    }
}
