//! `list` and `explain`.

use std::path::PathBuf;

use clap::Args;
use dispatch_contract::rules::RULES;

use super::scenarios::{self, Source};
use super::terminal::{print, say};
use crate::exit_code::ExitCode;
use crate::report;
use crate::scenario::Scenario;

#[derive(Debug, Args)]
pub(super) struct List {
    /// Only scenarios whose id contains one of these.
    filter: Vec<String>,
    /// Scenarios of this folder instead of the suite's own.
    #[arg(long, value_name = "DIR")]
    scenarios: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct Explain {
    /// A rule's id, such as RG-04, or a scenario's, with or without its family.
    what: String,
    /// Scenarios of this folder instead of the suite's own.
    #[arg(long, value_name = "DIR")]
    scenarios: Option<PathBuf>,
}

/// Prints the scenarios, a line each.
pub(super) fn list(arguments: &List) -> ExitCode {
    let scenarios = match scenarios::load(&Source::of(arguments.scenarios.clone())) {
        Ok(scenarios) => scenarios,
        Err(code) => return code,
    };
    if let Some(why) = scenarios::none_matches(&scenarios, &arguments.filter) {
        say(&why);
        return ExitCode::NothingRan;
    }
    let chosen: Vec<_> = scenarios::chosen(&scenarios, &arguments.filter).collect();
    print(report::list(&chosen).trim_end());
    ExitCode::Conformant
}

/// Prints what a rule or a scenario is.
pub(super) fn explain(arguments: &Explain) -> ExitCode {
    let scenarios = match scenarios::load(&Source::of(arguments.scenarios.clone())) {
        Ok(scenarios) => scenarios,
        Err(code) => return code,
    };
    let what = &arguments.what;
    if let Some(rule) = RULES.iter().find(|rule| rule.id.eq_ignore_ascii_case(what)) {
        print(report::explain_rule(rule, &scenarios).trim_end());
        return ExitCode::Conformant;
    }
    let called = |scenario: &&Scenario| {
        scenario.id == *what || scenario.id.split_once('/').is_some_and(|(_, name)| name == what)
    };
    if let Some(scenario) = scenarios.iter().find(called) {
        print(report::explain_scenario(scenario).trim_end());
        return ExitCode::Conformant;
    }
    let known = RULES.iter().map(|rule| rule.id).chain(scenarios.iter().map(|it| it.id.as_str()));
    say(&scenarios::unknown(&format!("there is no rule and no scenario `{what}`"), what, known));
    ExitCode::Usage
}
