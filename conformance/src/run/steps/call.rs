//! Calls of the adapter, one or several at once: each is sent, has to end as its step says, and is
//! compared with what the step says of its answer.

use std::collections::BTreeSet;
use std::time::Duration;

use dispatch_contract::rules::RuleId;
use dispatch_contract::{ErrorKind, ListEntry, PreflightAnswer, StartRequest, StatusAnswer};
use futures::future::join_all;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::start;
use crate::history::Verb;
use crate::run::error::StepError;
use crate::run::stage::Stage;
use crate::scenario::{AdapterCall, Deadline, Expected, JobName};
use crate::subject::{Call, Failure, Unanswered};

/// How often a call is made again while its outcome is not known.
const AGAIN_EVERY: Duration = Duration::from_millis(250);

/// How often it is made at most.
const TRIES: u32 = 100;

/// Makes calls: all of them are sent before any answer is waited for.
pub(super) async fn run(stage: &mut Stage<'_>, calls: &[AdapterCall]) -> Result<(), StepError> {
    let mut sent = Vec::new();
    for step in calls {
        let call = call_of(stage, step).await?;
        let id = stage.invoke(&call, step.job()).await?;
        sent.push((step, call, id));
    }
    let answers = join_all(sent.iter().map(|(step, call, id)| made(stage, step, call, *id))).await;
    for (step, answer) in calls.iter().zip(answers) {
        if let Some(answer) = expected(answer?, step.end().expected)? {
            compare(stage, step, answer).await?;
        }
    }
    Ok(())
}

/// Sends a call, and leaves its answer to a later step.
pub(super) async fn begin(stage: &mut Stage<'_>, step: &AdapterCall) -> Result<(), StepError> {
    let call = call_of(stage, step).await?;
    let id = stage.invoke(&call, step.job()).await?;
    stage.begin(id, step, call)
}

/// Waits for the answer of a call that was begun.
pub(super) async fn finish(stage: &mut Stage<'_>, verb: Verb) -> Result<(), StepError> {
    let (step, answer) = stage.finish(verb).await?;
    match expected(answer, step.end().expected)? {
        Some(answer) => compare(stage, &step, answer).await,
        None => Ok(()),
    }
}

/// The call that a step makes.
async fn call_of(stage: &mut Stage<'_>, step: &AdapterCall) -> Result<Call, StepError> {
    Ok(match step {
        AdapterCall::Start {
            job, cpu, pods, labels, priority, deadline, again, named_as, ..
        } => {
            let name = start::name(stage, job, *again, named_as.as_ref()).await?;
            let request = start::request(stage, name, (*cpu, *pods), *priority, *deadline);
            Call::Start(StartRequest { labels: labels.clone(), ..request })
        }
        AdapterCall::Open { job, .. } => Call::Open(stage.object(job)?),
        AdapterCall::Hold { job, .. } => Call::Hold(stage.object(job)?),
        AdapterCall::Release { job, .. } => Call::Release(stage.object(job)?),
        AdapterCall::Stop { job, .. } => Call::Stop(stage.object(job)?),
        AdapterCall::Status { job, .. } => Call::Status(stage.object(job)?),
        AdapterCall::List { .. } => Call::List,
        AdapterCall::Preflight { .. } => Call::Preflight,
    })
}

/// Makes the call of this number, and where that is asked for again, as a supervisor would, while
/// its outcome is not known (CA-05). Each time is a call of its own.
async fn made(
    stage: &Stage<'_>,
    step: &AdapterCall,
    call: &Call,
    first: u64,
) -> Result<Result<Value, Failure>, StepError> {
    let repeat = step.end().repeat;
    let until = Instant::now() + Deadline::Chain.limit() * stage.time_scale;
    let mut turn = interval(AGAIN_EVERY);
    turn.set_missed_tick_behavior(MissedTickBehavior::Delay);
    turn.tick().await;
    let mut answer = stage.answer(first, call).await?;
    for _ in 1..TRIES {
        if !repeat || !is_worth_repeating(&answer) || Instant::now() >= until {
            break;
        }
        turn.tick().await;
        let id = stage.invoke(call, step.job()).await?;
        answer = stage.answer(id, call).await?;
    }
    Ok(answer)
}

/// Whether the same call may have another answer. An adapter that gave none has to be started again
/// first.
fn is_worth_repeating(answer: &Result<Value, Failure>) -> bool {
    match answer {
        Err(Failure::Answered(error)) => {
            matches!(error.kind, ErrorKind::Unknown | ErrorKind::Unavailable)
        }
        _ => false,
    }
}

/// Compares an answer with what its step says of it.
async fn compare(
    stage: &mut Stage<'_>,
    step: &AdapterCall,
    answer: Value,
) -> Result<(), StepError> {
    match step {
        AdapterCall::Start { job, .. } => start::started(stage, job, answer).await,
        AdapterCall::Status { state, .. } => status(&answer, state),
        AdapterCall::List { jobs } => list(stage, &answer, jobs),
        AdapterCall::Preflight { observe_only, because } => {
            preflight(&answer, *observe_only, because)
        }
        // Their answers are for the judges.
        AdapterCall::Open { .. }
        | AdapterCall::Hold { .. }
        | AdapterCall::Release { .. }
        | AdapterCall::Stop { .. } => Ok(()),
    }
}

