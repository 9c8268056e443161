//! Subjects in this process, for a cluster that is in this process too.
//!
//! A killed process and a stalled one look alike to the API server: nothing more comes of it. So a
//! subject in this process is killed by a [`Gate`] that never opens again, and frozen by one that is
//! closed for a while: what it asks for waits there, and what it is told.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use dispatch_contract::{Clock, Entropy};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use http::header::{AUTHORIZATION, HeaderValue};
use http_body::{Body, Frame};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, BodyStream, StreamBody};
use kube::Client;
use tower::Service;

use crate::bell::Bell;
use crate::history::Subject;
use crate::proxy::{Lost, PortService};

/// What subjects in this process run by.
#[derive(Clone)]
pub struct Surroundings {
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Where their tokens come from.
    pub entropy: Arc<dyn Entropy>,
}

/// How subjects in this process reach the API server.
#[derive(Clone)]
pub struct Ways {
    /// What they run by.
    pub surroundings: Surroundings,
    /// The namespace that their clients are in.
    pub namespace: String,
    /// The way of each, with its token.
    pub of: BTreeMap<Subject, (PortService, String)>,
}

impl std::fmt::Debug for Ways {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ways").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

impl Ways {
    /// A client of a subject, behind its gate.
    pub(super) fn client(&self, subject: Subject, gate: &Gate) -> Option<Client> {
        let (port, token) = self.of.get(&subject)?;
        let authorization = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
        let gated = Gated { port: port.clone(), gate: gate.clone(), authorization };
        Some(Client::new(gated, self.namespace.clone()))
    }
}

/// Whether anything gets through to a subject, and from it.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    state: Arc<Mutex<State>>,
    changes: Bell,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Closed,
    Gone,
}

impl Gate {
    pub(super) fn new() -> Self {
        Self { state: Arc::new(Mutex::new(State::Open)), changes: Bell::default() }
    }

    /// Lets nothing through until it is opened.
    pub(super) fn close(&self) {
        self.set(State::Closed);
    }

    /// Lets everything through.
    pub(super) fn open(&self) {
        self.set(State::Open);
    }

    /// Never lets anything through again.
    pub(super) fn end(&self) {
        self.set(State::Gone);
    }

    fn set(&self, state: State) {
        let mut now = self.lock();
        if *now != State::Gone {
            *now = state;
        }
        drop(now);
        self.changes.ring();
    }

    /// Returns when something can get through.
    async fn passed(&self) {
        self.until(State::Open).await;
    }

    /// Returns when the subject is gone.
    pub(super) async fn ended(&self) {
        self.until(State::Gone).await;
    }

    async fn until(&self, state: State) {
        let mut changes = self.changes.listen();
        while *self.lock() != state {
            changes.rung().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a subject in this process ended.
pub(super) fn status(ended: How) -> ExitStatus {
    match ended {
        How::Killed => ExitStatus::from_raw(9),
        How::Well => ExitStatus::from_raw(0),
        How::Badly => ExitStatus::from_raw(1 << 8),
        How::Panicked => ExitStatus::from_raw(101 << 8),
    }
}

/// How a subject in this process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Killed,
    Well,
    Badly,
    Panicked,
}

/// A subject's way to the API server, through its gate.
#[derive(Clone)]
struct Gated {
    port: PortService,
    gate: Gate,
    authorization: HeaderValue,
}

type GatedBody = UnsyncBoxBody<Bytes, Lost>;

impl<B> Service<http::Request<B>> for Gated
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = http::Response<GatedBody>;
    type Error = Lost;
    type Future = BoxFuture<'static, Result<Self::Response, Lost>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: http::Request<B>) -> Self::Future {
        let Self { mut port, gate, authorization } = self.clone();
        request.headers_mut().insert(AUTHORIZATION, authorization);
        async move {
            gate.passed().await;
            let answer = port.call(request).await;
            gate.passed().await;
            Ok(answer?.map(|body| behind(gate, body)))
        }
        .boxed()
    }
}

/// A body of which nothing comes while the gate is closed.
fn behind(gate: Gate, body: UnsyncBoxBody<Bytes, Lost>) -> GatedBody {
    let frames = stream::unfold((gate, BodyStream::new(body)), |(gate, mut body)| async move {
        let frame: Result<Frame<Bytes>, Lost> = body.next().await?;
        gate.passed().await;
        Some((frame, (gate, body)))
    });
    StreamBody::new(frames.boxed()).boxed_unsync()
}

#[cfg(test)]
mod tests {
    use futures::poll;

    use super::*;

    #[tokio::test]
    async fn nothing_passes_a_closed_gate_until_it_is_opened() {
        let gate = Gate::new();
        gate.close();
        let mut passed = Box::pin(gate.passed());
        assert!(poll!(&mut passed).is_pending());
        gate.open();
        assert!(poll!(&mut passed).is_ready());
    }

    #[tokio::test]
    async fn a_gate_that_has_ended_never_opens_again() {
        let gate = Gate::new();
        gate.end();
        gate.open();
        assert!(poll!(&mut Box::pin(gate.passed())).is_pending());
        assert!(poll!(&mut Box::pin(gate.ended())).is_ready());
    }
}
