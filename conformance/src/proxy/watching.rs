//! A watch that is open.

use std::sync::Arc;

use http::Response;
use http_body_util::BodyExt;

use super::answer::{self, Lost, Pieces, Reply};
use super::arrival::Arrived;
use super::fault::WatchFault;
use super::lines::{Lines, Passed, Silence, WatchEvent};
use super::passage::Party;
use super::port::Side;
use super::refusal::expired_event;
use super::summary::Summary;
use super::table::Reach;
use super::tap::{Scope, TapState};
use super::upstream::Body;
use crate::history::{Delivered, Ending, Request, RequestSent, What};

/// A watch that is open.
pub(super) struct Watching {
    side: Arc<Side>,
    request: Request,
    /// Whether it is a watch of a kind that is recorded.
    is_recorded: bool,
    watchers: Vec<Watcher>,
    /// The number of the list of taps that these are of.
    list: Option<u64>,
    lines: Lines,
}

/// A tap that sees the watch, or a part of it.
struct Watcher {
    party: Party,
    reach: Reach,
}

/// What all taps ask for.
#[derive(Default)]
struct Orders {
    silence: Silence,
    end: Option<WatchFault>,
}

impl Watching {
    pub(super) fn new(side: Arc<Side>, arrived: Arrived, parties: Vec<Party>) -> Self {
        let whole = |party| Watcher { party, reach: Reach::Whole };
        Self {
            side,
            is_recorded: arrived.kind.is_some(),
            request: arrived.request,
            watchers: parties.into_iter().map(whole).collect(),
            list: None,
            lines: Lines::default(),
        }
    }

    /// Passes the watch on until it ends, whoever ends it.
    pub(super) async fn run(mut self, response: Response<Body>, reply: Reply) {
        let (head, body) = response.into_parts();
        let summary = Summary::of_status(head.status.as_u16());
        let (answer, pieces) = answer::streamed(head);
        let ending = match reply.send(answer) {
            Ok(()) => self.pass_on(body, &pieces).await,
            Err(_) => Ending::GivenUp,
        };
        for Watcher { party, .. } in &self.watchers {
            party.ended(ending, &summary);
        }
        if ending == Ending::Unreachable {
            let _ = pieces.send(Err(Lost)).await;
        }
    }

    async fn pass_on(&mut self, mut body: Body, pieces: &Pieces) -> Ending {
        let mut changes = self.side.taps.changes();
        let mut over = None;
        loop {
            changes.catch_up();
            let list = self.side.taps.number();
            let Orders { silence, end } = self.orders(list);
            let passed = self.lines.free(&silence);
            if self.give(passed, pieces).await.is_err() {
                return Ending::GivenUp;
            }
            if let Some(end) = end.filter(|_| self.lines.is_between()) {
                self.end(end, pieces).await;
                return Ending::Cut;
            }
            if let Some(ending) = over.filter(|_| !silence.whole) {
                // The rest of one namespace's silence cannot outlast the watch, which is others' too.
                let rest = self.lines.free(&Silence::default());
                let _ = self.give(rest, pieces).await;
                return ending;
            }
            tokio::select! {
                biased;
                () = pieces.closed() => return Ending::GivenUp,
                () = changes.rung() => {}
                frame = body.frame(), if over.is_none() => match frame {
                    None => over = Some(Ending::Answered),
                    Some(Err(_)) => over = Some(Ending::Unreachable),
                    Some(Ok(frame)) => if let Ok(data) = frame.into_data() {
                        let list = self.side.taps.number();
                        let Orders { silence, .. } = self.orders(list);
                        let passed = self.lines.take(data, &silence);
                        if self.give(passed, pieces).await.is_err() {
                            return Ending::GivenUp;
                        }
                    }
                },
            }
        }
    }

    /// What is to be done now; of the taps of this list.
    fn orders(&mut self, list: u64) -> Orders {
        if self.list.replace(list) != Some(list) {
            self.find_taps();
        }
        let mut all = Orders::default();
        for Watcher { party, reach } in &self.watchers {
            let orders = party.tap.orders(party.number);
            all.end = all.end.or(orders.end);
            match (&party.tap.scope, reach) {
                _ if !orders.silent => {}
                (Scope::Namespace(namespace), Reach::Part) => {
                    all.silence.namespaces.push(namespace.clone());
                }
                _ => all.silence.whole = true,
            }
        }
        all
    }

    /// Taps that were made after the watch was opened see it from now on.
    fn find_taps(&mut self) {
        self.watchers.retain(|watcher| !watcher.party.tap.is_over());
        for tap in self.side.taps.all() {
            let is_known = |it: &Watcher| Arc::ptr_eq(&it.party.tap, &tap);
            if self.watchers.iter().any(is_known) {
                continue;
            }
            if let Some(reach) = tap.scope.reach(&self.request, true) {
                let number = self.tell(&tap);
                tap.found(Request { request: number, ..self.request.clone() }, reach);
                self.watchers.push(Watcher { party: Party { tap, number }, reach });
            }
        }
    }

    /// Tells a tap of the watch; gives its number there.
    fn tell(&self, tap: &TapState) -> u64 {
        let request = tap.number();
        let told = Request { request, ..self.request.clone() };
        tap.note(None, What::Request(Box::new(told)));
        let sent = RequestSent { request, changed_body: None };
        tap.note(None, What::RequestSent(Box::new(sent)));
        request
    }

    /// Gives the subject what is passed on; what it is told is logged before.
    async fn give(&self, passed: Passed, pieces: &Pieces) -> Result<(), Lost> {
        passed.events.iter().for_each(|event| self.log(event));
        for bytes in passed.bytes {
            pieces.send(Ok(bytes)).await.map_err(|_| Lost)?;
        }
        Ok(())
    }

    /// Ends the watch.
    async fn end(&self, how: WatchFault, pieces: &Pieces) {
        if how == WatchFault::Expire {
            self.log(&WatchEvent { type_: "ERROR".to_owned(), ..WatchEvent::default() });
            // If the subject is gone, it is gone.
            let _ = pieces.send(Ok(expired_event())).await;
        }
    }

    fn log(&self, event: &WatchEvent) {
        if !self.is_recorded {
            return;
        }
        for Watcher { party, reach } in &self.watchers {
            let is_seen = match (&party.tap.scope, reach) {
                (Scope::Namespace(own), Reach::Part) => event.namespace.as_ref() == Some(own),
                _ => true,
            };
            if is_seen {
                let delivered = Delivered {
                    request: party.number,
                    type_: event.type_.clone(),
                    name: event.name.clone().filter(|name| !name.is_empty()),
                    uid: event.uid.clone(),
                    resource_version: event.resource_version.clone(),
                };
                party.tap.note(None, What::Delivered(Box::new(delivered)));
            }
        }
    }
}
