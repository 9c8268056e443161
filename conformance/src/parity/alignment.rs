//! Two lives of one object beside each other.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::life::{Life, Transition};

/// How two lives correspond, write by write.
#[derive(Clone, Debug)]
pub struct Alignment {
    /// Writes that belong together, or one that the other life does not have, in order.
    pub pairs: Vec<Pair>,
    /// How many transitions have no counterpart in the write that theirs belongs with.
    pub cost: usize,
}

/// The places of two writes that belong together, in the real life and in the other; one of them
/// `None` where there is no counterpart.
pub type Pair = (Option<usize>, Option<usize>);

/// When a transition comes, as seen from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    /// Before it.
    Before,
    /// In the same write.
    With,
    /// After it.
    After,
}

impl Relation {
    fn of(a: usize, b: usize) -> Self {
        match a.cmp(&b) {
            Ordering::Less => Self::Before,
            Ordering::Equal => Self::With,
            Ordering::Greater => Self::After,
        }
    }

    fn turned(self) -> Self {
        match self {
            Self::Before => Self::After,
            Self::With => Self::With,
            Self::After => Self::Before,
        }
    }
}

impl std::fmt::Display for Relation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Before => "before",
            Self::With => "in one write with",
            Self::After => "after",
        })
    }
}

/// One way in which a life differs from a real one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Move {
    /// A transition of the real life does not come.
    Missing(Transition),
    /// A transition comes that the real life does not have.
    Extra(Transition),
    /// Two transitions come in another order. The first is the lesser one.
    Order {
        /// The one.
        one: Transition,
        /// The other.
        other: Transition,
        /// When the one comes in the real life, as seen from the other.
        real: Relation,
        /// When it comes in this life.
        here: Relation,
    },
}

impl std::fmt::Display for Move {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing(transition) => write!(f, "`{transition}` is missing"),
            Self::Extra(transition) => write!(f, "`{transition}` comes too"),
            Self::Order { one, other, real, here } => {
                write!(f, "`{one}` comes {here} `{other}`, on the real cluster {real} it")
            }
        }
    }
}

/// A transition that both lives have, and its write in each.
#[derive(Clone, Copy)]
struct Matched<'a> {
    transition: &'a Transition,
    real: usize,
    here: usize,
}

/// A transition that one life has, and its write.
type Placed<'a> = (&'a Transition, usize);

impl Alignment {
    /// The alignment of least cost.
    pub fn of(real: &Life, here: &Life) -> Self {
        let (rows, columns) = (real.writes.len() + 1, here.writes.len() + 1);
        let mut costs = vec![vec![0; columns]; rows];
        for row in 0..rows {
            for column in 0..columns {
                costs[row][column] = match (row, column) {
                    (0, 0) => 0,
                    _ => steps(real, here, &costs, row, column)[0].0,
                };
            }
        }
        let (mut row, mut column) = (rows - 1, columns - 1);
        let cost = costs[row][column];
        let mut pairs = Vec::new();
        while (row, column) != (0, 0) {
            let pair = steps(real, here, &costs, row, column)[0].1;
            row -= usize::from(pair.0.is_some());
            column -= usize::from(pair.1.is_some());
            pairs.push(pair);
        }
        pairs.reverse();
        Self { pairs, cost }
    }

