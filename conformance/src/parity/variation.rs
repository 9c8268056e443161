//! How real lives differ from one another.

use std::collections::{BTreeMap, BTreeSet};

use super::alignment::{Alignment, Move, Relation};
use super::life::{Life, Transition};
use super::recording::Recording;
use super::role::Role;
use crate::history::Kind;

/// In how many scenarios real lives have to differ in what they go through, until that is no matter
/// of the scenario.
const GENERAL: usize = 3;

/// How the lives of an object differ between real runs of one scenario.
#[derive(Clone, Debug, Default)]
pub struct Variation {
    /// The scenarios in which some life does without a transition that others have.
    passed_over: BTreeMap<(Kind, Transition), BTreeSet<String>>,
    /// Transitions that come in more than one order, whatever the scenario: independent parties make
    /// them.
    orders: BTreeMap<(Kind, Transition, Transition), BTreeSet<Relation>>,
}

impl Variation {
    /// What the real runs of a recording say.
    pub fn of(recording: &Recording) -> Self {
        let mut variation = Self::default();
        for play in recording.plays.values() {
            for (role, lives) in &play.lives {
                for (nth, life) in lives.iter().enumerate() {
                    for other in &lives[nth + 1..] {
                        variation.add(&play.scenario, role, life, other);
                    }
                }
            }
        }
        variation
    }

    fn add(&mut self, scenario: &str, role: &Role, life: &Life, other: &Life) {
        for it in Alignment::of(life, other).moves(life, other) {
            match it {
                Move::Missing(transition) | Move::Extra(transition) => {
                    let scenarios = self.passed_over.entry((role.kind, transition)).or_default();
                    scenarios.insert(scenario.to_owned());
                }
                Move::Order { one, other, real, here } => {
                    let relations = self.orders.entry((role.kind, one, other)).or_default();
                    relations.extend([real, here]);
                }
            }
        }
    }

    /// Whether real lives differ in this way too.
    pub fn has(&self, scenario: &str, role: &Role, it: &Move) -> bool {
        match it {
            Move::Missing(transition) | Move::Extra(transition) => {
                let scenarios = self.passed_over.get(&(role.kind, transition.clone()));
                scenarios.is_some_and(|scenarios| {
                    transition.may_be_passed_over(role.kind)
                        || scenarios.len() >= GENERAL
                        || scenarios.contains(scenario)
                })
            }
            Move::Order { one, other, real, here } => {
                let relations = self.orders.get(&(role.kind, one.clone(), other.clone()));
                relations.is_some_and(|seen| seen.contains(real) && seen.contains(here))
            }
        }
    }
}
