//! The table of the broken subjects: who was caught, by which rule, in which scenario.

use std::time::Duration;

use super::{RunReport, ScenarioReport, ScenarioResult};
use crate::exit_code::ExitCode;
use crate::mutants::Mutant;

/// What became of one subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MutantReport {
    /// The broken subject's name, or `reference`.
    pub name: &'static str,
    /// How it was judged.
    pub catch: Catch,
    /// How long that took.
    pub took: Duration,
}

/// How a subject was judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Catch {
    /// The reference broke nothing.
    Clean,
    /// The broken subject was caught by its own rule, named before all others.
    Caught {
        /// The rule.
        rule: String,
        /// The scenario.
        scenario: String,
    },
    /// It should have been caught, and was not, or by another rule first; or the reference was.
    Wrong {
        /// What was found instead.
        found: String,
    },
    /// A scenario could not be played, or said nothing.
    Open {
        /// Which, and why.
        why: String,
    },
}

impl Catch {
    /// Whether a scenario broke the first rule of a broken subject before all others.
    pub fn is_caught(mutant: &Mutant, scenario: &ScenarioReport) -> bool {
        first_broken(scenario).as_deref() == mutant.breaks.first().copied()
    }

    /// Judges a run of a broken subject: a scenario has to break its first rule before all others.
    pub fn of_mutant(mutant: &Mutant, run: &RunReport) -> Self {
        let expected = mutant.breaks.first().copied().unwrap_or_default();
        let mut found = Vec::new();
        for scenario in &run.scenarios {
            match first_broken(scenario) {
                Some(rule) if rule == expected => {
                    return Self::Caught { rule, scenario: scenario.id.clone() };
                }
                Some(rule) => found.push(format!("{rule} first in {}", scenario.id)),
                None => found.push(format!("nothing broken in {}", scenario.id)),
            }
        }
        Self::Wrong { found: format!("expected {expected}; {}", found.join(", ")) }
    }

    /// Judges a run of the reference: nothing may be broken, and nothing left open.
    pub fn of_reference(run: &RunReport) -> Self {
        for scenario in &run.scenarios {
            let id = &scenario.id;
            match (scenario.exit_code(), first_broken(scenario)) {
                (ExitCode::Conformant, _) => {}
                (_, Some(rule)) => return Self::Wrong { found: format!("{rule} in {id}") },
                (ExitCode::RuleBroken, None) => {
                    return Self::Wrong { found: format!("an expectation in {id}") };
                }
                _ => return Self::Open { why: format!("{id} was not judged, or left open") },
            }
        }
        Self::Clean
    }
}

/// The rule that is named first in a scenario's report.
fn first_broken(scenario: &ScenarioReport) -> Option<String> {
    match &scenario.result {
        ScenarioResult::Judged(judged) => {
            judged.failures.first().and_then(|failure| failure.rule).map(|rule| rule.to_string())
        }
        ScenarioResult::NotJudged { .. } => None,
    }
}

/// The table, and a line that sums it up.
pub fn mutants(reports: &[MutantReport]) -> String {
    let width = reports.iter().map(|report| report.name.len()).max().unwrap_or_default();
    let row = |MutantReport { name, catch, took }: &MutantReport| {
        let (verdict, detail) = match catch {
            Catch::Clean => ("clean ", "nothing is broken".to_owned()),
            Catch::Caught { rule, scenario } => ("caught", format!("{rule}  {scenario}")),
            Catch::Wrong { found } => ("WRONG ", found.clone()),
            Catch::Open { why } => ("OPEN  ", why.clone()),
        };
        format!("{verdict}  {name:width$}  {:6.2} s  {detail}\n", took.as_secs_f64())
    };
    let rows: String = reports.iter().map(row).collect();
    let caught = |report: &&MutantReport| matches!(report.catch, Catch::Caught { .. });
    let broken = reports.iter().filter(|report| report.name != "reference").count();
    let caught = reports.iter().filter(caught).count();
    format!("{rows}{caught} of {broken} broken subjects caught, each by its own rule\n")
}

/// How the command ends: conformant when all were caught and the reference was not.
pub fn mutants_exit_code(reports: &[MutantReport]) -> ExitCode {
    let any = |wrong: fn(&Catch) -> bool| reports.iter().any(|report| wrong(&report.catch));
    if any(|catch| matches!(catch, Catch::Wrong { .. })) {
        ExitCode::RuleBroken
    } else if any(|catch| matches!(catch, Catch::Open { .. })) {
        ExitCode::Inconclusive
    } else {
        ExitCode::Conformant
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(name: &'static str, catch: Catch) -> MutantReport {
        MutantReport { name, catch, took: Duration::from_millis(1500) }
    }

    fn caught() -> Catch {
        Catch::Caught { rule: "RG-01".into(), scenario: "readmission/eviction-window".into() }
    }

    #[test]
    fn the_table_names_rule_and_scenario_of_each() {
        let reports = [
            report("reference", Catch::Clean),
            report("deaf-to-eviction", caught()),
            report("sly", Catch::Wrong { found: "expected RG-05; nothing broken in a/b".into() }),
        ];
        insta::assert_snapshot!(mutants(&reports));
    }

    #[test]
    fn one_that_gets_away_decides_how_the_command_ends() {
        let clean = report("reference", Catch::Clean);
        let open = report("a", Catch::Open { why: "x".into() });
        let wrong = report("a", Catch::Wrong { found: "x".into() });
        let ends = |reports: &[MutantReport]| mutants_exit_code(reports);
        assert_eq!(ends(&[clean.clone(), report("a", caught())]), ExitCode::Conformant);
        assert_eq!(ends(&[clean.clone(), open.clone()]), ExitCode::Inconclusive);
        assert_eq!(ends(&[clean, open, wrong]), ExitCode::RuleBroken);
    }
}
