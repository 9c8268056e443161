//! An adapter as a process of its own, driven by the driver protocol.

use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use dispatch_contract::driver::{
    Call, Config, INITIALIZE, InitializeAnswer, InitializeRequest, PROTOCOL_VERSION,
};
use dispatch_contract::{CallError, ErrorKind};
use futures::future::{BoxFuture, ready};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::timeout;

use super::adapter::{Adapter, Failure, Unanswered};
use super::driver::{Driver, Over};
use super::embedded::{Surroundings, Ways};
use super::error::SubjectError;
use super::handle::ProcessHandle;
use super::process::{self, Launch, Process, Program, Streams};
use crate::history::{Role, Subject};
use crate::mutants;

/// How long an adapter may take to answer `initialize`.
const READY_LIMIT: Duration = Duration::from_secs(30);

/// How long it may take to end once its input has.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// How long the end of a process may take that has closed its output. One that goes on after that
/// has broken the protocol.
const END_LIMIT: Duration = Duration::from_secs(5);

/// How much may be on its way to an adapter in this process, and from it, in bytes.
const PIPE_BYTES: usize = 64 * 1024;

/// Who the adapter is. There is one in a scenario.
const SUBJECT: Subject = Subject { role: Role::Adapter, replica: 0 };

/// What an adapter is started from.
#[derive(Clone, Debug)]
pub struct AdapterSetup {
    /// What becomes the adapter.
    pub program: Program,
    /// The broken adapter that stands in for the reference, by its name.
    pub mutant: Option<String>,
    /// What `initialize` tells it.
    pub config: Config,
    /// The folder for its log.
    pub logs: PathBuf,
}

/// An adapter that runs. It is killed when this is dropped.
#[derive(Debug)]
pub struct AdapterProcess {
    process: Process,
    driver: Driver,
    config: Config,
    introduction: OnceLock<InitializeAnswer>,
}

impl AdapterProcess {
    /// Starts it, to be reached by this handle. It is not ready yet.
    pub fn start(setup: &AdapterSetup, handle: &ProcessHandle) -> Result<Self, SubjectError> {
        let log = setup.logs.join("adapter.log");
        let (process, streams) = match &setup.program {
            Program::Own(program) => {
                let mut arguments = vec!["adapter".into()];
                if let Some(mutant) = &setup.mutant {
                    arguments.extend(["--mutant".into(), mutant.into()]);
                }
                Process::converse(launch(process::own(program, arguments), log, handle))?
            }
            Program::Others { suite, line } => {
                Process::converse(launch(process::of_others(suite, line), log, handle))?
            }
            Program::Image(image) => {
                let why = format!("an adapter is no container, and {} is an image", image.name());
                return Err(SubjectError::Unfit {
                    subject: SUBJECT,
                    why,
                    log,
                    lines: String::new(),
                });
            }
            Program::Embedded(ways) => {
                embedded(ways, setup.mutant.as_deref(), (log, handle.clone()))?
            }
        };
        let driver = Driver::new(streams.output, streams.input);
        let config = setup.config.clone();
        Ok(Self { process, driver, config, introduction: OnceLock::new() })
    }

    /// Returns when it has answered `initialize`.
    pub async fn ready(&self) -> Result<(), SubjectError> {
        let config = self.config.clone();
        let request = InitializeRequest { protocol_version: PROTOCOL_VERSION, config };
        let asked = self.driver.request(INITIALIZE, json!(request));
        let answer = match timeout(READY_LIMIT, asked).await {
            Ok(Ok(Ok(answer))) => answer,
            Ok(Ok(Err(error))) => {
                let why = format!("it refuses {INITIALIZE}: {}", error.message);
                return Err(self.unfit(why));
            }
            Ok(Err(Over::Closed)) => return Err(self.closed().await),
            Ok(Err(Over::Broken(why))) => {
                return Err(self.unfit(Unanswered::BrokeProtocol(why).to_string()));
            }
            Err(_) => {
                let ((log, lines), why) = (self.process.log(), "it does not answer".to_owned());
                let (subject, limit) = (self.process.subject(), READY_LIMIT);
                return Err(SubjectError::NotReady { subject, limit, why, log, lines });
            }
        };
        let introduction: InitializeAnswer =
            serde_json::from_value(answer.clone()).map_err(|error| {
                self.unfit(format!("its answer to {INITIALIZE}: {error}: {answer}"))
            })?;
        if !introduction.modes.contains(&self.config.mode) {
            return Err(self.unfit(format!("it does not have the mode {:?}", self.config.mode)));
        }
        drop(self.introduction.set(introduction));
        Ok(())
    }

