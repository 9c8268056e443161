//! A request on its way: from the subject, through the faults that it meets, to the API server.

use std::ops::ControlFlow;
use std::sync::Arc;

use http::request::Parts;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body as HttpBody, Bytes};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::answer::{self, Answer, Lost, Reply};
use super::arrival::{self, Arrived};
use super::delivery::Delivery;
use super::fault::{Effect, Refusal, Signal, When};
use super::headers;
use super::port::Side;
use super::refusal::Failure;
use super::summary::Summary;
use super::table::{Met, Reach};
use super::tap::TapState;
use super::upstream::Body;
use super::watching::Watching;
use crate::history::{Ending, RequestSent, What};

/// The greatest body of a request. The API server takes 3 MiB.
const BODY_BYTES: usize = 16 << 20;

/// Serves a request of a subject.
///
/// What happens to the request does so in a task of its own: it goes on when the subject gives up,
/// which drops this.
pub(super) async fn serve<B>(side: Arc<Side>, request: Request<B>) -> Result<Answer, Lost>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (head, body) = request.into_parts();
    let body = match Limited::new(body, BODY_BYTES).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => {
            let message = format!("the proxy takes bodies of up to {BODY_BYTES} bytes");
            let status = StatusCode::PAYLOAD_TOO_LARGE;
            return Ok(answer::failed(&Failure::own(status, "RequestEntityTooLarge", message)));
        }
        // The subject left before it had said what it wants.
        Err(_) => return Err(Lost),
    };
    let (reply, answer) = oneshot::channel();
    tokio::spawn(Passage::begin(side, head, body).carry(reply));
    answer.await.map_err(|_| Lost)
}

/// A tap that a request is within, and the request's number there.
pub(super) struct Party {
    pub(super) tap: Arc<TapState>,
    pub(super) number: u64,
}

impl Party {
    /// Logs the end of the request.
    pub(super) fn ended(&self, ending: Ending, summary: &Summary) {
        let ended = summary.ended(self.number, ending);
        self.tap.note(summary.order(), What::RequestEnded(Box::new(ended)));
    }
}

impl Drop for Party {
    fn drop(&mut self) {
        self.tap.closed(self.number);
    }
}

/// A request on its way.
struct Passage {
    side: Arc<Side>,
    head: Parts,
    body: Bytes,
    arrived: Arrived,
    parties: Vec<Party>,
}

/// What the faults before the API server came to.
#[derive(Default)]
struct Way {
    /// Whether it was held, so that it comes later than its order of arrival says.
    held: bool,
    /// The body that a fault made of it, as it is logged.
    changed_body: Option<Value>,
    /// The faults that it meets when it is answered, each with the party.
    after: Vec<(usize, Met)>,
}

/// The request goes no further.
enum Stopped {
    Answered(Failure),
    Lost,
}

impl Passage {
    fn begin(side: Arc<Side>, head: Parts, body: Bytes) -> Self {
        let taps = side.taps.all();
        // Nobody looks at the body where there is no tap.
        let looked_at = if taps.is_empty() { &[] } else { body.as_ref() };
        let mut arrived = arrival::read(side.subject, &head, looked_at);
        let is_within = |tap: &Arc<TapState>| {
            tap.scope.reach(&arrived.request, arrived.is_resource) == Some(Reach::Whole)
        };
        let within: Vec<_> = taps.into_iter().filter(is_within).collect();
        let mut parties = Vec::with_capacity(within.len());
        for tap in within {
            let number = tap.number();
            arrived.request.request = number;
            tap.note(None, What::Request(Box::new(arrived.request.clone())));
            parties.push(Party { tap, number });
        }
        Self { side, head, body, arrived, parties }
    }

