//! The faults of a tap, the watches that they may concern, and which request meets which fault.

use std::collections::{BTreeMap, HashSet};

use super::fault::{Effect, Fault, Refusal, Signal, Times, WatchFault, When};
use super::matching::kind;
use crate::history::{Asks, Request};

/// The number of a fault in its table.
pub(super) type FaultId = u64;

/// The faults of a tap, and the watches that they may concern.
#[derive(Debug, Default)]
pub(super) struct Table {
    next: FaultId,
    standing: Vec<Standing>,
    watches: BTreeMap<u64, Watch>,
}

/// A fault that is in place.
#[derive(Debug)]
struct Standing {
    id: FaultId,
    fault: Fault,
    /// How many requests matched.
    matched: u32,
    /// How many met it.
    met: u32,
    /// Which kinds met it, where that matters.
    kinds: HashSet<String>,
}

/// A watch that is open.
#[derive(Debug)]
struct Watch {
    request: Request,
    reach: Reach,
    met: Vec<(FaultId, WatchFault)>,
}

/// How much of a watch is within the tap's scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// All of it.
    Whole,
    /// The events of the tap's namespace. Faults that would end the watch do not concern it, since
    /// it is not the tap's alone.
    Part,
}

/// A request met a fault.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Met {
    /// The fault.
    pub(super) fault: FaultId,
    /// Its name.
    pub(super) name: String,
    /// What is to be done.
    pub(super) effect: Effect,
}

/// What a request finds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Arrival {
    /// The subject is stalled: ask again when something changed.
    Waits,
    /// The faults that it meets, in this order.
    Goes(Vec<Met>),
}

/// What a watch has to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Orders {
    /// Deliver nothing.
    pub(super) silent: bool,
    /// End, in this way.
    pub(super) end: Option<WatchFault>,
}

impl Table {
    /// Places a fault. Gives its number, and the watches that meet it at once.
    pub(super) fn place(&mut self, fault: Fault) -> (FaultId, Vec<u64>) {
        let id = self.next;
        self.next += 1;
        let (matched, met) = (0, 0);
        let mut standing = Standing { id, fault, matched, met, kinds: HashSet::new() };
        let mut concerned = Vec::new();
        let is_due = self.is_due(&standing);
        if let Effect::Watch(effect) = standing.fault.effect
            && effect != WatchFault::RefuseExpired
        {
            for (number, watch) in &mut self.watches {
                let request = &watch.request;
                if is_due
                    && standing.concerns(request, watch.reach)
                    && standing.meets(request, &Asks::default(), true)
                {
                    watch.met.push((id, effect));
                    concerned.push(*number);
                }
            }
        }
        self.standing.push(standing);
        (id, concerned)
    }

    /// Takes a fault away: what it holds goes on. False if it is gone already.
    pub(super) fn take(&mut self, fault: FaultId) -> bool {
        let before = self.standing.len();
        self.standing.retain(|standing| standing.id != fault);
        self.standing.len() < before
    }

    /// Takes everything away.
    pub(super) fn clear(&mut self) {
        *self = Self { next: self.next, ..Self::default() };
    }

    /// A request that met a fault of its answer was refused: the fault waits for the next one.
    pub(super) fn missed(&mut self, fault: FaultId, request: &Request, asks: &Asks) {
        let Some(standing) = self.standing.iter_mut().find(|it| it.id == fault) else { return };
        standing.matched = standing.matched.saturating_sub(1);
        standing.met = standing.met.saturating_sub(1);
        standing.kinds.remove(&kind(request, asks));
    }

    /// Whether a fault is in place, so that what it holds has to wait.
    pub(super) fn holds(&self, fault: FaultId) -> bool {
        self.standing.iter().any(|standing| standing.id == fault)
    }

    /// A request arrives.
    pub(super) fn arrive(&mut self, request: &Request, asks: &Asks) -> Arrival {
        if self.is_stalled() {
            return Arrival::Waits;
        }
        Arrival::Goes(self.meet(request, asks, Reach::Whole))
    }

    /// A watch opens. It is to obey [`Table::orders`] from now on, until it is [`Table::closed`].
    pub(super) fn opened(&mut self, watch: Request, reach: Reach, met: &[Met]) {
        let met = met.iter().filter_map(|met| match met.effect {
            Effect::Watch(effect) => Some((met.fault, effect)),
            _ => None,
        });
        let met = met.collect();
        self.watches.insert(watch.request, Watch { request: watch, reach, met });
    }

    /// A watch is found open. Gives the faults that it meets.
    pub(super) fn found(&mut self, watch: Request, reach: Reach) -> Vec<Met> {
        let mut met = self.meet(&watch, &Asks::default(), reach);
        met.retain(|met| matches!(met.effect, Effect::Watch(_)));
        self.opened(watch, reach, &met);
        met
    }

