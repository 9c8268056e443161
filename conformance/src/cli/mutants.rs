//! `mutants`: the suite's own proof. Every broken subject is judged by the scenarios that are to
//! catch it, and so is the reference by the same scenarios.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use dispatch_contract::{Entropy, OsEntropy};

use super::cluster::Kind;
use super::play::{self, Asked, bring_up, leave, play_all, writable};
use super::scenarios::{self, Source};
use super::terminal::{print, say};
use crate::exit_code::ExitCode;
use crate::mutants::{self, MUTANTS, Mutant};
use crate::report::{self, Catch, MutantReport, ScenarioReport};
use crate::run::{Interrupts, Leaving};
use crate::scenario::Scenario;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Only these broken subjects; the reference is judged all the same.
    mutant: Vec<String>,
    /// Where to play.
    #[arg(long, value_enum)]
    cluster: Kind,
    /// The cluster to take up, if one of this name runs and matches; else a new one is started, and
    /// ended afterwards.
    #[arg(long, default_value = "default")]
    name: String,
    /// The folder for histories. A new one under results/ unless given.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
}

/// Runs the command.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    let Kind::Local = arguments.cluster;
    let (wanted, scenarios, results) = match ask(&arguments) {
        Ok(asked) => asked,
        Err(code) => return code,
    };
    let interrupts = match play::interrupts() {
        Ok(interrupts) => interrupts,
        Err(code) => return code,
    };
    let cluster = match bring_up(&arguments.name, interrupts.clone()).await {
        Ok(cluster) => cluster,
        Err(code) => return code,
    };
    let mut leaving = Vec::new();
    let mut reports = Vec::new();
    for subject in [None].into_iter().chain(wanted.iter().copied().map(Some)) {
        let asked = asked_for(subject, &wanted, &scenarios, &results);
        reports.push(judged(subject, &asked, &cluster, &interrupts, &mut leaving).await);
        if interrupts.seen().is_some() {
            break;
        }
    }
    leave(cluster, &leaving).await;
    print(report::mutants(&reports).trim_end());
    match interrupts.seen() {
        Some(interruption) => play::code_of(interruption),
        None => report::mutants_exit_code(&reports),
    }
}

type Wanted = (Vec<&'static Mutant>, Vec<Scenario>, PathBuf);

/// Everything that can be refused before a cluster is touched.
fn ask(arguments: &Arguments) -> Result<Wanted, ExitCode> {
    let scenarios = scenarios::load(&Source::Embedded)?;
    let named = arguments.mutant.iter().map(|name| mutants::find(name));
    let named: Result<Vec<_>, _> = named.collect();
    let named = named.map_err(|error| {
        say(&format!("error: {error}"));
        ExitCode::Usage
    })?;
    let wanted = if named.is_empty() { MUTANTS.iter().collect() } else { named };
    let results = arguments.report.clone();
    let results = results.unwrap_or_else(|| Path::new("results").join(OsEntropy.token()));
    writable(&results)?;
    Ok((wanted, scenarios, results))
}

/// The run of one subject: the scenarios that are to catch it; for the reference, those of all.
fn asked_for(
    subject: Option<&Mutant>,
    wanted: &[&Mutant],
    scenarios: &[Scenario],
    results: &Path,
) -> Asked {
    let catches =
        |mutant: &Mutant, scenario: &Scenario| mutant.caught_by.contains(&scenario.id.as_str());
    let is_for = |scenario: &&Scenario| match subject {
        Some(mutant) => catches(mutant, scenario),
        None => wanted.iter().any(|mutant| catches(mutant, scenario)),
    };
    let name = subject.map_or("reference", |mutant| mutant.name);
    Asked {
        run: OsEntropy.token(),
        scenarios: scenarios.iter().filter(is_for).cloned().collect(),
        results: results.join(name),
        mutant: subject.map(|mutant| mutant.name.to_owned()),
        no_claim: Vec::new(),
        repeat: 1,
        time_scale: 1,
    }
}

async fn judged(
    subject: Option<&'static Mutant>,
    asked: &Asked,
    cluster: &crate::cluster::local::Running,
    interrupts: &Interrupts,
    leaving: &mut Vec<Leaving>,
) -> MutantReport {
    let begun = Instant::now();
    let caught = |scenario: &ScenarioReport| {
        subject.is_some_and(|mutant| Catch::is_caught(mutant, scenario))
    };
    let run = play_all(asked, cluster, interrupts, begun, leaving, &caught).await;
    let catch = match subject {
        Some(mutant) => Catch::of_mutant(mutant, &run),
        None => Catch::of_reference(&run),
    };
    MutantReport { name: subject.map_or("reference", |mutant| mutant.name), catch, took: run.took }
}
