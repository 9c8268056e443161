//! The driver protocol: the calls of the adapter as requests of a supervisor, one a line
//! (`docs/driver-protocol.md`).

use std::future::Future;
use std::io;
use std::sync::Arc;

use dispatch_contract::driver::{
    Call, Done, INITIALIZE, Id, InitializeAnswer, InitializeRequest, LINE_LIMIT, Lines, Mode,
    PROTOCOL_VERSION, Request, Response, Verb, code,
};
use dispatch_contract::{CallError, ErrorKind};
use futures::StreamExt;
use futures::future::LocalBoxFuture;
use futures::stream::FuturesUnordered;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::error::fail;
use crate::{Adapter, Config};

/// How many requests may be in flight at once; more are refused.
pub const IN_FLIGHT: usize = 256;

/// How many bytes are read at once.
const CHUNK: usize = 16 * 1024;

/// Serves on the standard streams of this process, and ends the process with them, whatever is in
/// flight: with code 0 once standard input has ended, with 1 if a stream fails.
pub async fn on_standard_streams<F>(open: impl Fn(Config) -> F) -> !
where
    F: Future<Output = Result<Adapter, CallError>>,
{
    let served = serve(tokio::io::stdin(), tokio::io::stdout(), open).await;
    if let Err(error) = &served {
        tracing::error!(%error, "the conversation with the supervisor is broken");
    }
    std::process::exit(i32::from(served.is_err()))
}

/// Serves until `input` ends, and then returns at once: calls in flight are given up as if the
/// process had been killed, and what becomes of their writes is not known.
///
/// `open` makes the adapter that `initialize` describes; it must not send anything.
///
/// # Errors
/// A stream fails. What is wrong with a line is answered, and ends nothing.
pub async fn serve<F>(
    mut input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
    open: impl Fn(Config) -> F,
) -> io::Result<()>
where
    F: Future<Output = Result<Adapter, CallError>>,
{
    let mut conversation = Conversation::new(&open);
    let mut lines = Lines::default();
    let mut chunk = vec![0; CHUNK];
    // Answers that are still to be written: a supervisor that is slow to read them holds up no call.
    let mut answers = Vec::new();
    let mut unflushed = false;
    loop {
        tokio::select! {
            biased;
            written = write(&mut output, &answers), if unflushed || !answers.is_empty() => {
                let written = written?;
                answers.drain(..written);
                unflushed = written > 0;
            }
            Some(answer) = conversation.next_answer() => {
                answers.extend_from_slice(answer.line().as_bytes());
            }
            // Without room for answers no more requests are read.
            read = input.read(&mut chunk), if answers.len() < LINE_LIMIT => {
                let read = read?;
                if read == 0 {
                    return Ok(());
                }
                lines.push(chunk.get(..read).unwrap_or_default());
                while let Some(line) = lines.next_line() {
                    let request = match line {
                        Ok(line) => Request::read(&line),
                        Err(error) => {
                            Err(Response::error(None, code::NOT_A_REQUEST, error.to_string()))
                        }
                    };
                    if let Err(answer) = request.and_then(|request| conversation.take(request)) {
                        tracing::warn!(?answer, "refused");
                        answers.extend_from_slice(answer.line().as_bytes());
                    }
                }
            }
        }
    }
}

/// Writes some of it, and says how many bytes; flushes once there is nothing left to write.
async fn write(output: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<usize> {
    if bytes.is_empty() {
        return output.flush().await.map(|()| 0);
    }
    match output.write(bytes).await? {
        0 => Err(io::ErrorKind::WriteZero.into()),
        written => Ok(written),
    }
}

/// A conversation with a supervisor.
struct Conversation<'a, O> {
    open: &'a O,
    state: State,
    in_flight: FuturesUnordered<LocalBoxFuture<'a, Answered>>,
}

enum State {
    /// Nothing was said yet, or it was refused.
    New,
    /// `initialize` is not answered yet.
    Opening,
    /// Calls are made.
    Open(Arc<Adapter>),
}

/// What became of a request.
enum Answered {
    Initialize(Id, Result<Arc<Adapter>, CallError>),
    Call(Response),
}