    /// Carries the request to its end.
    async fn carry(mut self, reply: Reply) {
        let mut way = Way::default();
        match self.before(&mut way).await {
            ControlFlow::Continue(()) => {}
            ControlFlow::Break(Stopped::Lost) => {
                return self.ended(Ending::RequestLost, &Summary::default());
            }
            ControlFlow::Break(Stopped::Answered(failure)) => {
                self.ended(Ending::AnsweredInstead, &of(&failure));
                let _ = reply.send(answer::failed(&failure));
                return;
            }
        }
        match self.send(&way).await {
            Ok(response) => self.answered(response, way.after, reply).await,
            Err(why) => {
                tracing::warn!(subject = %self.side.subject, why, "no answer of the API server");
                let message = format!("the API server behind the proxy gave no answer: {why}");
                let failure = Failure::own(StatusCode::BAD_GATEWAY, "BadGateway", message);
                self.ended(Ending::Unreachable, &of(&failure));
                let _ = reply.send(answer::failed(&failure));
            }
        }
    }

    /// Everything that happens to the request before it is sent on.
    async fn before(&mut self, way: &mut Way) -> ControlFlow<Stopped> {
        if headers::leaves_http(&self.head.method, &self.head.headers) {
            let (subject, path) = (self.side.subject, self.head.uri.path());
            tracing::warn!(%subject, path, "the proxy does not do upgrades of connections");
            let message = "the proxy passes on HTTP only: no WebSocket, exec, attach, port-forward";
            let status = StatusCode::NOT_IMPLEMENTED;
            let failure = Failure::own(status, "NotImplemented", message.to_owned());
            return ControlFlow::Break(Stopped::Answered(failure));
        }
        for at in 0..self.parties.len() {
            let Party { tap, number } = &self.parties[at];
            self.arrived.request.request = *number;
            let (met, waited) = tap.arrive(&self.arrived.request, &self.arrived.asks).await;
            way.held |= waited;
            for met in met {
                self.meet(at, met, way).await?;
            }
        }
        ControlFlow::Continue(())
    }

    /// The request meets a fault.
    async fn meet(&mut self, at: usize, met: Met, way: &mut Way) -> ControlFlow<Stopped> {
        let Party { tap, number } = &self.parties[at];
        if matches!(met.effect, Effect::LoseAnswer | Effect::Signal(_, When::After)) {
            way.after.push((at, met));
            return ControlFlow::Continue(());
        }
        let order = tap.latest().await;
        if !tap.holds(met.fault) {
            return ControlFlow::Continue(());
        }
        if let Effect::Signal(signal, _) = met.effect
            && !self.side.signal(signal).await
        {
            return unable("it knows no process to signal");
        }
        tap.met(order, &met, *number);
        match &met.effect {
            Effect::Hold | Effect::Stall | Effect::Signal(Signal::Freeze, _) => {
                tap.released(met.fault).await;
                way.held = true;
            }
            Effect::Delay(delay) => {
                // Whether it was released or the time was over is the same from here on.
                let _ = timeout(*delay, tap.released(met.fault)).await;
                way.held = true;
            }
            Effect::LoseRequest | Effect::Signal(Signal::Kill, _) => {
                return ControlFlow::Break(Stopped::Lost);
            }
            Effect::Change(patch) => return self.change(&patch.clone(), way),
            // What is drawn for a request was drawn before it came here.
            Effect::DelayAtRandom(_)
            | Effect::Answer(_)
            | Effect::Watch(_)
            | Effect::LoseAnswer => {}
        }
        match met.effect.refusal() {
            Some(refusal) => self.refuse(refusal),
            None => ControlFlow::Continue(()),
        }
    }

    fn refuse(&self, refusal: Refusal) -> ControlFlow<Stopped> {
        ControlFlow::Break(Stopped::Answered(Failure::of(refusal, &self.arrived.request)))
    }

