//! A scenario that was played as cases: one line for all that passed.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use super::console::{broken_rules, counted, line, repeated, scenario, word};
use super::{RunReport, ScenarioReport};

/// What became of one scenario, played once or as its cases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The scenario, or its cases in their order.
    pub reports: Vec<ScenarioReport>,
    /// How many of its cases were not played, though they should have been.
    pub not_played: usize,
}

/// A scenario that has ended: a line for it; and each of its cases that did not pass, with what is
/// wrong.
pub fn group(run: &RunReport, group: &Group) -> String {
    let [first, ..] = &group.reports[..] else { return String::new() };
    if first.case.is_none() {
        return group.reports.iter().map(|report| scenario(run, report)).collect();
    }
    let not_passed: Vec<_> =
        group.reports.iter().filter(|report| word(&report.result) != "PASS").collect();
    let took: Duration = group.reports.iter().map(|report| report.took).sum();
    let name = repeated(&first.id, first.repetition);
    let mut out = line(worst(&not_passed), &name, took, &note(group, &not_passed));
    for report in not_passed {
        out.push_str(&scenario(run, report));
    }
    out
}

/// The word of the worst of those that did not pass.
fn worst(not_passed: &[&ScenarioReport]) -> &'static str {
    let words: BTreeSet<_> = not_passed.iter().map(|report| word(&report.result)).collect();
    let worst = ["FAIL", "LOST", "OPEN", "SKIP"].into_iter().find(|word| words.contains(word));
    worst.unwrap_or("PASS")
}

/// How many cases there are, and how many of them are shown below.
fn note(group: &Group, not_passed: &[&ScenarioReport]) -> String {
    let played = group.reports.len();
    let cases = counted(played + group.not_played, "case");
    let mut note = match not_passed.len() {
        0 => cases,
        some => format!("{some} of {cases} did not pass"),
    };
    // Writing to a String cannot fail.
    if group.not_played > 0 {
        let _ = write!(note, ", {} not played", group.not_played);
    }
    let rules: BTreeSet<_> = not_passed.iter().flat_map(|report| broken_rules(report)).collect();
    if !rules.is_empty() {
        let rules: Vec<_> = rules.into_iter().collect();
        let _ = write!(note, ": {}", rules.join(" "));
    }
    note
}
