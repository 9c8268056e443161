//! A component's way to the API.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{StreamExt, stream};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use serde_json::Value;

use super::Component;
use crate::api::{Failure, Request, Server};
use crate::object::Object;
use crate::resource::Resource;

/// The body of an answer.
pub type ResponseBody = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// How requests get to the API over HTTP: in process, whatever stands between.
pub type SendRequest =
    dyn Fn(http::Request<Bytes>) -> BoxFuture<'static, http::Response<ResponseBody>> + Send + Sync;

/// A component's way to the API.
#[derive(Clone)]
pub struct Transport(Way);

#[derive(Clone)]
enum Way {
    /// Over HTTP, as whoever stands between wants to have it.
    Http { user_agent: &'static str, send: Arc<SendRequest> },
    /// Nobody stands between: objects need not be written as JSON and read again.
    Direct(Server, Component),
}

impl Transport {
    /// Over HTTP, for a component of this name.
    pub fn new(user_agent: &'static str, send: Arc<SendRequest>) -> Self {
        Self(Way::Http { user_agent, send })
    }

    /// Straight to the server.
    pub(crate) fn direct(server: Server, component: Component) -> Self {
        Self(Way::Direct(server, component))
    }

    /// Sends a request.
    pub async fn request(&self, request: &Request) -> Result<Arc<Object>, Failure> {
        match &self.0 {
            Way::Http { user_agent, send } => {
                answer(user_agent, &**send, request.to_http()).await.map(Arc::new)
            }
            Way::Direct(server, component) => server.execute(*component, request.clone()),
        }
    }

    /// All objects of a kind, and the version to watch from.
    pub(super) async fn list(
        &self,
        resource: &'static Resource,
    ) -> Result<(String, Vec<Arc<Object>>), Failure> {
        match &self.0 {
            Way::Http { user_agent, send } => {
                let mut list = answer(user_agent, &**send, get(&path(resource))).await?;
                let version = crate::object::resource_version(&list).to_owned();
                let items = match list["items"].take() {
                    Value::Array(items) => items.into_iter().map(Arc::new).collect(),
                    _ => Vec::new(),
                };
                Ok((version, items))
            }
            Way::Direct(server, _) => {
                let (revision, items) = server.everything(resource);
                Ok((revision.to_string(), items))
            }
        }
    }

    /// What becomes of the objects of a kind after this version: each object, and whether it is gone.
    /// An error is a watch that cannot go on from where it was.
    pub(super) async fn watch(
        &self,
        resource: &'static Resource,
        version: &str,
    ) -> Result<BoxStream<'static, Result<Told, Failure>>, Failure> {
        match &self.0 {
            Way::Http { user_agent, send } => {
                let path = format!(
                    "{}?watch=true&allowWatchBookmarks=true&resourceVersion={version}",
                    path(resource)
                );
                let response = send(signed(user_agent, get(&path))).await;
                if !response.status().is_success() {
                    let code = response.status().as_u16();
                    return Err(Failure::new(code, "Unknown", "the watch was refused"));
                }
                Ok(events(response.into_body()).boxed())
            }
            Way::Direct(server, _) => {
                let after = version.parse().unwrap_or_default();
                let changes = server.changes(resource, after)?;
                let told =
                    |(object, gone)| Ok(if gone { Told::Gone(object) } else { Told::Put(object) });
                Ok(changes.map(told).boxed())
            }
        }
    }
}

/// What a watch tells.
pub(super) enum Told {
    /// An object was made or changed.
    Put(Arc<Object>),
    /// An object is gone.
    Gone(Arc<Object>),
    /// All up to this version was told.
    Bookmark(String),
}

/// The events of a watch. What cannot be read ends it, as does a cut connection.
fn events(body: ResponseBody) -> impl futures::Stream<Item = Result<Told, Failure>> + Send {
    stream::unfold((body, BytesMut::new()), |(mut body, mut rest)| async move {
        loop {
            if let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let told = read(&rest.split_to(end + 1));
                return Some((told, (body, rest)));
            }
            let data = body.frame().await?.ok()?.into_data().ok()?;
            rest.extend_from_slice(&data);
        }
    })
}

fn read(line: &[u8]) -> Result<Told, Failure> {
    let unreadable = || Failure::new(0, "Unknown", "a line of a watch cannot be read");
    let mut event: Value = serde_json::from_slice(line).map_err(|_| unreadable())?;
    let object = event["object"].take();
    match event["type"].as_str() {
        Some("ADDED" | "MODIFIED") => Ok(Told::Put(Arc::new(object))),
        Some("DELETED") => Ok(Told::Gone(Arc::new(object))),
        Some("BOOKMARK") => Ok(Told::Bookmark(crate::object::resource_version(&object).to_owned())),
        // It has expired, or it is none that is known.
        _ => Err(Failure::new(410, "Expired", "the watch cannot go on")),
    }
}

async fn answer(
    user_agent: &'static str,
    send: &SendRequest,
    request: http::Request<Bytes>,
) -> Result<Value, Failure> {
    let response = send(signed(user_agent, request)).await;
    let status = response.status();
    let body = response.into_body().collect().await;
    let body = body.map_err(|_| Failure::new(0, "Unknown", "the answer was lost"))?.to_bytes();
    let value: Value = serde_json::from_slice(&body).unwrap_or_default();
    if status.is_success() {
        return Ok(value);
    }
    let message = value["message"].as_str().unwrap_or_default().to_owned();
    let reason = match value["reason"].as_str() {
        Some("Conflict") => "Conflict",
        Some("AlreadyExists") => "AlreadyExists",
        Some("NotFound") => "NotFound",
        Some("Invalid") => "Invalid",
        Some("Forbidden") => "Forbidden",
        _ => "Unknown",
    };
    Err(Failure { code: status.as_u16(), reason, message, details: value["details"].clone() })
}

fn signed(user_agent: &'static str, mut request: http::Request<Bytes>) -> http::Request<Bytes> {
    let agent = http::HeaderValue::from_static(user_agent);
    request.headers_mut().insert(http::header::USER_AGENT, agent);
    request
}

fn get(path: &str) -> http::Request<Bytes> {
    let mut request = http::Request::new(Bytes::new());
    // Paths are made of names of kinds, which are valid.
    *request.uri_mut() = path.parse().unwrap_or_default();
    request
}

fn path(resource: &Resource) -> String {
    let api = if resource.group.is_empty() { "api" } else { "apis" };
    format!("/{api}/{}/{}", resource.api_version(), resource.plural)
}
