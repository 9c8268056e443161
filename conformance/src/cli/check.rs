//! `check`: judges a stored history again.

use std::error::Error as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::scenarios::{self, Source};
use super::terminal::{print, say};
use crate::exit_code::ExitCode;
use crate::history::{self, Begin, EndedBy, Event, History, What, read_file};
use crate::report::{self, RunReport, ScenarioReport, ScenarioResult};
use crate::scenario::{self, Scenario};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The history: a file `history.ndjson` of a run.
    history: PathBuf,
    /// Take the scenario from this folder instead of the suite's own.
    #[arg(long, value_name = "DIR")]
    scenarios: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn run(arguments: Arguments) -> ExitCode {
    let history = match read_file(&arguments.history) {
        Ok(history) => history,
        Err(error) => {
            let cause = error.source().map(|it| format!(": {it}")).unwrap_or_default();
            say(&format!("error: {error}{cause}"));
            return ExitCode::Usage;
        }
    };
    let Some(begin) = history.begin() else {
        say(&format!("error: {} has no first line", arguments.history.display()));
        return ExitCode::Usage;
    };
    let scenarios = match scenarios::load(&Source::of(arguments.scenarios)) {
        Ok(scenarios) => scenarios,
        Err(code) => return code,
    };
    let scenario = match of_history(&scenarios, begin) {
        Ok(scenario) => scenario,
        Err(why) => {
            say(&format!("error: {}", report::plain(&why)));
            return ExitCode::Usage;
        }
    };
    if let Err(why) = agrees(scenario, begin, &history) {
        say(&format!("error: {}", report::plain(&why)));
        return ExitCode::Usage;
    }
    let run = judged(scenario, begin, &history, arguments.history);
    for report in &run.scenarios {
        print(report::scenario(&run, report).trim_end());
    }
    run.exit_code()
}

/// The scenario that the history is of: the same id, and the same text.
fn of_history<'a>(scenarios: &'a [Scenario], begin: &Begin) -> Result<&'a Scenario, String> {
    let scenario = scenarios.iter().find(|scenario| scenario.id == begin.scenario);
    let scenario = scenario.ok_or_else(|| format!("there is no scenario `{}`", begin.scenario))?;
    if scenario.digest != begin.digest {
        return Err(format!(
            "the history is of another version of `{}`; name the folder that has it with \
             --scenarios",
            begin.scenario
        ));
    }
    Ok(scenario)
}

/// Whether the history can be one of this scenario: a file that somebody changed may say anything.
fn agrees(scenario: &Scenario, begin: &Begin, history: &History) -> Result<(), String> {
    let same_mode = match scenario.given.mode {
        scenario::Mode::Kueue => begin.mode == history::Mode::Kueue,
    };
    if !same_mode {
        return Err(format!("`{}` is not played in the mode that the history names", scenario.id));
    }
    let is_end = |event: &&Arc<Event>| matches!(event.what, What::StepEnded(_));
    let ended = history.events().iter().filter(is_end).count();
    let finished = history.end().is_some_and(|end| end.why == EndedBy::Finished);
    let steps = scenario.steps.len();
    if finished && history.gaps().next().is_none() && ended != steps {
        return Err(format!(
            "the history says that the scenario was played to its end, and {ended} of its {steps} \
             steps ended"
        ));
    }
    Ok(())
}

fn judged(scenario: &Scenario, begin: &Begin, history: &History, file: PathBuf) -> RunReport {
    let last = history.events().last().map_or(0, |event| event.elapsed_ns);
    let took = Duration::from_nanos(last);
    let result = ScenarioResult::Judged(Box::new(report::judge(scenario, history)));
    let report = ScenarioReport {
        took,
        history: Some(file),
        seed: begin.seed,
        result,
        ..ScenarioReport::begun(scenario, begin.case.as_deref())
    };
    RunReport {
        run: begin.run.clone(),
        cluster: begin.cluster.clone(),
        shard: None,
        subjects: begin.subjects.clone(),
        options: Vec::new(),
        no_claim: vec!["a stored history was judged".to_owned()],
        scenarios: vec![report],
        not_played: 0,
        took,
        interrupted: None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::history::told::Told;

    #[rstest]
    #[case::another_mode(Told::plain().history(), "is not played in the mode")]
    #[case::without_its_steps(Told::kueue().history(), "and 0 of its")]
    fn a_history_that_contradicts_its_scenario_is_refused(
        #[case] history: History,
        #[case] expected: &str,
    ) {
        let scenarios = scenarios::load(&Source::Embedded).unwrap();
        let refusal = agrees(&scenarios[0], history.begin().unwrap(), &history).unwrap_err();
        assert!(refusal.contains(expected), "{refusal}");
    }
}