    /// How the life differs from the real one.
    ///
    /// Where one of the two goes on, that counts only if the other one was still when its history
    /// ended.
    pub fn moves(&self, real: &Life, here: &Life) -> BTreeSet<Move> {
        let (matched, mut missing, mut extra) = self.sorted(real, here);
        let last = |place: fn(&Matched<'_>) -> usize| matched.iter().map(place).max();
        let is_tail = |at: usize, last: Option<usize>| last.is_none_or(|last| at > last);
        let (last_real, last_here) = (last(|it| it.real), last(|it| it.here));
        // What was only moved is no tail of its own.
        let displaced = displaced(&mut missing, &mut extra);
        let real_goes_on = missing.iter().any(|(_, at)| is_tail(*at, last_real));
        let this_goes_on = extra.iter().any(|(_, at)| is_tail(*at, last_here));
        if real_goes_on != this_goes_on {
            missing.retain(|(_, at)| !is_tail(*at, last_real) || here.still);
            extra.retain(|(_, at)| !is_tail(*at, last_here) || real.still);
        }
        let mut moves = orders(&matched, &displaced);
        moves.extend(whole_or_parts(missing, real).map(Move::Missing));
        moves.extend(whole_or_parts(extra, here).map(Move::Extra));
        moves
    }

    /// The transitions that belong together, those of the real life alone, and those of the other.
    fn sorted<'a>(
        &self,
        real: &'a Life,
        here: &'a Life,
    ) -> (Vec<Matched<'a>>, Vec<Placed<'a>>, Vec<Placed<'a>>) {
        let (mut matched, mut missing, mut extra) = (Vec::new(), Vec::new(), Vec::new());
        for pair in &self.pairs {
            let of_real = pair.0.map(|at| (at, &real.writes[at]));
            let of_here = pair.1.map(|at| (at, &here.writes[at]));
            if let Some((at, write)) = of_real {
                for transition in write {
                    match of_here.filter(|(_, other)| other.contains(transition)) {
                        Some((here, _)) => matched.push(Matched { transition, real: at, here }),
                        None => missing.push((transition, at)),
                    }
                }
            }
            if let Some((at, write)) = of_here {
                let has = |transition: &&Transition| {
                    of_real.is_none_or(|(_, other)| !other.contains(*transition))
                };
                extra.extend(write.iter().filter(has).map(|transition| (transition, at)));
            }
        }
        (matched, missing, extra)
    }
}

/// The ways to the end of these many writes of each life: what it costs that far, and what is last,
/// the cheapest first; among equal ones writes that belong together.
fn steps(
    real: &Life,
    here: &Life,
    costs: &[Vec<usize>],
    row: usize,
    column: usize,
) -> Vec<(usize, Pair)> {
    let mut steps = Vec::with_capacity(3);
    if let (Some(above), Some(left)) = (row.checked_sub(1), column.checked_sub(1)) {
        let (a, b) = (&real.writes[above], &here.writes[left]);
        let shared = a.intersection(b).count();
        if shared > 0 {
            let cost = costs[above][left] + a.len() + b.len() - 2 * shared;
            steps.push((cost, (Some(above), Some(left))));
        }
    }
    if let Some(above) = row.checked_sub(1) {
        steps.push((costs[above][column] + real.writes[above].len(), (Some(above), None)));
    }
    if let Some(left) = column.checked_sub(1) {
        steps.push((costs[row][left] + here.writes[left].len(), (None, Some(left))));
    }
    steps.sort_by_key(|(cost, _)| *cost);
    steps
}

/// Takes out what each life has in a write that has no counterpart: it comes at another time.
fn displaced<'a>(missing: &mut Vec<Placed<'a>>, extra: &mut Vec<Placed<'a>>) -> Vec<Matched<'a>> {
    let mut found = Vec::new();
    missing.retain(|(transition, real)| {
        let Some(place) = extra.iter().position(|(other, _)| other == transition) else {
            return true;
        };
        let (_, here) = extra.remove(place);
        found.push(Matched { transition, real: *real, here });
        false
    });
    found
}

/// The pairs of transitions that come in another order. When a controller looks, and so when it
/// writes what nobody decides, says nothing.
fn orders(matched: &[Matched<'_>], displaced: &[Matched<'_>]) -> BTreeSet<Move> {
    let mut found = BTreeSet::new();
    for one in displaced {
        for other in matched.iter().chain(displaced) {
            let real = Relation::of(one.real, other.real);
            let here = Relation::of(one.here, other.here);
            let is_decided = |it: &Matched<'_>| !it.transition.is_incidental();
            if real == here || one.transition == other.transition {
                continue;
            }
            if !is_decided(one) || !is_decided(other) {
                continue;
            }
            let (a, b) = (one.transition.clone(), other.transition.clone());
            found.insert(if a < b {
                Move::Order { one: a, other: b, real, here }
            } else {
                Move::Order { one: b, other: a, real: real.turned(), here: here.turned() }
            });
        }
    }
    found
}

/// Of an object that the other life knows nothing of it says enough that it was created.
fn whole_or_parts(parts: Vec<Placed<'_>>, of: &Life) -> impl Iterator<Item = Transition> + use<> {
    let created = Transition::created();
    let is_whole = of.writes.first().is_some_and(|write| write.contains(&created))
        && parts.iter().any(|(part, _)| **part == created);
    let parts: BTreeSet<Transition> = if is_whole {
        BTreeSet::from([created])
    } else {
        parts.into_iter().map(|(part, _)| part.clone()).collect()
    };
    parts.into_iter()
}
