//! The table of the broken subjects: who was caught, by which rule, in which scenario; and of those
//! that have to pass.

use std::fmt::Write as _;
use std::time::Duration;

use super::{RunReport, ScenarioReport, ScenarioResult, of_shard, plain};
use crate::exit_code::ExitCode;
use crate::mutants::{CANARY, Mutant};

/// The reference's name in the table.
pub const REFERENCE: &str = "reference";

/// What became of one subject.
#[derive(Clone, Debug)]
pub struct MutantReport {
    /// The broken or permitted subject, or `None` for the reference.
    pub subject: Option<&'static Mutant>,
    /// The scenarios that judged it.
    pub run: RunReport,
    /// How it was judged.
    pub catch: Catch,
}

/// How a subject was judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Catch {
    /// The reference, or the permitted subject, broke nothing.
    Clean,
    /// The broken subject was caught by its own rule, named before all others.
    Caught {
        /// The rule.
        rule: String,
        /// The scenario, with the case where there is one.
        scenario: String,
    },
    /// It should have been caught, and was not, or by another rule first; or something was broken by
    /// one that has to pass.
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

impl MutantReport {
    /// Judges a run of a broken or permitted subject, or of the reference.
    pub fn of(subject: Option<&'static Mutant>, run: RunReport) -> Self {
        let catch = match subject {
            Some(mutant) if !mutant.is_permitted() => Catch::of_broken(mutant, &run),
            _ => Catch::of_one_that_has_to_pass(&run),
        };
        Self { subject, run, catch }
    }

    /// The subject's name.
    pub fn name(&self) -> &'static str {
        self.subject.map_or(REFERENCE, |mutant| mutant.name)
    }

    /// How long its scenarios took, one after another.
    pub fn took(&self) -> Duration {
        self.run.scenarios.iter().map(|scenario| scenario.took).sum()
    }

    /// Whether it is a broken subject, which has to be caught.
    pub fn is_broken(&self) -> bool {
        self.subject.is_some_and(|mutant| !mutant.is_permitted())
    }

    /// Whether it is a permitted subject, which has to pass as the reference has to.
    pub fn is_permitted(&self) -> bool {
        self.subject.is_some_and(Mutant::is_permitted)
    }

    /// Whether it was judged as it should be.
    pub fn is_right(&self) -> bool {
        matches!(self.catch, Catch::Clean | Catch::Caught { .. })
    }
}

impl Catch {
    /// Whether a scenario broke the first rule of a broken subject before all others.
    pub fn is_caught(mutant: &Mutant, scenario: &ScenarioReport) -> bool {
        let own = mutant.breaks.first();
        own.is_some_and(|own| first_broken(scenario).as_deref() == Some(*own))
    }

    /// Judges a run of a broken subject: a scenario has to break its first rule before all others.
    fn of_broken(mutant: &Mutant, run: &RunReport) -> Self {
        let expected = mutant.breaks.first().copied().unwrap_or_default();
        let mut found = Vec::new();
        let mut open = Vec::new();
        for scenario in &run.scenarios {
            let id = scenario.full_id();
            match (first_broken(scenario), &scenario.result) {
                (Some(rule), _) if rule == expected => return Self::Caught { rule, scenario: id },
                (Some(rule), _) => found.push(format!("{rule} first in {id}")),
                (None, ScenarioResult::NotJudged { .. }) => open.push(format!("{id} not judged")),
                (None, _) => found.push(format!("nothing broken in {id}")),
            }
        }
        if run.not_played > 0 || run.scenarios.is_empty() {
            open.push("not every scenario was played".to_owned());
        }
        if open.is_empty() {
            return Self::Wrong { found: format!("expected {expected}; {}", found.join(", ")) };
        }
        open.extend(found);
        Self::Open { why: open.join(", ") }
    }

