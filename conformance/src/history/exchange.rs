//! Requests with what became of them.

use std::collections::HashMap;

use jiff::Timestamp;

use super::{Delivered, Event, FaultChanged, Request, RequestEnded, RequestSent, What};

/// A request, and what became of it.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The request.
    pub request: Request,
    /// The number of the event in which it reached the proxy.
    pub seq: u64,
    /// When that was.
    pub at: Timestamp,
    /// When it was sent on to the API server; `None` where it was not, or not yet.
    pub sent: Option<Sent>,
    /// Its end; `None` while it is open.
    pub ended: Option<Ended>,
    /// Of a watch: what it delivered, in this order.
    pub delivered: Vec<(u64, Delivered)>,
}

/// Something that happened with a fault.
#[derive(Clone, Debug)]
pub struct FaultSeen {
    /// The number of the event.
    pub seq: u64,
    /// The store's latest revision then; where the event has none, the greatest that was recorded
    /// before it, which is at most that.
    pub order: Option<u64>,
    /// What happened.
    pub changed: FaultChanged,
}

/// When a request was sent on.
#[derive(Clone, Debug)]
pub struct Sent {
    /// The number of the event.
    pub seq: u64,
    /// The store's latest revision then, of a request that was held.
    pub order: Option<u64>,
    /// What was sent, and whether it was changed.
    pub sent: RequestSent,
}

/// How a request ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The number of the event.
    pub seq: u64,
    /// When it ended.
    pub at: Timestamp,
    /// The version that the answer carries.
    pub order: Option<u64>,
    /// The greatest order that was recorded before: the end came then or later.
    pub not_before: u64,
    /// What became of it.
    pub end: RequestEnded,
}

impl Exchange {
    /// The status of the answer.
    pub fn status(&self) -> Option<u16> {
        self.ended.as_ref().and_then(|ended| ended.end.status)
    }

    /// Whether the API server applied it: it was sent, and answered with success. A dry run is
    /// never applied.
    pub fn was_applied(&self) -> bool {
        let success = self.status().is_some_and(|status| (200..300).contains(&status));
        self.sent.is_some() && success && !self.request.is_dry_run()
    }

    /// The version that the answer carries.
    pub fn answered_order(&self) -> Option<u64> {
        self.ended.as_ref().and_then(|ended| ended.order)
    }
}

/// The requests of a history.
#[derive(Clone, Debug, Default)]
pub(super) struct Exchanges {
    all: Vec<Exchange>,
    places: HashMap<u64, usize>,
}

impl Exchanges {
    /// All, in the order in which they reached the proxy.
    pub(super) fn all(&self) -> &[Exchange] {
        &self.all
    }

    pub(super) fn get(&self, request: u64) -> Option<&Exchange> {
        self.places.get(&request).and_then(|place| self.all.get(*place))
    }

    /// Takes an event that is about a request; false if it is about one that was not recorded.
    pub(super) fn take(&mut self, event: &Event, not_before: u64) -> bool {
        let (seq, at, order) = (event.seq, event.at, event.order);
        match &event.what {
            What::Request(request) => {
                self.places.insert(request.request, self.all.len());
                self.all.push(Exchange {
                    request: (**request).clone(),
                    seq,
                    at,
                    sent: None,
                    ended: None,
                    delivered: Vec::new(),
                });
                true
            }
            What::RequestSent(sent) => {
                let sent_on = Sent { seq, order, sent: (**sent).clone() };
                self.of(sent.request, |exchange| exchange.sent = Some(sent_on))
            }
            What::RequestEnded(end) => {
                let ended = Ended { seq, at, order, not_before, end: (**end).clone() };
                self.of(end.request, |exchange| exchange.ended = Some(ended))
            }
            What::Delivered(delivered) => self.of(delivered.request, |exchange| {
                exchange.delivered.push((seq, (**delivered).clone()));
            }),
            _ => true,
        }
    }

    fn of(&mut self, request: u64, change: impl FnOnce(&mut Exchange)) -> bool {
        let place = self.places.get(&request);
        let exchange = place.and_then(|place| self.all.get_mut(*place));
        exchange.map(change).is_some()
    }
}
