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
    /// Times of one number count together.
    part_of: usize,
}

/// Builds spans from a state that is told event by event.
#[derive(Debug, Default)]
pub(super) struct Spans {
    open: Option<Span>,
    closed: Vec<Span>,
    part_of: usize,
    /// Whether the controller caused a delay since something else stood against it.
    was_delayed: bool,
}

impl Spans {
    /// Whether it is due as of this event.
    pub(super) fn tell(&mut self, due: bool, at: Timestamp, seq: u64) {
        match (due, self.open) {
            (true, None) => {
                let part_of = self.part_of;
                self.open = Some(Span { from: at, until: None, seq, part_of });
            }
            (false, _) => {
                self.close(at);
                self.part_of += 1;
                self.was_delayed = false;
            }
            (true, Some(_)) => {}
        }
    }

    /// It is not due as of this event, by the controller's own doing: this can be so once, and is no
    /// excuse when it is done again and again. What was due before and after counts together, but
    /// for what was before the first time.
    pub(super) fn delay(&mut self, at: Timestamp) {
        self.close(at);
        if !self.was_delayed {
            self.part_of += 1;
            self.was_delayed = true;
        }
    }

    fn close(&mut self, at: Timestamp) {
        if let Some(open) = self.open.take() {
            self.closed.push(Span { until: Some(at), ..open });
        }
    }

    /// The spans, the last of which may be open.
    pub(super) fn done(mut self) -> Vec<Span> {
        self.closed.extend(self.open);
        self.closed
    }
}

/// The first span in which the controller had more than [`WINDOW`] time: a replica served without
/// pause for longer than that, in the spans that count together.
pub(super) fn overdue(case: &Case<'_>, spans: &[Span]) -> Option<Span> {
    spans.chunk_by(|one, next| one.part_of == next.part_of).find_map(|together| {
        let late = case.served.iter().any(|served| {
            let end = served.until.unwrap_or(case.ended);
            let within = |span: &Span| {
                let until = span.until.unwrap_or(case.ended).min(end);
                until.duration_since(span.from.max(served.from)).max(SignedDuration::ZERO)
            };
            let total = together
                .iter()
                .map(within)
                .fold(SignedDuration::ZERO, SignedDuration::saturating_add);
            total > WINDOW
        });
        if late { together.first().copied() } else { None }
    })
}
