//! `open`, `release`, `status`, `list`, `preflight`: calls of the adapter whose answers a step
//! compares.

use std::collections::BTreeSet;

use dispatch_contract::rules::RuleId;
use dispatch_contract::{ErrorKind, ListEntry, PreflightAnswer, StatusAnswer};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::run::error::StepError;
use crate::run::stage::Stage;
use crate::scenario::JobName;
use crate::subject::{Call, Failure};

pub(super) async fn open(stage: &mut Stage<'_>, job: &JobName) -> Result<(), StepError> {
    let call = Call::Open(stage.object(job)?);
    expected(stage.call(&call, Some(job)).await?, None).map(drop)
}

pub(super) async fn release(
    stage: &mut Stage<'_>,
    job: &JobName,
    refused: Option<ErrorKind>,
) -> Result<(), StepError> {
    let call = Call::Release(stage.object(job)?);
    expected(stage.call(&call, Some(job)).await?, refused).map(drop)
}

pub(super) async fn status(
    stage: &mut Stage<'_>,
    job: &JobName,
    wanted: &str,
) -> Result<(), StepError> {
    let call = Call::Status(stage.object(job)?);
    let answer = expected(stage.call(&call, Some(job)).await?, None)?.unwrap_or_default();
    let status: StatusAnswer = read(answer.clone())?;
    if status.state.name() == wanted {
        return Ok(());
    }
    let found = status.state.name();
    Err(StepError::failed(format!("Status has to answer {wanted}, and answered {found}: {answer}")))
}

pub(super) async fn list(stage: &mut Stage<'_>, jobs: &[JobName]) -> Result<(), StepError> {
    let answer = expected(stage.call(&Call::List, None).await?, None)?.unwrap_or_default();
    let entries: Vec<ListEntry> = read(answer)?;
    let found: BTreeSet<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
    let named: Result<BTreeSet<_>, _> =
        jobs.iter().map(|job| stage.job(job).map(|job| job.name.as_str())).collect();
    let named = named?;
    if found == named && entries.len() == found.len() {
        return Ok(());
    }
    let text = |names: &BTreeSet<&str>| names.iter().copied().collect::<Vec<_>>().join(", ");
    let (named, found) = (text(&named), text(&found));
    Err(StepError::failed(format!("List has to answer [{named}], and answered [{found}]")))
}

pub(super) async fn preflight(
    stage: &mut Stage<'_>,
    observe_only: bool,
    because: &[RuleId],
) -> Result<(), StepError> {
    let answer = expected(stage.call(&Call::Preflight, None).await?, None)?.unwrap_or_default();
    let preflight: PreflightAnswer = read(answer.clone())?;
    if preflight.observe_only != observe_only {
        let word = if observe_only { "has to" } else { "must not" };
        let why = format!("preflight {word} be observe-only; its answer: {answer}");
        return Err(StepError::failed(why));
    }
    let text = answer.to_string();
    let missing: Vec<_> =
        because.iter().map(ToString::to_string).filter(|rule| !text.contains(rule)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let missing = missing.join(", ");
    Err(StepError::failed(format!("preflight does not name {missing} as a reason: {answer}")))
}

/// The answer of a call that has to succeed; `None` for one that has to be refused, and was so.
pub(super) fn expected(
    answer: Result<Value, Failure>,
    refused: Option<ErrorKind>,
) -> Result<Option<Value>, StepError> {
    let failed = |why: String| Err(StepError::failed(why));
    match (answer, refused) {
        (Ok(answer), None) => Ok(Some(answer)),
        (Err(Failure::Answered(error)), Some(kind)) if error.kind == kind => Ok(None),
        (Err(Failure::Unanswered(why)), _) => failed(why.to_string()),
        (Err(error), None) => failed(format!("the call was refused: {error}")),
        (Err(error), Some(kind)) => {
            failed(format!("the call has to be refused as {kind}, and was: {error}"))
        }
        (Ok(answer), Some(kind)) => {
            failed(format!("the call has to be refused as {kind}, and succeeded: {answer}"))
        }
    }
}

fn read<T: DeserializeOwned>(answer: Value) -> Result<T, StepError> {
    let text = answer.to_string();
    serde_json::from_value(answer)
        .map_err(|error| StepError::failed(format!("the answer cannot be read: {error}: {text}")))
}

#[cfg(test)]
mod tests {
    use dispatch_contract::CallError;
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::subject::Unanswered;

    fn error(kind: ErrorKind) -> Result<Value, Failure> {
        Err(CallError { kind, message: "m".to_owned(), rules: Vec::new() }.into())
    }

    fn unanswered(why: Unanswered) -> Result<Value, Failure> {
        Err(why.into())
    }

    #[rstest]
    #[case::succeeds(Ok(json!({})), None, true)]
    #[case::refused(error(ErrorKind::Rejected), Some(ErrorKind::Rejected), true)]
    #[case::refused_otherwise(error(ErrorKind::NotFound), Some(ErrorKind::Rejected), false)]
    #[case::not_refused(Ok(json!({})), Some(ErrorKind::Rejected), false)]
    #[case::refused_for_no_reason(error(ErrorKind::Refused), None, false)]
    #[case::unknown(error(ErrorKind::Unknown), None, false)]
    #[case::died(unanswered(Unanswered::Died("killed".to_owned())), None, false)]
    #[case::no_answer_is_no_refusal(
        unanswered(Unanswered::BrokeProtocol("no".to_owned())), Some(ErrorKind::Unknown), false)]
    fn an_answer_is_as_the_step_says_or_breaks_it(
        #[case] answer: Result<Value, Failure>,
        #[case] refused: Option<ErrorKind>,
        #[case] as_expected: bool,
    ) {
        assert_eq!(expected(answer, refused).is_ok(), as_expected);
    }
}
