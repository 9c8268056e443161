//! What people and CI systems see of a run: a line a scenario, a failure as a short timeline, and
//! `JUnit`.
//!
//! Everything here is a pure function from verdicts to text; printing is the command line's part.
//! Texts that come from a cluster or from a history pass [`plain`] first.

mod console;
mod describe;
mod doctor;
mod group;
mod judged;
mod junit;
mod matrix;
mod mutants;
mod parity;
mod plain;
mod status;
mod timeline;

use std::path::PathBuf;
use std::time::Duration;

pub use console::{
    Header, explain_rule, explain_scenario, header, list, of_shard, scenario, summary,
};
pub use doctor::{Doctor, doctor};
pub use group::{Group, group};
pub use judged::{Failure, Judged, judge};
pub use junit::junit;
pub use matrix::mutants_json;
pub use mutants::{Catch, MutantReport, REFERENCE, mutant_row, mutants_exit_code, mutants_summary};
pub use parity::{parity, parity_exit_code};
pub use plain::plain;
pub use status::{Longest, Status, passed, progress, status};
pub use timeline::Entry;

use crate::exit_code::ExitCode;
use crate::history::SubjectNames;
use crate::rules::Overall;
use crate::scenario::Scenario;
use crate::shard::Shard;

/// A run: what was to be played, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunReport {
    /// The run's id.
    pub run: String,
    /// The kind of cluster, such as `local`.
    pub cluster: String,
    /// Which part of a run it is, where it is not the whole.
    pub shard: Option<Shard>,
    /// What was judged.
    pub subjects: SubjectNames,
    /// What else `run` was given that decides what is played, and how: words of its command line.
    pub options: Vec<String>,
    /// Why the run is no claim to conformance, whatever its verdicts: one reason each.
    pub no_claim: Vec<String>,
    /// The scenarios, and their cases, in the order of the scenarios' ids.
    pub scenarios: Vec<ScenarioReport>,
    /// How many were not played, though they should have been.
    pub not_played: usize,
    /// How long the run took.
    pub took: Duration,
    /// Why the run ended before its time, as the exit code that says so.
    pub interrupted: Option<ExitCode>,
}

/// One scenario of a run, or one case of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioReport {
    /// The scenario's id.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// The case as which it was played, where it is played as cases.
    pub case: Option<String>,
    /// Which repetition it is and of how many, where it was repeated.
    pub repetition: Option<(u32, u32)>,
    /// What everything came of in it that was left to chance, where one number says it.
    pub seed: Option<u64>,
    /// How long it took.
    pub took: Duration,
    /// Its history, where one was written.
    pub history: Option<PathBuf>,
    /// What it left in the cluster, and why.
    pub left_behind: Vec<String>,
    /// Whether it was broken off, and so is not what it would have been.
    pub interrupted: bool,
    /// What became of it.
    pub result: ScenarioResult,
}

/// What became of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScenarioResult {
    /// It was played, and its history judged.
    Judged(Box<Judged>),
    /// It could not be played or judged.
    NotJudged {
        /// Why not.
        why: String,
        /// Whose fault that is, as the exit code that says so; nobody's, and so the run is incomplete,
        /// where the cluster does not offer what the scenario needs.
        fault: ExitCode,
    },
}

impl ScenarioReport {
    /// A scenario, or a case of it, of which nothing is known yet.
    pub fn begun(scenario: &Scenario, case: Option<&str>) -> Self {
        let why = "it was not played".to_owned();
        Self {
            id: scenario.id.clone(),
            title: scenario.title.clone(),
            case: case.map(str::to_owned),
            repetition: None,
            seed: None,
            took: Duration::ZERO,
            history: None,
            left_behind: Vec::new(),
            interrupted: false,
            result: ScenarioResult::NotJudged { why, fault: ExitCode::SuiteFault },
        }
    }

    /// The id, and the case after it where there is one: what `run` plays again.
    pub fn full_id(&self) -> String {
        match &self.case {
            Some(case) => format!("{}/{case}", self.id),
            None => self.id.clone(),
        }
    }

    /// How a command ends that shows this scenario alone.
    pub fn exit_code(&self) -> ExitCode {
        match &self.result {
            ScenarioResult::Judged(judged) => match judged.overall {
                Overall::Pass => ExitCode::Conformant,
                Overall::Fail { .. } => ExitCode::RuleBroken,
                Overall::Inconclusive { .. } => ExitCode::Inconclusive,
            },
            ScenarioResult::NotJudged { fault, .. } => *fault,
        }
    }
}

impl RunReport {
    /// How the command ends. A broken rule is the answer whatever else happened; then whose fault
    /// it is that there is no answer, the suite's before the environment's.
    pub fn exit_code(&self) -> ExitCode {
        let codes: Vec<_> = self.scenarios.iter().map(ScenarioReport::exit_code).collect();
        if let Some(code) = self.interrupted {
            return code;
        }
        let weight = [
            ExitCode::RuleBroken,
            ExitCode::SuiteFault,
            ExitCode::Environment,
            ExitCode::Usage,
            ExitCode::Inconclusive,
        ];
        let heaviest = weight.into_iter().find(|code| codes.contains(code));
        heaviest.unwrap_or(match (codes.is_empty(), self.not_played) {
            (true, _) => ExitCode::NothingRan,
            (false, 0) => ExitCode::Conformant,
            (false, _) => ExitCode::Inconclusive,
        })
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod told;
