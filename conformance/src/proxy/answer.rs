//! What a subject is given for a request, and how it is handed over.

use http::Response;
use http::response::Parts;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};

use super::headers;
use super::refusal::Failure;

/// The subject gets no answer, or not all of it: its connection is cut, with HTTP/2 its stream.
#[derive(Debug, Error)]
#[error("the connection is cut in the middle of a request")]
pub struct Lost;

/// What a subject is given.
pub type Answer = Response<UnsyncBoxBody<Bytes, Lost>>;

/// Where to give it; once. Dropped without, the connection is cut.
pub(super) type Reply = oneshot::Sender<Answer>;

/// The body of an answer that is given piece by piece.
pub(super) type Pieces = mpsc::Sender<Result<Bytes, Lost>>;

/// How many pieces may be ready before the subject took the first.
const READY: usize = 16;

/// An answer whose body is all there.
pub(super) fn whole(mut head: Parts, body: Bytes) -> Answer {
    headers::to_subject(&mut head.headers);
    Response::from_parts(head, Full::new(body).map_err(|never| match never {}).boxed_unsync())
}

/// An answer whose body is to be given piece by piece, until the sender is dropped.
pub(super) fn streamed(mut head: Parts) -> (Answer, Pieces) {
    headers::to_subject(&mut head.headers);
    let (pieces, mut given) = mpsc::channel::<Result<Bytes, Lost>>(READY);
    let stream = futures::stream::poll_fn(move |context| given.poll_recv(context));
    let frames = futures::StreamExt::map(stream, |piece| piece.map(Frame::data));
    (Response::from_parts(head, StreamBody::new(frames).boxed_unsync()), pieces)
}

/// An error of the proxy.
pub(super) fn failed(failure: &Failure) -> Answer {
    let (head, body) = failure.response().into_parts();
    whole(head, body)
}
