//! Facts about faults and the requests that met them, and facts in their order.

use super::{At, Point, Truth};
use crate::history::{Exchange, FaultChange};
use crate::scenario::judge::points;
use crate::scenario::{Fact, FaultName};

impl At<'_> {
    pub(super) fn met(&self, fault: &FaultName) -> Truth {
        let met = self.history.faults().filter(|it| {
            it.changed.fault == fault.as_str() && it.changed.change == FaultChange::Met
        });
        Truth::any(met.map(|it| self.is_past(it.order, it.seq, "the fault")))
    }

    pub(super) fn sent(&self, fault: &FaultName) -> Truth {
        let sent = self.requests_of(fault).filter_map(|exchange| exchange.sent.as_ref());
        Truth::any(sent.map(|sent| self.is_past(sent.order, sent.seq, "the sending")))
    }

    pub(super) fn answered(&self, fault: &FaultName, status: Option<u16>) -> Truth {
        let ended = self.requests_of(fault).filter_map(|exchange| exchange.ended.as_ref());
        let answered = ended.filter(|ended| match status {
            Some(status) => ended.end.status == Some(status),
            None => ended.end.status.is_some(),
        });
        Truth::any(answered.map(|ended| {
            // An answer that refuses carries no version.
            let order = ended.order.or(Some(ended.not_before));
            self.is_past(order, ended.seq, "the answer")
        }))
    }

    /// Each request that met the fault, once.
    fn requests_of(&self, fault: &FaultName) -> impl Iterator<Item = &Exchange> {
        let met = self.history.faults().filter(|it| {
            it.changed.fault == fault.as_str() && it.changed.change == FaultChange::Met
        });
        met.filter_map(|it| self.history.request(it.changed.request?))
    }

    fn is_past(&self, order: Option<u64>, seq: u64, what: &str) -> Truth {
        match Point::after(order, seq) {
            Some(point) => (point <= self.point).into(),
            // Now is after everything, with or without an order.
            None if self.point == Point::NOW => Truth::True,
            None => Truth::CannotBeSaid(format!("{what} has no order")),
        }
    }

    /// Whether the facts were true one after the other, up to this point.
    pub(super) fn in_order(&self, facts: &[Fact]) -> Truth {
        let all: Vec<_> = facts.iter().collect();
        let mut left = facts;
        for (point, _) in points(self.history, &all) {
            if point > self.point {
                break;
            }
            while let [next, rest @ ..] = left
                && next.holds(self.history, point) == Truth::True
            {
                left = rest;
            }
        }
        left.is_empty().into()
    }
}
