//! The suite's side of the driver protocol, over any two streams.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dispatch_contract::driver::{ErrorObject, Id, Lines, Request, Response};
use serde_json::Value;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// How many bytes are read at once.
const CHUNK: usize = 16 * 1024;

/// How much of a line that cannot be understood is shown, in characters.
const SHOWN: usize = 120;

/// Requests to an adapter and its answers, several at once.
#[derive(Debug)]
pub(super) struct Driver {
    state: Arc<Mutex<State>>,
    lines: mpsc::UnboundedSender<String>,
    tasks: [JoinHandle<()>; 2],
}

/// The conversation is over.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum Over {
    /// The adapter closed its output, as it does when it ends.
    #[error("it closed its standard output")]
    Closed,
    /// The adapter said something that the protocol does not know.
    #[error("{0}")]
    Broken(String),
}

type Answer = Result<Result<Value, ErrorObject>, Over>;

#[derive(Debug, Default)]
struct State {
    next: u64,
    /// The requests that are not answered. Whoever has given up on one is gone, and its answer may
    /// still come.
    waiting: BTreeMap<u64, oneshot::Sender<Answer>>,
    over: Option<Over>,
}

impl Driver {
    /// Begins a conversation.
    pub(super) fn new(
        output: impl AsyncRead + Send + Unpin + 'static,
        input: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let (lines, to_write) = mpsc::unbounded_channel();
        let read = tokio::spawn(read(output, Arc::clone(&state)));
        let write = tokio::spawn(write(input, to_write));
        Self { state, lines, tasks: [read, write] }
    }

    /// Sends a request and waits for its answer, for as long as the conversation lasts.
    pub(super) async fn request(&self, method: &str, params: Value) -> Answer {
        let (answer, answered) = oneshot::channel();
        let id = {
            let mut state = lock(&self.state);
            if let Some(over) = &state.over {
                return Err(over.clone());
            }
            let id = state.next;
            state.next += 1;
            state.waiting.insert(id, answer);
            id
        };
        let request = Request { id: Id::Number(id), method: method.to_owned(), params };
        // Where the adapter does not read any more, its output says why.
        drop(self.lines.send(request.line()));
        answered.await.unwrap_or(Err(Over::Closed))
    }

