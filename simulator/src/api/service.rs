//! The server as an HTTP service.

use std::convert::Infallible;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use futures::future::BoxFuture;
use futures::{Stream, StreamExt};
use http::header::{CONTENT_TYPE, HeaderValue};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use serde_json::Value;

use super::access::{self, Attributes};
use super::failure::Failure;
use super::request::{Request, Verb};
use super::route::{self, Asked, Options};
use super::server::{Server, State};
use super::user::{Caller, User};
use super::{reading, reviews};
use crate::component::ResponseBody;

/// The server as an HTTP service, for requests of one user. Clones are the same.
#[derive(Clone)]
pub struct ApiService {
    server: Server,
    user: User,
}

impl ApiService {
    pub(super) fn new(server: Server, user: User) -> Self {
        Self { server, user }
    }
}

impl<B> tower::Service<http::Request<B>> for ApiService
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: std::fmt::Display,
{
    type Response = http::Response<ResponseBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let Self { server, user } = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let answered = match body.collect().await {
                Ok(body) => {
                    answer(&server, user, http::Request::from_parts(parts, body.to_bytes()))
                }
                Err(error) => refused(&Failure::new(400, "BadRequest", error.to_string())),
            };
            Ok(answered)
        })
    }
}

/// What is answered.
pub(super) enum Answer {
    /// A document, and the HTTP status.
    Json(u16, Bytes),
    /// The lines of a watch.
    Lines(futures::stream::BoxStream<'static, Bytes>),
}

impl Answer {
    pub(super) fn of(code: u16, value: &Value) -> Self {
        Self::Json(code, Bytes::from(value.to_string()))
    }
}

/// Answers a request.
pub(super) fn answer(
    server: &Server,
    user: User,
    request: http::Request<Bytes>,
) -> http::Response<ResponseBody> {
    let (parts, body) = request.into_parts();
    let asked = || -> Result<Answer, Failure> {
        let mut state = server.lock();
        let now = state.now();
        state.store.pass(now);
        let caller = user.caller(&parts.headers, &state.store, now)?;
        let asked = route::read(&parts, &body)?;
        match asked {
            Asked::Document(document) => Ok(Answer::of(200, &document)),
            Asked::Review(kind, body) => {
                let answer = reviews::answer(&state.store, &caller, kind, body)?;
                Ok(Answer::of(201, &answer))
            }
            Asked::Objects(request, options) => {
                access::check(&state.store, &caller, &attributes(&request))?;
                state.objects(*request, options, &caller)
            }
        }
    };
    match asked() {
        Ok(Answer::Json(code, bytes)) => json(code, bytes),
        Ok(Answer::Lines(lines)) => response(200, lines_body(lines)),
        Err(failure) => refused(&failure),
    }
}

impl State {
    /// Answers a request for objects.
    fn objects(
        &mut self,
        request: Request,
        options: Options,
        caller: &Caller,
    ) -> Result<Answer, Failure> {
        let (code, document) = match &request.verb {
            Verb::List(list) => return self.list(&request, list, options),
            Verb::Watch { .. } => return self.watch(&request, options),
            Verb::Get => (200, self.get(&request)?),
            _ => self.write(request, caller)?,
        };
        if options.metadata_only {
            return Ok(Answer::of(code, &reading::metadata_only(document.value())));
        }
        Ok(Answer::Json(code, document.json()))
    }
}

fn attributes(request: &Request) -> Attributes<'_> {
    let verb = match &request.verb {
        Verb::Get => "get",
        Verb::List(_) => "list",
        Verb::Watch { .. } => "watch",
        Verb::Create(..) => "create",
        Verb::Update(..) => "update",
        Verb::MergePatch(..) | Verb::JsonPatch(..) | Verb::StrategicPatch(..) | Verb::Apply(..) => {
            "patch"
        }
        Verb::Delete(_) => "delete",
        Verb::DeleteCollection(..) => "deletecollection",
    };
    // A collection of the one object of a name needs the right to that one only: Kubernetes
    // `staging/src/k8s.io/apiserver/pkg/endpoints/request/requestinfo.go`.
    let selected = match &request.verb {
        Verb::List(list) | Verb::Watch { list, .. } | Verb::DeleteCollection(list, _) => {
            list.fields.strip_prefix("metadata.name=").filter(|name| !name.contains(','))
        }
        _ => None,
    };
    Attributes {
        verb,
        group: request.resource.group,
        resource: request.resource.plural,
        subresource: request.subresource.as_deref().unwrap_or_default(),
        namespace: request.namespace.as_deref().unwrap_or_default(),
        name: request.name.as_deref().or(selected).unwrap_or_default(),
    }
}

fn refused(failure: &Failure) -> http::Response<ResponseBody> {
    json(failure.code, Bytes::from(failure.status().to_string()))
}

fn json(code: u16, bytes: Bytes) -> http::Response<ResponseBody> {
    response(code, UnsyncBoxBody::new(Full::new(bytes).map_err(|never| match never {})))
}

fn lines_body(lines: impl Stream<Item = Bytes> + Send + 'static) -> ResponseBody {
    UnsyncBoxBody::new(StreamBody::new(lines.map(|line| Ok(Frame::data(line)))))
}

fn response(code: u16, body: ResponseBody) -> http::Response<ResponseBody> {
    let mut response = http::Response::new(body);
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or_default();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A list of documents, with what stands around them.
pub(super) fn joined(head: &str, items: &[Bytes], tail: &str) -> Bytes {
    let length: usize = items.iter().map(|it| it.len() + 1).sum();
    let mut out = BytesMut::with_capacity(head.len() + length + tail.len());
    out.extend_from_slice(head.as_bytes());
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.extend_from_slice(b",");
        }
        out.extend_from_slice(item);
    }
    out.extend_from_slice(tail.as_bytes());
    out.freeze()
}
