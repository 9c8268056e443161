//! What simulated runs do that real ones do not.

use std::collections::{BTreeMap, BTreeSet};

use super::alignment::{Alignment, Move};
use super::known::Known;
use super::life::{Life, Lived};
use super::recording::{Play, Recording};
use super::role::Role;
use super::variation::Variation;

/// What a comparison found.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// What the simulated cluster does otherwise.
    pub disagreements: Vec<Disagreement>,
    /// What could not be compared.
    pub not_compared: Vec<NotCompared>,
    /// How many plays were compared.
    pub plays: usize,
    /// How many lives.
    pub lives: usize,
    /// How many of these are the same as a real one, to the last write.
    pub same: usize,
    /// How many differences are known.
    pub known: usize,
}

/// A play that could not be compared, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotCompared {
    /// The play: the scenario's id, and the case.
    pub play: String,
    /// Why.
    pub why: String,
    /// Whether nothing real is known of its scenario: not so of a case that no real run came to, or
    /// of one real run among several.
    pub is_unknown: bool,
}

/// Something that the simulated cluster does otherwise.
#[derive(Clone, Debug)]
pub enum Disagreement {
    /// A scenario's verdict.
    Verdict {
        /// The play: the scenario's id, and the case.
        play: String,
        /// What real runs found.
        real: String,
        /// What the simulated one found.
        here: String,
    },
    /// What an object goes through.
    Life(Box<Unlike>),
}

/// A life that differs from every real one, in a way in which these do not differ from one another.
#[derive(Clone, Debug)]
pub struct Unlike {
    /// The play: the scenario's id, and the case.
    pub play: String,
    /// The file of the history.
    pub source: String,
    /// The object.
    pub role: Role,
    /// How it differs from the nearest real life.
    pub moves: BTreeSet<Move>,
    /// The nearest real life.
    pub real: Life,
    /// What the object goes through.
    pub here: Lived,
}

/// One play of a simulated run: the file of its history, what it is of, and its objects.
pub type Simulated = (String, Play, BTreeMap<Role, Lived>);

/// Compares simulated plays with the real ones of a recording.
pub fn compare(recording: &Recording, simulated: &[Simulated], known: &mut Known) -> Comparison {
    let variation = Variation::of(recording);
    let mut comparison = Comparison::default();
    for (source, play, lived) in simulated {
        let id = play.full_id();
        let not = |why: &str, is_unknown| {
            let (play, why) = (id.clone(), why.to_owned());
            NotCompared { play, why, is_unknown }
        };
        let Some(real) = recording.plays.get(&id) else {
            let mut of_scenario =
                recording.plays.values().filter(|it| it.scenario == play.scenario);
            let is_unknown = of_scenario.all(|it| it.digest != play.digest);
            comparison.not_compared.push(not("no real run of it is recorded", is_unknown));
            continue;
        };
        if real.digest != play.digest {
            let why = "the scenario is another one than when real runs of it were recorded";
            comparison.not_compared.push(not(why, true));
            continue;
        }
        comparison.plays += 1;
        if real.verdict != play.verdict {
            let (play, real, here) = (id.clone(), real.verdict.clone(), play.verdict.clone());
            comparison.disagreements.push(Disagreement::Verdict { play, real, here });
        }
        let none = Lived { life: play.never.clone(), events: Vec::new() };
        let roles: BTreeSet<&Role> = real.lives.keys().chain(lived.keys()).collect();
        for role in roles {
            let here = lived.get(role).unwrap_or(&none);
            let never = std::slice::from_ref(&real.never);
            let lives = real.lives.get(role).map_or(never, Vec::as_slice);
            let nearest = nearest(&variation, &play.scenario, role, lives, &here.life);
            comparison.lives += 1;
            comparison.same += usize::from(nearest.cost == 0);
            let before = nearest.moves.len();
            let moves = nearest.moves.into_iter();
            let moves: BTreeSet<_> = moves.filter(|it| !known.has(&id, role, it)).collect();
            comparison.known += before - moves.len();
            if !moves.is_empty() {
                comparison.disagreements.push(Disagreement::Life(Box::new(Unlike {
                    play: id.clone(),
                    source: source.clone(),
                    role: role.clone(),
                    moves,
                    real: nearest.real,
                    here: here.clone(),
                })));
            }
        }
    }
    comparison
}

struct Nearest {
    real: Life,
    cost: usize,
    moves: BTreeSet<Move>,
}

/// The real life from which this one differs in the fewest ways in which real ones do not differ.
fn nearest(
    variation: &Variation,
    scenario: &str,
    role: &Role,
    lives: &[Life],
    here: &Life,
) -> Nearest {
    let compared = lives.iter().map(|real| {
        let alignment = Alignment::of(real, here);
        let moves = alignment.moves(real, here).into_iter();
        let moves: BTreeSet<_> = moves.filter(|it| !variation.has(scenario, role, it)).collect();
        Nearest { real: real.clone(), cost: alignment.cost, moves }
    });
    let nearest = compared.min_by_key(|it| (it.moves.len(), it.cost));
    nearest.unwrap_or_else(|| Nearest { real: Life::default(), cost: 0, moves: BTreeSet::new() })
}