    /// Ends the adapter's input, which is how it is told to end.
    pub(super) fn hang_up(&self) {
        self.tasks[1].abort();
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// Whole lines only, whoever gives up on a request meanwhile.
async fn write(mut input: impl AsyncWrite + Unpin, mut lines: mpsc::UnboundedReceiver<String>) {
    while let Some(line) = lines.recv().await {
        let written = input.write_all(line.as_bytes()).await;
        if written.is_err() || input.flush().await.is_err() {
            return;
        }
    }
}

async fn read(mut output: impl AsyncRead + Unpin, state: Arc<Mutex<State>>) {
    let mut lines = Lines::default();
    let mut chunk = vec![0; CHUNK];
    let over = loop {
        let read = match output.read(&mut chunk).await {
            Ok(0) | Err(_) => break Over::Closed,
            Ok(read) => read,
        };
        lines.push(chunk.get(..read).unwrap_or_default());
        if let Err(broken) = take(&mut lines, &state) {
            break Over::Broken(broken);
        }
    };
    let mut state = lock(&state);
    state.over = Some(over.clone());
    for (_, answer) in std::mem::take(&mut state.waiting) {
        drop(answer.send(Err(over.clone())));
    }
}

/// Hands on the answers that have come. What else was said breaks the protocol.
fn take(lines: &mut Lines, state: &Mutex<State>) -> Result<(), String> {
    while let Some(line) = lines.next_line() {
        let line = line.map_err(|error| error.to_string())?;
        let shown = || String::from_utf8_lossy(&line).chars().take(SHOWN).collect::<String>();
        let answer = Response::read(&line)
            .map_err(|error| format!("a line is not an answer, {error}: {}", shown()))?;
        let waiting = match &answer.id {
            Some(Id::Number(id)) => lock(state).waiting.remove(id),
            _ => None,
        };
        let waiting =
            waiting.ok_or_else(|| format!("it answers what nobody asked: {}", shown()))?;
        drop(waiting.send(Ok(answer.outcome)));
    }
    Ok(())
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rstest::rstest;
    use serde_json::json;
    use tokio::io::{AsyncBufReadExt, BufReader, DuplexStream};
    use tokio::time::timeout;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    /// A conversation with an adapter that the test plays.
    struct Played {
        driver: Arc<Driver>,
        requests: BufReader<DuplexStream>,
        answers: DuplexStream,
    }

    impl Played {
        fn new() -> Self {
            let (ours, requests) = tokio::io::duplex(64);
            let (answers, theirs) = tokio::io::duplex(64);
            let driver = Arc::new(Driver::new(theirs, ours));
            Self { driver, requests: BufReader::new(requests), answers }
        }

        fn asks(&self, method: &'static str) -> JoinHandle<Answer> {
            let driver = Arc::clone(&self.driver);
            tokio::spawn(async move { driver.request(method, json!({"a": "b".repeat(100)})).await })
        }

        async fn hears(&mut self) -> Request {
            let mut line = String::new();
            let heard = timeout(PATIENCE, self.requests.read_line(&mut line)).await;
            heard.expect("a request was expected").unwrap();
            Request::read(line.as_bytes()).unwrap()
        }

        async fn says(&mut self, line: &str) {
            self.answers.write_all(line.as_bytes()).await.unwrap();
        }
    }

    #[tokio::test]
    async fn answers_reach_whoever_asked_in_whatever_order_they_come() {
        let mut played = Played::new();
        let one = played.asks("one");
        let first = played.hears().await;
        let two = played.asks("two");
        let second = played.hears().await;
        assert_eq!((first.method.as_str(), second.method.as_str()), ("one", "two"));
        for request in [second, first] {
            played.says(&Response::ok(request.id, json!(request.method)).line()).await;
        }
        assert_eq!(one.await.unwrap(), Ok(Ok(json!("one"))));
        assert_eq!(two.await.unwrap(), Ok(Ok(json!("two"))));
    }

    #[tokio::test]
    async fn an_answer_that_nobody_waits_for_any_more_breaks_nothing() {
        let mut played = Played::new();
        let given_up = played.asks("one");
        let request = played.hears().await;
        given_up.abort();
        assert!(given_up.await.unwrap_err().is_cancelled());
        played.says(&Response::ok(request.id, json!({})).line()).await;
        let two = played.asks("two");
        let request = played.hears().await;
        played.says(&Response::ok(request.id, json!(2)).line()).await;
        assert_eq!(two.await.unwrap(), Ok(Ok(json!(2))));
    }

    #[rstest]
    #[case::a_log_line("INFO starting\n", "it is not JSON: expected value")]
    #[case::not_an_answer("{\"jsonrpc\":\"2.0\",\"id\":0}\n", "neither `result` nor `error`")]
    #[case::of_nobody("{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":1}\n", "what nobody asked")]
    #[case::without_id("{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":1}\n", "what nobody asked")]
    #[tokio::test]
    async fn what_is_no_answer_ends_the_conversation_and_is_shown(
        #[case] line: &str,
        #[case] part: &str,
    ) {
        let mut played = Played::new();
        let asked = played.asks("one");
        played.hears().await;
        played.says(line).await;
        let over = asked.await.unwrap().unwrap_err();
        let Over::Broken(why) = &over else { panic!("{over}") };
        assert!(why.contains(part), "{why}");
        assert_eq!(played.driver.request("two", json!({})).await, Err(over));
    }

    #[tokio::test]
    async fn a_closed_output_is_told_to_all_who_wait() {
        let mut played = Played::new();
        let asked = [played.asks("one"), played.asks("two")];
        played.hears().await;
        drop(played.answers);
        for asked in asked {
            assert_eq!(asked.await.unwrap(), Err(Over::Closed));
        }
    }

    #[tokio::test]
    async fn to_hang_up_ends_the_adapters_input() {
        let mut played = Played::new();
        played.driver.hang_up();
        let mut line = String::new();
        let read = timeout(PATIENCE, played.requests.read_line(&mut line)).await;
        assert_eq!(read.expect("its input goes on").unwrap(), 0);
    }
}