    /// A watch is over.
    pub(super) fn closed(&mut self, watch: u64) {
        self.watches.remove(&watch);
    }

    /// What a watch has to do.
    pub(super) fn orders(&self, watch: u64) -> Orders {
        let Some(watch) = self.watches.get(&watch) else { return Orders::default() };
        let silenced = |(fault, effect): &(FaultId, WatchFault)| {
            *effect == WatchFault::Silence && self.holds(*fault)
        };
        let ends = |effect: &WatchFault| matches!(effect, WatchFault::Cut | WatchFault::Expire);
        Orders {
            silent: self.is_stalled() || watch.met.iter().any(silenced),
            end: watch.met.iter().map(|(_, effect)| *effect).find(ends),
        }
    }

    fn is_stalled(&self) -> bool {
        let stalls = |it: &Standing| it.fault.effect == Effect::Stall && it.met > 0;
        self.standing.iter().any(stalls)
    }

    /// Whether a fault has begun: whether the one that it comes after was met.
    fn is_due(&self, standing: &Standing) -> bool {
        let Some(after) = &standing.fault.at.after else { return true };
        self.standing.iter().any(|other| other.fault.name == *after && other.met > 0)
    }

    fn meet(&mut self, request: &Request, asks: &Asks, reach: Reach) -> Vec<Met> {
        let mut met = Vec::new();
        let mut goes_on = true;
        let before: Vec<_> = self.standing.iter().map(|it| self.is_due(it)).collect();
        for (standing, is_due) in self.standing.iter_mut().zip(before) {
            if is_due && standing.concerns(request, reach) && standing.meets(request, asks, goes_on)
            {
                goes_on = !standing.fault.effect.ends_the_request();
                let name = standing.fault.name.clone();
                let effect = standing.fault.effect.of_request(standing.met);
                met.push(Met { fault: standing.id, name, effect });
            }
        }
        met
    }
}

impl Standing {
    /// Whether the effect is one for such a request.
    fn concerns(&self, request: &Request, reach: Reach) -> bool {
        let is_watch = request.verb == "watch";
        match (&self.fault.effect, reach) {
            (Effect::Watch(WatchFault::Silence), _) => is_watch,
            (_, Reach::Part) => false,
            (Effect::Watch(WatchFault::RefuseExpired), Reach::Whole) => {
                (is_watch || request.verb == "list") && begins_at_a_version(request)
            }
            (Effect::Watch(_), Reach::Whole) => is_watch,
            (_, Reach::Whole) => true,
        }
    }

    /// Counts a request; true if it meets the fault. It cannot, but is counted, if it does not get
    /// that far.
    fn meets(&mut self, request: &Request, asks: &Asks, gets_here: bool) -> bool {
        if !self.fault.at.matches(request, asks) {
            return false;
        }
        self.matched += 1;
        if !gets_here || self.fault.at.nth.is_some_and(|nth| nth != self.matched) {
            return false;
        }
        let meets = match self.fault.times {
            Times::Once => self.met == 0,
            Times::Times(times) => self.met < times,
            Times::Always => true,
            Times::OncePerKind => self.kinds.insert(kind(request, asks)),
        };
        self.met += u32::from(meets);
        meets
    }
}

impl Effect {
    /// Whether the request goes no further: later faults do not get it.
    fn ends_the_request(&self) -> bool {
        match self {
            Self::Answer(_)
            | Self::LoseRequest
            | Self::Signal(Signal::Kill, When::Before)
            | Self::Watch(WatchFault::RefuseExpired) => true,
            Self::Hold
            | Self::Stall
            | Self::Delay(_)
            | Self::DelayAtRandom(_)
            | Self::LoseAnswer
            | Self::Signal(..)
            | Self::Change(_)
            | Self::Watch(_) => false,
        }
    }

    /// The answer that it gives in the API server's place.
    pub(super) fn refusal(&self) -> Option<Refusal> {
        match self {
            Self::Answer(refusal) => Some(*refusal),
            Self::Watch(WatchFault::RefuseExpired) => Some(Refusal::Expired),
            _ => None,
        }
    }
}

/// Whether a list or a watch asks for what follows, or for a state that is at least as new as, a
/// version. `0` stands for whatever the API server has at hand, which never expires.
fn begins_at_a_version(request: &Request) -> bool {
    let version = request.query.get("resourceVersion").map(String::as_str).unwrap_or_default();
    !version.is_empty() && version != "0"
}

#[cfg(test)]
pub(super) mod tests;