    /// Changes the body, if it is an object or a part of one.
    fn change(&mut self, patch: &Value, way: &mut Way) -> ControlFlow<Stopped> {
        let Some(document) = self.arrived.document.as_mut().filter(|it| it.is_object()) else {
            return unable("it can change objects in JSON or YAML only");
        };
        json_patch::merge(document, patch);
        self.body = Bytes::from(document.to_string());
        way.changed_body = arrival::logged(self.arrived.kind, document);
        ControlFlow::Continue(())
    }

    /// Sends the request on.
    async fn send(&mut self, way: &Way) -> Result<Response<Body>, String> {
        headers::to_upstream(&mut self.head.headers);
        let mut request = Request::new(std::mem::take(&mut self.body));
        request.method_mut().clone_from(&self.head.method);
        request.uri_mut().clone_from(&self.head.uri);
        *request.headers_mut() = std::mem::take(&mut self.head.headers);
        for party in &self.parties {
            let order = if way.held { party.tap.latest().await } else { None };
            let changed_body = way.changed_body.clone();
            let sent = RequestSent { request: party.number, changed_body };
            party.tap.note(order, What::RequestSent(Box::new(sent)));
        }
        self.side.pool.send(request).await
    }

    /// The API server answered.
    async fn answered(self, response: Response<Body>, after: Vec<(usize, Met)>, reply: Reply) {
        let is_watch = self.arrived.request.verb == "watch" && response.status() == StatusCode::OK;
        // A log that is followed ends when its container does.
        let is_log = self.arrived.request.subresource.as_deref() == Some("log");
        let mut delivery = Delivery::of(response);
        if !after.is_empty() && !is_watch && !is_log {
            // Answered is what was answered to the end.
            delivery.read_all().await;
        }
        let is_refused = !after.is_empty() && is_conflict(&delivery.summary());
        let after = if is_refused { self.missed(after) } else { after };
        if self.is_lost_after(after).await {
            return self.ended(Ending::AnswerLost, &delivery.summary());
        }
        if is_watch {
            let Self { side, arrived, parties, .. } = self;
            Watching::new(side, arrived, parties).run(delivery.into_response(), reply).await;
        } else if is_log {
            delivery.stream(&self.parties, reply).await;
        } else {
            delivery.deliver(&self.parties, reply).await;
        }
    }

    /// A write that came too late changed nothing, and its answer is not the one that the faults wait
    /// for.
    fn missed(&self, after: Vec<(usize, Met)>) -> Vec<(usize, Met)> {
        for (at, met) in after {
            self.parties[at].tap.missed(met.fault, &self.arrived.request, &self.arrived.asks);
        }
        Vec::new()
    }

    /// The faults of the answer; true if the subject is not to get it.
    async fn is_lost_after(&self, after: Vec<(usize, Met)>) -> bool {
        for (at, met) in after {
            let Party { tap, number } = &self.parties[at];
            let order = tap.latest().await;
            let signaled = match met.effect {
                _ if !tap.holds(met.fault) => continue,
                Effect::Signal(signal, _) => self.side.signal(signal).await,
                _ => true,
            };
            if signaled {
                tap.met(order, &met, *number);
            }
            if signaled && met.effect != Effect::Signal(Signal::Freeze, When::After) {
                return true;
            }
        }
        false
    }

    fn ended(&self, ending: Ending, summary: &Summary) {
        for party in &self.parties {
            party.ended(ending, summary);
        }
    }
}

/// Whether a write was refused because the object is another version by now.
fn is_conflict(answer: &Summary) -> bool {
    answer.refusal_reason() == Some("Conflict")
}

fn of(failure: &Failure) -> Summary {
    Summary::refused(failure.status.as_u16(), failure.refused.clone())
}

/// A fault asks for what the proxy cannot do: loudly, so that whoever placed it learns of it.
fn unable(why: &str) -> ControlFlow<Stopped> {
    tracing::error!(why, "the proxy cannot do what a fault asks for");
    let message = format!("the proxy cannot do what a fault asks for: {why}");
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    ControlFlow::Break(Stopped::Answered(Failure::own(status, "InternalError", message)))
}