fn status(answer: &Value, wanted: &str) -> Result<(), StepError> {
    let status: StatusAnswer = read(answer)?;
    if status.state.name() == wanted {
        return Ok(());
    }
    let found = status.state.name();
    Err(StepError::failed(format!("Status has to answer {wanted}, and answered {found}: {answer}")))
}

fn list(stage: &Stage<'_>, answer: &Value, jobs: &[JobName]) -> Result<(), StepError> {
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

fn preflight(answer: &Value, observe_only: bool, because: &[RuleId]) -> Result<(), StepError> {
    let preflight: PreflightAnswer = read(answer)?;
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

/// The answer of a call that has to succeed; `None` for one that ended otherwise, as it had to.
fn expected(
    answer: Result<Value, Failure>,
    expected: Expected,
) -> Result<Option<Value>, StepError> {
    use Expected::{CutOff, Refusal, Success};
    let failed = |why: String| Err(StepError::failed(why));
    match (answer, expected) {
        (Ok(answer), Success) => Ok(Some(answer)),
        (Err(Failure::Answered(error)), Refusal(kind)) if error.kind == kind => Ok(None),
        (Err(Failure::Answered(error)), CutOff) if error.kind == ErrorKind::Unknown => Ok(None),
        (Err(Failure::Unanswered(Unanswered::Died(_))), CutOff) => Ok(None),
        (Err(Failure::Unanswered(why)), _) => failed(why.to_string()),
        (Err(error), Success) => failed(format!("the call was refused: {error}")),
        (Err(error), Refusal(kind)) => {
            failed(format!("the call has to be refused as {kind}, and was: {error}"))
        }
        (Ok(answer), Refusal(kind)) => {
            failed(format!("the call has to be refused as {kind}, and succeeded: {answer}"))
        }
        (Err(error), CutOff) => failed(format!("the call has to be cut off, and failed: {error}")),
        (Ok(answer), CutOff) => {
            failed(format!("the call has to be cut off, and succeeded: {answer}"))
        }
    }
}

fn read<T: DeserializeOwned>(answer: &Value) -> Result<T, StepError> {
    T::deserialize(answer)
        .map_err(|error| StepError::failed(format!("the answer cannot be read: {error}: {answer}")))
}

#[cfg(test)]
mod tests {
    use dispatch_contract::CallError;
    use rstest::rstest;
    use serde_json::json;

    use super::Expected::{CutOff, Refusal, Success};
    use super::*;

    fn error(kind: ErrorKind) -> Result<Value, Failure> {
        Err(CallError { kind, message: "m".to_owned(), rules: Vec::new() }.into())
    }

    fn died() -> Result<Value, Failure> {
        Err(Unanswered::Died("killed".to_owned()).into())
    }

    fn broke() -> Result<Value, Failure> {
        Err(Unanswered::BrokeProtocol("no".to_owned()).into())
    }

    #[rstest]
    #[case::succeeds(Ok(json!({})), Success, true)]
    #[case::refused(error(ErrorKind::Rejected), Refusal(ErrorKind::Rejected), true)]
    #[case::refused_otherwise(error(ErrorKind::NotFound), Refusal(ErrorKind::Rejected), false)]
    #[case::not_refused(Ok(json!({})), Refusal(ErrorKind::Rejected), false)]
    #[case::refused_for_no_reason(error(ErrorKind::Refused), Success, false)]
    #[case::unknown(error(ErrorKind::Unknown), Success, false)]
    #[case::died(died(), Success, false)]
    #[case::no_answer_is_no_refusal(broke(), Refusal(ErrorKind::Unknown), false)]
    #[case::cut_off(died(), CutOff, true)]
    #[case::cut_off_from_the_cluster(error(ErrorKind::Unknown), CutOff, true)]
    #[case::not_cut_off(Ok(json!({})), CutOff, false)]
    #[case::failed_for_certain(error(ErrorKind::Unavailable), CutOff, false)]
    #[case::to_break_the_protocol_is_no_cut(broke(), CutOff, false)]
    fn a_call_ends_as_the_step_says_or_breaks_it(
        #[case] answer: Result<Value, Failure>,
        #[case] end: Expected,
        #[case] as_expected: bool,
    ) {
        assert_eq!(expected(answer, end).is_ok(), as_expected);
    }

    #[rstest]
    #[case::unknown(error(ErrorKind::Unknown), true)]
    #[case::unavailable(error(ErrorKind::Unavailable), true)]
    #[case::deadline(error(ErrorKind::Deadline), false)]
    #[case::refused(error(ErrorKind::Refused), false)]
    #[case::succeeded(Ok(json!({})), false)]
    #[case::died(died(), false)]
    #[case::broke_the_protocol(broke(), false)]
    fn a_call_is_repeated_while_its_outcome_is_open(
        #[case] answer: Result<Value, Failure>,
        #[case] repeated: bool,
    ) {
        assert_eq!(is_worth_repeating(&answer), repeated);
    }
}