impl<'a, O, F> Conversation<'a, O>
where
    O: Fn(Config) -> F,
    F: Future<Output = Result<Adapter, CallError>> + 'a,
{
    fn new(open: &'a O) -> Self {
        Self { open, state: State::New, in_flight: FuturesUnordered::new() }
    }

    /// Takes a request on. The error is the answer of one that is refused.
    fn take(&mut self, request: Request) -> Result<(), Response> {
        let Request { id, method, params } = request;
        if self.in_flight.len() >= IN_FLIGHT {
            let why = format!("{IN_FLIGHT} requests are in flight already; nothing was done");
            return Err(Response::failed(id, fail(ErrorKind::Unavailable, why, &[])));
        }
        if method == INITIALIZE {
            return self.initialize(id, params);
        }
        let Some(verb) = Verb::of_method(&method) else {
            let why = format!("there is no method `{method}`");
            return Err(Response::error(Some(id), code::NO_METHOD, why));
        };
        let adapter = match &self.state {
            State::Open(adapter) => Arc::clone(adapter),
            State::New => {
                let why = format!("{method} before {INITIALIZE}");
                return Err(Response::failed(id, fail(ErrorKind::Invalid, why, &[])));
            }
            State::Opening => {
                let why = format!("{method} before {INITIALIZE} was answered");
                return Err(Response::failed(id, fail(ErrorKind::Invalid, why, &[])));
            }
        };
        let call = Call::read(verb, params).map_err(|why| bad_parameters(&id, &method, &why))?;
        self.in_flight.push(Box::pin(async move {
            tracing::info!(call = verb.as_str(), params = %call.params(), "called");
            let answered = make(&adapter, &call).await;
            match &answered {
                Ok(answer) => tracing::info!(call = verb.as_str(), %answer, "answered"),
                Err(error) => tracing::info!(call = verb.as_str(), %error, "failed"),
            }
            Answered::Call(match answered {
                Ok(answer) => Response::ok(id, answer),
                Err(error) => Response::failed(id, error),
            })
        }));
        Ok(())
    }

    fn initialize(&mut self, id: Id, params: Value) -> Result<(), Response> {
        if !matches!(self.state, State::New) {
            let why = format!("{INITIALIZE} was called already");
            return Err(Response::failed(id, fail(ErrorKind::Invalid, why, &[])));
        }
        let request: InitializeRequest = serde_json::from_value(params)
            .map_err(|error| bad_parameters(&id, INITIALIZE, &error.to_string()))?;
        let config = acceptable(request).map_err(|error| Response::failed(id.clone(), error))?;
        let opened = (self.open)(config);
        self.state = State::Opening;
        let opened = async move { Answered::Initialize(id, opened.await.map(Arc::new)) };
        self.in_flight.push(Box::pin(opened));
        Ok(())
    }

    /// The next answer; `None` while nothing is in flight.
    async fn next_answer(&mut self) -> Option<Response> {
        Some(match self.in_flight.next().await? {
            Answered::Call(response) => response,
            Answered::Initialize(id, Ok(adapter)) => {
                tracing::info!(config = %json!(adapter.config()), "initialized");
                self.state = State::Open(adapter);
                Response::ok(id, json!(introduction()))
            }
            Answered::Initialize(id, Err(error)) => {
                self.state = State::New;
                Response::failed(id, error)
            }
        })
    }
}

fn bad_parameters(id: &Id, method: &str, why: &str) -> Response {
    let why = format!("the parameters of {method} cannot be read: {why}");
    Response::error(Some(id.clone()), code::BAD_PARAMETERS, why)
}

/// The configuration of a supervisor that this adapter can serve.
fn acceptable(request: InitializeRequest) -> Result<Config, CallError> {
    let InitializeRequest { protocol_version, config } = request;
    if protocol_version != PROTOCOL_VERSION {
        let why =
            format!("protocolVersion is {protocol_version}; this adapter has {PROTOCOL_VERSION}");
        return Err(fail(ErrorKind::NotSupported, why, &[]));
    }
    config.check().map_err(|error| fail(ErrorKind::Invalid, error.to_string(), &["CA-06"]))?;
    if config.mode != Mode::Kueue {
        let why = "mode: plain is not supported";
        return Err(fail(ErrorKind::NotSupported, why, &["CA-06"]));
    }
    Ok(config)
}

/// What this adapter says of itself.
fn introduction() -> InitializeAnswer {
    InitializeAnswer {
        name: env!("CARGO_PKG_NAME").to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        modes: vec![Mode::Kueue],
        calls: Verb::ALL.to_vec(),
    }
}

/// Makes a call.
async fn make(adapter: &Adapter, call: &Call) -> Result<Value, CallError> {
    match call {
        Call::Start(request) => answer(adapter.start(request).await),
        Call::Open(object) => answer(adapter.open(object).await.map(|()| Done {})),
        Call::Status(object) => answer(adapter.status(object).await),
        Call::Hold(object) => answer(adapter.hold(object).await.map(|()| Done {})),
        Call::Release(object) => answer(adapter.release(object).await),
        Call::Stop(object) => answer(adapter.stop(object).await),
        Call::List => answer(adapter.list().await),
        Call::Preflight => answer(adapter.preflight().await),
    }
}

fn answer<T: Serialize>(answered: Result<T, CallError>) -> Result<Value, CallError> {
    serde_json::to_value(answered?).map_err(|error| {
        let why = format!("the answer cannot be written as JSON: {error}");
        fail(ErrorKind::Unknown, why, &[])
    })
}

#[cfg(test)]
mod tests;