    /// What it says of itself, once it is ready.
    pub fn introduction(&self) -> Option<&InitializeAnswer> {
        self.introduction.get()
    }

    /// How it is reached.
    pub fn handle(&self) -> &ProcessHandle {
        self.process.handle()
    }

    /// Returns when it has ended, with what is to be said if nobody asked it to.
    pub fn ended(&self) -> impl Future<Output = SubjectError> + Send + 'static {
        self.process.ended()
    }

    /// Ends its input, and returns when it has ended.
    pub async fn stop(&self) -> Result<(), SubjectError> {
        self.handle().expect_stop();
        self.driver.hang_up();
        self.process.gone_within(STOP_LIMIT).await
    }

    fn unfit(&self, why: String) -> SubjectError {
        let (log, lines) = self.process.log();
        SubjectError::Unfit { subject: self.process.subject(), why, log, lines }
    }

    /// What is wrong with one whose output is closed: it has ended, or breaks the protocol.
    async fn closed(&self) -> SubjectError {
        match timeout(END_LIMIT, self.process.ended()).await {
            Ok(died) => died,
            Err(_) => self.unfit(Unanswered::BrokeProtocol(Over::Closed.to_string()).to_string()),
        }
    }

    /// Asks it to stop (SIGTERM), and returns when it has.
    pub async fn terminate(&self) -> Result<(), SubjectError> {
        self.process.terminate(STOP_LIMIT).await
    }

    async fn make(&self, call: &Call) -> Result<Value, Failure> {
        let verb = call.verb();
        let broke = |why| Unanswered::BrokeProtocol(why);
        let answer = match self.driver.request(verb.as_str(), call.params()).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => {
                let text = format!("an error {} without its kind: {}", error.code, error.message);
                let error = error.call_error().ok_or_else(|| broke(text))?;
                return Err(error.into());
            }
            Err(Over::Broken(why)) => return Err(broke(why).into()),
            Err(Over::Closed) => {
                return Err(match timeout(END_LIMIT, self.process.status()).await {
                    Ok(status) => Unanswered::Died(status.to_string()).into(),
                    Err(_) => broke(Over::Closed.to_string()).into(),
                });
            }
        };
        let checked = verb.check_answer(&answer);
        checked
            .map_err(|why| broke(format!("its answer to {}: {why}: {answer}", verb.as_str())))?;
        Ok(answer)
    }
}

fn launch(command: Command, log: PathBuf, handle: &ProcessHandle) -> Launch {
    Launch { subject: SUBJECT, command, log, handle: handle.clone() }
}

/// Starts it in this process. It hears and says what the driver protocol has, as any other.
fn embedded(
    ways: &Ways,
    mutant: Option<&str>,
    log_and_handle: (PathBuf, ProcessHandle),
) -> Result<(Process, Streams), SubjectError> {
    let decisions = mutants::adapter(mutant)?;
    let (input, hears) = tokio::io::duplex(PIPE_BYTES);
    let (says, output) = tokio::io::duplex(PIPE_BYTES);
    let ways = ways.clone();
    let whose = (SUBJECT, Arc::clone(&ways.surroundings.clock));
    let process = Process::embed(whose, log_and_handle, move |gate, terminated| async move {
        let open = |config| {
            let client = ways.client(SUBJECT, &gate);
            let Surroundings { clock, entropy } = ways.surroundings.clone();
            let adapter = client.map(|client| {
                dispatch_adapter::Adapter::new(config, client, clock, entropy)
                    .with_decisions(decisions())
            });
            ready(adapter.ok_or_else(|| CallError {
                kind: ErrorKind::Unavailable,
                message: "it has no way to the API server".to_owned(),
                rules: Vec::new(),
            }))
        };
        tokio::select! {
            biased;
            () = terminated.wait() => false,
            served = dispatch_adapter::serve::serve(hears, says, open) => {
                if let Err(error) = &served {
                    tracing::error!(%error, "the conversation with the supervisor is broken");
                }
                served.is_ok()
            }
        }
    })?;
    Ok((process, Streams { input: Box::new(input), output: Box::new(output) }))
}

impl Adapter for AdapterProcess {
    fn name(&self) -> &str {
        self.introduction.get().map_or("adapter", |introduction| introduction.name.as_str())
    }

    fn call<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(self.make(call))
    }
}