    /// Judges a run of the reference, or of a permitted subject: nothing may be broken, and nothing
    /// left open.
    fn of_one_that_has_to_pass(run: &RunReport) -> Self {
        let mut open = Vec::new();
        for scenario in &run.scenarios {
            let id = scenario.full_id();
            match (scenario.exit_code(), first_broken(scenario)) {
                (ExitCode::Conformant, _) => {}
                (_, Some(rule)) => return Self::Wrong { found: format!("{rule} in {id}") },
                (ExitCode::RuleBroken, None) => {
                    return Self::Wrong { found: format!("an expectation in {id}") };
                }
                _ => open.push(format!("{id} was not judged, or left open")),
            }
        }
        if run.not_played > 0 || run.scenarios.is_empty() {
            open.push("not every scenario was played".to_owned());
        }
        if open.is_empty() { Self::Clean } else { Self::Open { why: open.join(", ") } }
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

/// The row of a subject; `width` is that of the longest name.
pub fn mutant_row(report: &MutantReport, width: usize) -> String {
    let (verdict, detail) = match &report.catch {
        Catch::Clean => ("clean ", "nothing is broken".to_owned()),
        Catch::Caught { rule, scenario } => ("caught", format!("{rule}  {scenario}")),
        Catch::Wrong { found } => ("WRONG ", found.clone()),
        Catch::Open { why } => ("OPEN  ", why.clone()),
    };
    let detail = if report.is_permitted() { format!("permitted: {detail}") } else { detail };
    let (name, took) = (report.name(), report.took().as_secs_f64());
    format!("{verdict}  {name:width$}  {took:6.2} s  {}\n", plain(&detail))
}

/// The lines below the table: of how many were caught, and who was not judged as they should be.
pub fn mutants_summary(reports: &[MutantReport]) -> String {
    let right_of = |is: fn(&MutantReport) -> bool| {
        let of_kind = || reports.iter().filter(|report| is(report));
        (of_kind().filter(|report| report.is_right()).count(), of_kind().count())
    };
    let names = |kind: fn(&Catch) -> bool| {
        let of_kind = reports.iter().filter(|report| kind(&report.catch));
        of_kind.map(MutantReport::name).collect::<Vec<_>>()
    };
    let wrong = names(|catch| matches!(catch, Catch::Wrong { .. }));
    let open = names(|catch| matches!(catch, Catch::Open { .. }));
    if wrong.contains(&CANARY) || open.contains(&CANARY) {
        return format!("the canary, {CANARY}, was not caught, so nothing else was judged\n");
    }
    let (caught, of) = right_of(MutantReport::is_broken);
    let shard = of_shard(reports.first().and_then(|report| report.run.shard));
    let mut out = format!("{caught} of {of} broken subjects{shard} caught, each by its own rule\n");
    let (clean, of) = right_of(MutantReport::is_permitted);
    if of > 0 {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{clean} of {of} permitted subjects clean");
    }
    for (what, names) in [("wrong", wrong), ("left open", open)] {
        if !names.is_empty() {
            let _ = writeln!(out, "{what}: {}", names.join(", "));
        }
    }
    out
}

/// How the command ends: conformant when every broken subject was caught and no other was.
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
    use rstest::rstest;

    use super::*;
    use crate::mutants::find;
    use crate::report::told::{broken, judged, not_judged, report, run};
    use crate::rules::Overall;

    fn mutant(name: &str, results: Vec<ScenarioResult>) -> MutantReport {
        let subject = (name != REFERENCE).then(|| find(name).unwrap());
        let scenario = |(n, result)| report(&format!("a/{n}"), result);
        MutantReport::of(subject, run((1..).zip(results).map(scenario).collect()))
    }

    fn passed() -> ScenarioResult {
        judged(Overall::Pass)
    }

    fn lost() -> ScenarioResult {
        not_judged(ExitCode::Environment)
    }

    #[rstest]
    #[case::clean(REFERENCE, vec![passed(), passed()], "clean")]
    #[case::reference_breaks(REFERENCE, vec![passed(), broken(&["RG-01"])], "WRONG RG-01 in a/2")]
    #[case::reference_lost(REFERENCE, vec![lost()], "OPEN a/1 was not judged, or left open")]
    #[case::reference_not_played(REFERENCE, vec![], "OPEN not every scenario was played")]
    #[case::caught("deaf-to-eviction", vec![passed(), broken(&["RG-01", "EX-01"])], "caught RG-01 a/2")]
    #[case::by_another_rule(
        "deaf-to-eviction",
        vec![passed(), broken(&["EX-01", "RG-01"])],
        "WRONG expected RG-01; nothing broken in a/1, EX-01 first in a/2"
    )]
    #[case::not_judged("deaf-to-eviction", vec![lost()], "OPEN a/1 not judged")]
    #[case::permitted_and_clean("skips-numbers", vec![passed(), passed()], "clean")]
    #[case::permitted_and_caught(
        "skips-numbers", vec![passed(), broken(&["RG-13", "EX-01"])], "WRONG RG-13 in a/2")]
    #[case::permitted_and_lost("skips-numbers", vec![lost()], "OPEN a/1 was not judged, or left open")]
    #[case::not_played("deaf-to-eviction", vec![], "OPEN not every scenario was played")]
    fn a_subject_is_judged_by_its_scenarios(
        #[case] name: &str,
        #[case] results: Vec<ScenarioResult>,
        #[case] expected: &str,
    ) {
        let found = match mutant(name, results).catch {
            Catch::Clean => "clean".to_owned(),
            Catch::Caught { rule, scenario } => format!("caught {rule} {scenario}"),
            Catch::Wrong { found } => format!("WRONG {found}"),
            Catch::Open { why } => format!("OPEN {why}"),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn what_was_not_played_leaves_the_reference_open() {
        let mut run = run(vec![report("a/1", passed())]);
        run.not_played = 1;
        assert!(!MutantReport::of(None, run).is_right());
    }

    #[test]
    fn a_permitted_subject_is_caught_by_nothing() {
        let permitted = find("skips-numbers").unwrap();
        for result in [passed(), broken(&["RG-13"])] {
            assert!(!Catch::is_caught(permitted, &report("a/1", result)));
        }
    }

    #[test]
    fn a_permitted_subject_that_is_blamed_is_said_to_be_permitted() {
        let blamed = mutant("skips-numbers", vec![broken(&["RG-13"])]);
        let row = mutant_row(&blamed, 13);
        assert!(row.starts_with("WRONG   skips-numbers"), "{row}");
        assert!(row.ends_with("permitted: RG-13 in a/1\n"), "{row}");
        assert_eq!(mutants_exit_code(&[blamed]), ExitCode::RuleBroken);
    }

    #[test]
    fn the_table_names_rule_and_scenario_of_each() {
        let reports = [
            mutant(REFERENCE, vec![passed()]),
            mutant("deaf-to-eviction", vec![broken(&["RG-01"])]),
            mutant("never-ready", vec![passed()]),
            mutant("skips-numbers", vec![passed()]),
        ];
        let rows: String = reports.iter().map(|report| mutant_row(report, 16)).collect();
        insta::assert_snapshot!(format!("{rows}{}", mutants_summary(&reports)));
    }

    #[test]
    fn a_shard_of_the_subjects_says_so() {
        let mut caught = mutant("deaf-to-eviction", vec![broken(&["RG-01"])]);
        caught.run.shard = "2/4".parse().ok();
        let said = mutants_summary(&[caught]);
        assert_eq!(said, "1 of 1 broken subjects of shard 2/4 caught, each by its own rule\n");
    }

    #[test]
    fn one_that_gets_away_decides_how_the_command_ends() {
        let clean = || mutant(REFERENCE, vec![passed()]);
        let caught = || mutant("deaf-to-eviction", vec![broken(&["RG-01"])]);
        let open = || mutant("never-ready", vec![lost()]);
        let wrong = || mutant("never-ready", vec![passed()]);
        assert_eq!(mutants_exit_code(&[clean(), caught()]), ExitCode::Conformant);
        assert_eq!(mutants_exit_code(&[clean(), open()]), ExitCode::Inconclusive);
        assert_eq!(mutants_exit_code(&[clean(), open(), wrong()]), ExitCode::RuleBroken);
    }

    #[test]
    fn a_canary_that_gets_away_is_all_that_is_said() {
        let said = mutants_summary(&[mutant(CANARY, vec![passed()])]);
        assert!(said.starts_with("the canary, ready-before-raise, was not caught"), "{said}");
    }
}
