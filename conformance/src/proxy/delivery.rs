//! An answer of the API server on its way to the subject; watches apart.

use http::Response;
use http::response::Parts;
use http_body_util::BodyExt;
use hyper::body::Bytes;

use super::answer::{self, Lost, Reply};
use super::passage::Party;
use super::summary::Summary;
use super::upstream::Body;
use crate::history::Ending;

/// Up to this many bytes an answer is given in one piece.
const AT_ONCE: usize = 256 * 1024;

/// The greatest answer that is read for what is logged of it, in bytes.
const READ_BYTES: usize = 64 << 20;

/// An answer on its way.
pub(super) struct Delivery {
    head: Parts,
    body: Body,
    /// What came of the body.
    come: Vec<Bytes>,
    bytes: usize,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Comes,
    Whole,
    BrokenOff,
}

impl Delivery {
    pub(super) fn of(response: Response<Body>) -> Self {
        let (head, body) = response.into_parts();
        Self { head, body, come: Vec::new(), bytes: 0, state: State::Comes }
    }

    /// The answer, if nothing of it was read.
    pub(super) fn into_response(self) -> Response<Body> {
        Response::from_parts(self.head, self.body)
    }

    /// Reads the answer to its end.
    pub(super) async fn read_all(&mut self) {
        while self.state == State::Comes {
            self.next().await;
        }
    }

    /// What is logged of it, as far as it was read.
    pub(super) fn summary(&self) -> Summary {
        let status = self.head.status.as_u16();
        match (self.state, self.come.as_slice()) {
            (State::Whole, [body]) => Summary::of(status, body),
            (State::Whole, body) if self.bytes <= READ_BYTES => Summary::of(status, &body.concat()),
            _ => Summary::of_status(status),
        }
    }

    /// Gives the answer to the subject; the end is logged before the subject has all of it, so that
    /// what it does next comes later in the log.
    pub(super) async fn deliver(mut self, parties: &[Party], reply: Reply) {
        while self.state == State::Comes && self.bytes <= AT_ONCE {
            self.next().await;
        }
        match self.state {
            State::Whole => {
                self.log(parties, reply.is_closed());
                let body = match self.come.as_slice() {
                    [body] => body.clone(),
                    body => Bytes::from(body.concat()),
                };
                let _ = reply.send(answer::whole(self.head, body));
            }
            State::BrokenOff => self.log(parties, false),
            State::Comes => self.give_pieces(parties, reply).await,
        }
    }

    /// Gives the answer to the subject as it comes, without a look at it.
    pub(super) async fn stream(mut self, parties: &[Party], reply: Reply) {
        let (answer, pieces) = answer::streamed(self.head.clone());
        let _ = reply.send(answer);
        while self.state == State::Comes {
            let piece = tokio::select! {
                () = pieces.closed() => return self.log(parties, true),
                piece = self.next() => piece,
            };
            self.come.clear();
            if let Some(piece) = piece {
                let _ = pieces.send(Ok(piece)).await;
            }
        }
        if self.state == State::BrokenOff {
            let _ = pieces.send(Err(Lost)).await;
        }
        self.log(parties, false);
    }

    /// The last piece is kept back until it is known to be the last.
    async fn give_pieces(mut self, parties: &[Party], reply: Reply) {
        let (answer, pieces) = answer::streamed(self.head.clone());
        let mut is_gone = reply.send(answer).is_err();
        let mut given = 0;
        while self.state == State::Comes {
            while given + 1 < self.come.len() {
                is_gone = is_gone || pieces.send(Ok(self.come[given].clone())).await.is_err();
                given += 1;
            }
            self.next().await;
        }
        self.log(parties, is_gone);
        for piece in self.come.drain(given..) {
            let _ = pieces.send(Ok(piece)).await;
        }
        if self.state == State::BrokenOff {
            let _ = pieces.send(Err(Lost)).await;
        }
    }

    /// The next piece of the body.
    async fn next(&mut self) -> Option<Bytes> {
        match self.body.frame().await {
            None => self.state = State::Whole,
            Some(Err(error)) => {
                tracing::warn!(%error, "the API server broke an answer off");
                self.state = State::BrokenOff;
            }
            Some(Ok(frame)) => {
                let piece = frame.into_data().ok().filter(|piece| !piece.is_empty())?;
                self.bytes += piece.len();
                self.come.push(piece.clone());
                return Some(piece);
            }
        }
        None
    }

    fn log(&self, parties: &[Party], is_given_up: bool) {
        let ending = match self.state {
            State::BrokenOff => Ending::Unreachable,
            _ if is_given_up => Ending::GivenUp,
            _ => Ending::Answered,
        };
        if !parties.is_empty() {
            let summary = self.summary();
            for party in parties {
                party.ended(ending, &summary);
            }
        }
    }
}
