//! The broken subjects: each breaks one rule of the contract in a way that was once thought of as
//! right, or nearly was written. That the suite catches them is the proof that it would catch
//! yours. And the permitted ones, which differ from the reference and break nothing: that the suite
//! lets them pass is the proof that it would let yours.
//!
//! Each replaces one part of the reference and keeps the others, so that nothing else in it is
//! broken.

mod adapter;
mod controller;
mod permitted;
#[cfg(test)]
mod told;

use std::sync::Arc;

use dispatch_adapter::{ByContract, Decisions};
use dispatch_admission::{Environment, Parts};
use thiserror::Error;

use crate::history::Role;

/// A subject that differs from the reference: a broken one, or a permitted one.
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// Its name, as `--mutant` takes it.
    pub name: &'static str,
    /// What it does wrong, or otherwise, in one line for people.
    pub about: &'static str,
    /// The rules that it breaks, the one that it is to be caught by first. A permitted one breaks
    /// none.
    pub breaks: &'static [&'static str],
    /// The scenarios that catch it, or in which a permitted one has to pass.
    pub judged_by: &'static [&'static str],
    /// What it stands in for.
    pub replaces: Replaced,
}

/// What a subject stands in for, and what makes it.
#[derive(Clone, Copy, Debug)]
pub enum Replaced {
    /// The controller, of these parts.
    Controller(fn(&Environment) -> Parts),
    /// The adapter, with these decisions.
    Adapter(fn() -> Arc<dyn Decisions>),
}

impl Mutant {
    /// Whether it breaks nothing, so that the suite has to let it pass.
    pub fn is_permitted(&self) -> bool {
        self.breaks.is_empty()
    }

    /// What it stands in for, in a word.
    pub fn is(&self) -> &'static str {
        match self.replaces {
            Replaced::Controller(_) => "controller",
            Replaced::Adapter(_) => "adapter",
        }
    }

    fn is_not_a(&self, asked: &'static str) -> NotMade {
        NotMade::Another { name: self.name, is: self.is(), asked }
    }

    /// Whether it stands in for a subject of this role.
    pub fn is_for(&self, role: Role) -> bool {
        match self.replaces {
            Replaced::Controller(_) => role == Role::Controller,
            Replaced::Adapter(_) => role == Role::Adapter,
        }
    }
}

/// Every broken subject, and every permitted one.
pub fn all() -> impl Iterator<Item = &'static Mutant> + Clone {
    controller::MUTANTS.iter().chain(adapter::MUTANTS).chain(permitted::MUTANTS)
}

/// The one that is broken most plainly, by its name: it is judged before everything else, since a
/// suite that misses it proves nothing.
pub const CANARY: &str = "ready-before-raise";

/// No broken or permitted subject's name contains what was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("no broken or permitted subject's name contains `{part}`; there are {}", names())]
pub struct NoneMatches {
    /// What was asked for.
    pub part: String,
}

/// The canary, and the subjects whose names contain one of these; all of them, if there is
/// none to contain.
pub fn matching(parts: &[String]) -> Result<Vec<&'static Mutant>, NoneMatches> {
    for part in parts {
        if !all().any(|mutant| mutant.name.contains(part.as_str())) {
            return Err(NoneMatches { part: part.chars().take(64).collect() });
        }
    }
    let wanted = |mutant: &&Mutant| {
        let asked = |part: &String| mutant.name.contains(part.as_str());
        mutant.name == CANARY || parts.is_empty() || parts.iter().any(asked)
    };
    Ok(all().filter(wanted).collect())
}

/// There is no broken or permitted subject of this name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no broken or permitted subject `{name}`; there are {}", names())]
pub struct UnknownMutant {
    /// The name that was given.
    pub name: String,
}

/// No subject is made of what was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotMade {
    /// There is none of this name.
    #[error(transparent)]
    Unknown(#[from] UnknownMutant),
    /// It stands in for another subject.
    #[error("`{name}` stands in for the {is}, not for the {asked}")]
    Another {
        /// Its name.
        name: &'static str,
        /// What it stands in for.
        is: &'static str,
        /// What it was to stand in for.
        asked: &'static str,
    },
}

/// What the controller of this name is made of; the reference, without one.
pub fn controller(name: Option<&str>) -> Result<fn(&Environment) -> Parts, NotMade> {
    match name.map(find).transpose()? {
        None => Ok(Parts::reference),
        Some(Mutant { replaces: Replaced::Controller(parts), .. }) => Ok(*parts),
        Some(mutant) => Err(mutant.is_not_a("controller")),
    }
}

/// What the adapter of this name decides by; the reference, without one.
pub fn adapter(name: Option<&str>) -> Result<fn() -> Arc<dyn Decisions>, NotMade> {
    match name.map(find).transpose()? {
        None => Ok(|| Arc::new(ByContract)),
        Some(Mutant { replaces: Replaced::Adapter(decisions), .. }) => Ok(*decisions),
        Some(mutant) => Err(mutant.is_not_a("adapter")),
    }
}

fn names() -> String {
    all().map(|mutant| mutant.name).collect::<Vec<_>>().join(", ")
}

/// The broken or permitted subject of this name.
pub fn find(name: &str) -> Result<&'static Mutant, UnknownMutant> {
    let found = all().find(|mutant| mutant.name == name);
    found.ok_or_else(|| UnknownMutant { name: name.chars().take(64).collect() })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn every_mutant_names_rules_that_are_and_scenarios_that_judge_it() {
        for mutant in all() {
            assert_eq!(find(mutant.name).unwrap().about, mutant.about);
            assert!(!mutant.judged_by.is_empty(), "{}", mutant.name);
            for rule in mutant.breaks {
                assert!(rule.parse::<dispatch_contract::rules::RuleId>().is_ok(), "{rule}");
            }
            for scenario in mutant.judged_by {
                let file = format!("../scenarios/{scenario}.yaml");
                assert!(std::path::Path::new(&file).exists(), "{file}");
            }
        }
    }

    #[test]
    fn only_a_permitted_subject_breaks_nothing() {
        let permitted: Vec<_> = all().filter(|it| it.is_permitted()).map(|it| it.name).collect();
        let listed: Vec<_> = permitted::MUTANTS.iter().map(|it| it.name).collect();
        assert_eq!(permitted, listed);
    }

    #[rstest]
    #[case::all(&[], all().count())]
    #[case::some(&["deaf-to-"], 3)]
    #[case::the_canary(&["ready-before"], 1)]
    fn mutants_are_chosen_by_parts_of_their_names_and_the_canary_always(
        #[case] parts: &[&str],
        #[case] count: usize,
    ) {
        let parts: Vec<_> = parts.iter().map(ToString::to_string).collect();
        let chosen = matching(&parts).unwrap();
        assert_eq!(chosen.len(), count);
        assert!(chosen.iter().any(|mutant| mutant.name == CANARY));
        assert!(matching(&["no-such".to_owned()]).is_err());
    }

    #[test]
    fn an_unknown_mutant_is_refused_with_those_that_are() {
        let error = find("x").unwrap_err().to_string();
        assert_eq!(
            error,
            format!("there is no broken or permitted subject `x`; there are {}", names())
        );
    }
}
