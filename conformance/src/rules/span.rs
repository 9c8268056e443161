//! Times in which something is due, and whether it came in time.

use jiff::{SignedDuration, Timestamp};

use super::case::Case;

/// How long the controller may take for what is due (RG-15).
pub(super) const WINDOW: SignedDuration = SignedDuration::from_secs(10);

/// A time in which something was due and had not come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// Since when.
    pub(super) from: Timestamp,
    /// Until when; `None` if to the end of the history.
    pub(super) until: Option<Timestamp>,
    /// The event that made it due.
    pub(super) seq: u64,
}

/// Builds spans from a state that is told event by event.
#[derive(Debug, Default)]
pub(super) struct Spans {
    open: Option<Span>,
    closed: Vec<Span>,
}

impl Spans {
    /// Whether it is due as of this event.
    pub(super) fn tell(&mut self, due: bool, at: Timestamp, seq: u64) {
        match (due, self.open) {
            (true, None) => self.open = Some(Span { from: at, until: None, seq }),
            (false, Some(open)) => {
                self.closed.push(Span { until: Some(at), ..open });
                self.open = None;
            }
            _ => {}
        }
    }

    /// The spans, the last of which may be open.
    pub(super) fn done(mut self) -> Vec<Span> {
        self.closed.extend(self.open);
        self.closed
    }
}

/// The first span in which the controller had more than [`WINDOW`] time: a replica served without
/// pause for longer than that.
pub(super) fn overdue(case: &Case<'_>, spans: &[Span]) -> Option<Span> {
    spans.iter().copied().find(|span| {
        let until = span.until.unwrap_or(case.ended);
        case.served.iter().any(|served| {
            let from = span.from.max(served.from);
            let until = until.min(served.until.unwrap_or(case.ended));
            until.duration_since(from) > WINDOW
        })
    })
}
