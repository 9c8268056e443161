//! `run`: plays scenarios on a cluster, judges what happened, and reports it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use dispatch_contract::{Entropy, OsEntropy};

use super::cluster::Kind;
use super::scenarios::{self, Source};
use super::terminal::{Lines, complain, print, say, settle, transient};
use crate::cluster::local::{Options, Ownership, Running, take_up_or_start};
use crate::exit_code::ExitCode;
use crate::history::read_file;
use crate::mutants;
use crate::report::{self, RunReport, ScenarioReport, ScenarioResult};
use crate::run::{
    self, Host, Interruption, Interrupts, Leaving, Observer, Played, Progress, RunError, Settings,
    Subjects,
};
use crate::scenario::Scenario;

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

/// A run that was asked for, once everything about it was found to be possible.
struct Asked {
    run: String,
    scenarios: Vec<Scenario>,
    results: PathBuf,
    mutant: Option<String>,
    no_claim: Vec<String>,
    repeat: u32,
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
    let interrupts = match Interrupts::listen() {
        Ok(interrupts) => interrupts,
        Err(error) => {
            say(&format!("error: signals cannot be taken: {error}"));
            return ExitCode::SuiteFault;
        }
    };
    let begun = Instant::now();
    let cluster = match bring_up(&name, interrupts.clone()).await {
        Ok(cluster) => cluster,
        Err(code) => return code,
    };
    let mut leaving = Vec::new();
    let report = play_all(&asked, &cluster, &interrupts, begun, &mut leaving).await;
    // One that ends takes its namespaces along.
    if cluster.ownership() == Ownership::TakenUp && !leaving.is_empty() {
        transient("waiting for the scenarios' namespaces to go");
        let left = run::all_gone(&cluster, &leaving).await;
        settle();
        for left in left {
            say(&format!("left behind: {left}"));
        }
    }
    cluster.shut_down().await;
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

/// Makes the folder for the results, and makes sure that it can be written to.
fn writable(folder: &Path) -> Result<(), ExitCode> {
    let probe = folder.join(".writable");
    let tried = fs_err::create_dir_all(folder)
        .and_then(|()| fs_err::write(&probe, b"."))
        .and_then(|()| fs_err::remove_file(&probe));
    tried.map_err(|error| {
        say(&format!("error: the results cannot be written: {error}"));
        say("name another folder with --report");
        ExitCode::Environment
    })
}

async fn bring_up(name: &str, mut interrupts: Interrupts) -> Result<Running, ExitCode> {
    let started = async { take_up_or_start(Options::new(name)?, &Lines).await };
    let started = tokio::select! {
        started = started => started,
        interruption = interrupts.next() => {
            say("interrupted: nothing was played");
            return Err(code_of(interruption));
        }
    };
    started.map_err(|error| {
        let code = error.exit_code();
        complain(error);
        code
    })
}

fn code_of(interruption: Interruption) -> ExitCode {
    match interruption {
        Interruption::Interrupt => ExitCode::Interrupted,
        Interruption::Terminate => ExitCode::Terminated,
    }
}

/// Plays every scenario, and prints what became of each as it ends.
async fn play_all(
    asked: &Asked,
    host: &dyn Host,
    interrupts: &Interrupts,
    begun: Instant,
    leaving: &mut Vec<Leaving>,
) -> RunReport {
    let mut report = RunReport {
        run: asked.run.clone(),
        cluster: host.kind().to_owned(),
        mutant: asked.mutant.clone(),
        no_claim: asked.no_claim.clone(),
        scenarios: Vec::new(),
        took: Duration::ZERO,
        interrupted: None,
    };
    let versions: Vec<_> =
        host.versions().into_iter().map(|(name, version)| format!("{name} {version}")).collect();
    let count = asked.scenarios.len();
    let times = asked.repeat;
    print(&report::header(
        (count, times),
        host.kind(),
        &versions.join(", "),
        asked.mutant.as_deref(),
    ));
    let rounds = (1..=asked.repeat).flat_map(|nth| asked.scenarios.iter().map(move |it| (nth, it)));
    for ((nth, scenario), number) in rounds.zip(1..) {
        let repetition = (asked.repeat > 1).then_some((nth, asked.repeat));
        let place = (number, repetition);
        let played = play_one(asked, scenario, place, host, interrupts, leaving).await;
        print(report::scenario(&report, &played).trim_end());
        report.scenarios.push(played);
        if let Some(interruption) = interrupts.seen() {
            report.interrupted = Some(code_of(interruption));
            break;
        }
    }
    report.took = begun.elapsed();
    report
}

async fn play_one(
    asked: &Asked,
    scenario: &Scenario,
    (number, repetition): (u32, Option<(u32, u32)>),
    host: &dyn Host,
    interrupts: &Interrupts,
    all_leaving: &mut Vec<Leaving>,
) -> ScenarioReport {
    let results = match repetition {
        Some((nth, _)) => asked.results.join(format!("{nth:04}")),
        None => asked.results.clone(),
    };
    let settings = Settings {
        run: asked.run.clone(),
        number,
        results,
        time_scale: asked.time_scale,
        subjects: Subjects { mutant: asked.mutant.clone() },
    };
    let begun = Instant::now();
    let mut observer = Tell { id: &scenario.id };
    let played = run::play(scenario, host, &settings, interrupts.clone(), &mut observer).await;
    settle();
    let took = begun.elapsed();
    let mut report = ScenarioReport {
        id: scenario.id.clone(),
        title: scenario.title.clone(),
        repetition,
        took,
        history: None,
        left_behind: Vec::new(),
        result: ScenarioResult::NotJudged { why: String::new(), fault: ExitCode::SuiteFault },
    };
    match played {
        Ok(Played { history, left_behind, leaving, .. }) => {
            all_leaving.extend(leaving);
            report.result = judge(scenario, &history);
            report.history = Some(history);
            report.left_behind = left_behind;
        }
        Err(error) => {
            let fault = fault(&error);
            report.result = ScenarioResult::NotJudged { why: chain(&error), fault };
        }
    }
    report
}

/// Judges a history from its file: the file is all that counts, so that a verdict can be had again.
fn judge(scenario: &Scenario, history: &Path) -> ScenarioResult {
    match read_file(history) {
        Ok(history) => ScenarioResult::Judged(Box::new(report::judge(scenario, &history))),
        Err(error) => ScenarioResult::NotJudged { why: chain(&error), fault: ExitCode::SuiteFault },
    }
}

/// Whose fault it is that a scenario could not be played.
fn fault(error: &RunError) -> ExitCode {
    match error {
        RunError::Manifests { .. } | RunError::Panicked(_) => ExitCode::SuiteFault,
        RunError::Results { .. }
        | RunError::Private(_)
        | RunError::Journal(_)
        | RunError::Recorder(_)
        | RunError::Prepare { .. }
        | RunError::Subject(_)
        | RunError::NotReady { .. }
        | RunError::FeatureGates(_)
        | RunError::Freeze { .. }
        | RunError::ClusterEnded(_) => ExitCode::Environment,
    }
}

/// An error with everything that it comes from.
fn chain(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !words.ends_with(&more) {
            words = format!("{words}: {more}");
        }
        cause = error.source();
    }
    words
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

/// Tells the progress of one scenario.
struct Tell<'a> {
    id: &'a str,
}

impl Observer for Tell<'_> {
    fn progress(&mut self, progress: &Progress<'_>) {
        if let Some(line) = report::progress(self.id, progress) {
            transient(&line);
        }
    }
}
