//! `run`: plays scenarios on a cluster, judges what happened, and reports it.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use dispatch_contract::{Entropy, OsEntropy};

use super::cluster::Kind;
use super::play::{self, Asked, bring_up, leave, play_all, writable};
use super::scenarios::{self, Source};
use super::terminal::{print, say};
use crate::exit_code::ExitCode;
use crate::mutants;
use crate::report::{self, RunReport};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Only scenarios whose id contains one of these, such as readmission/ or gate-leak.
    filter: Vec<String>,
    /// Where to play them.
    #[arg(long, value_enum)]
    cluster: Kind,
    /// The cluster to take up, if one of this name runs and matches; else a new one is started, and
    /// ended afterwards.
    #[arg(long, default_value = "default")]
    name: String,
    /// Scenarios of this folder instead of the suite's own: no claim to conformance.
    #[arg(long, value_name = "DIR")]
    scenarios: Option<PathBuf>,
    /// Judge a broken subject in place of the reference. Exit code 1 is then the expected answer.
    #[arg(long, value_name = "NAME")]
    mutant: Option<String>,
    /// The folder for histories and junit.xml. A new one under results/ unless given.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Play every scenario this many times.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repeat: u32,
    /// Give a slow cluster this many times as long; the contract's own windows stay.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20))]
    time_scale: u32,
}

/// Runs the command.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    let Kind::Local = arguments.cluster;
    let name = arguments.name.clone();
    let asked = match ask(arguments) {
        Ok(asked) => asked,
        Err(code) => return code,
    };
    let interrupts = match play::interrupts() {
        Ok(interrupts) => interrupts,
        Err(code) => return code,
    };
    let begun = Instant::now();
    let cluster = match bring_up(&name, interrupts.clone()).await {
        Ok(cluster) => cluster,
        Err(code) => return code,
    };
    let mut leaving = Vec::new();
    let report = play_all(&asked, &cluster, &interrupts, begun, &mut leaving, &|_| false).await;
    leave(cluster, &leaving).await;
    finish(&report, &asked.results)
}

/// Everything that can be refused before a cluster is touched.
fn ask(arguments: Arguments) -> Result<Asked, ExitCode> {
    let source = Source::of(arguments.scenarios);
    let all = scenarios::load(&source)?;
    let chosen: Vec<_> = scenarios::chosen(&all, &arguments.filter).cloned().collect();
    if chosen.is_empty() {
        say(&scenarios::none_matches(&all, &arguments.filter));
        return Err(ExitCode::NothingRan);
    }
    let mut no_claim = Vec::new();
    if source != Source::Embedded {
        no_claim.push("the scenarios are not the suite's own".to_owned());
    }
    if chosen.len() < all.len() {
        no_claim.push(format!("{} of {} scenarios were played", chosen.len(), all.len()));
    }
    if let Some(mutant) = &arguments.mutant {
        if let Err(error) = mutants::find(mutant) {
            say(&format!("error: {error}"));
            return Err(ExitCode::Usage);
        }
        no_claim.push(format!("the mutant {mutant} was judged"));
    }
    if arguments.time_scale > 1 {
        no_claim.push(format!("deadlines were stretched {} times", arguments.time_scale));
    }
    let run = OsEntropy.token();
    let results = arguments.report.unwrap_or_else(|| Path::new("results").join(&run));
    writable(&results)?;
    Ok(Asked {
        run,
        scenarios: chosen,
        results,
        mutant: arguments.mutant,
        no_claim,
        repeat: arguments.repeat,
        time_scale: arguments.time_scale,
    })
}

/// Writes the report and says how the run went.
fn finish(report: &RunReport, results: &Path) -> ExitCode {
    print(report::summary(report).trim_end());
    let file = results.join("junit.xml");
    let written = report::junit(report)
        .map_err(std::io::Error::other)
        .and_then(|xml| fs_err::write(&file, xml));
    match written {
        Ok(()) => {
            print(&format!("report: {}", file.display()));
            report.exit_code()
        }
        Err(error) => {
            say(&format!("error: the report cannot be written: {error}"));
            // A broken rule stays the answer; the lost report must not hide it.
            match report.exit_code() {
                ExitCode::Conformant | ExitCode::Inconclusive => ExitCode::Environment,
                code => code,
            }
        }
    }
}
