//! Plays scenarios on a cluster and judges them: what `run` and `mutants` share.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::terminal::{Lines, complain, print, say, settle, transient};
use crate::cluster::local::{Options, Ownership, Running, take_up_or_start};
use crate::exit_code::ExitCode;
use crate::history::read_file;
use crate::report::{self, RunReport, ScenarioReport, ScenarioResult};
use crate::run::{
    self, Host, Interruption, Interrupts, Leaving, Observer, Played, Progress, RunError, Settings,
    Subjects,
};
use crate::scenario::Scenario;

/// A run that was asked for, once everything about it was found to be possible.
pub(super) struct Asked {
    pub(super) run: String,
    pub(super) scenarios: Vec<Scenario>,
    pub(super) results: PathBuf,
    pub(super) mutant: Option<String>,
    pub(super) no_claim: Vec<String>,
    pub(super) repeat: u32,
    pub(super) time_scale: u32,
}

/// Makes the folder for the results, and makes sure that it can be written to.
pub(super) fn writable(folder: &Path) -> Result<(), ExitCode> {
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

pub(super) async fn bring_up(name: &str, mut interrupts: Interrupts) -> Result<Running, ExitCode> {
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

/// Ends a cluster of one's own; on one that was taken up, waits until the scenarios' namespaces are
/// gone.
pub(super) async fn leave(cluster: Running, leaving: &[Leaving]) {
    // One that ends takes its namespaces along.
    if cluster.ownership() == Ownership::TakenUp && !leaving.is_empty() {
        transient("waiting for the scenarios' namespaces to go");
        let left = run::all_gone(&cluster, leaving).await;
        settle();
        for left in left {
            say(&format!("left behind: {left}"));
        }
    }
    cluster.shut_down().await;
}

/// Listens for what interrupts a run.
pub(super) fn interrupts() -> Result<Interrupts, ExitCode> {
    Interrupts::listen().map_err(|error| {
        say(&format!("error: signals cannot be taken: {error}"));
        ExitCode::SuiteFault
    })
}

pub(super) fn code_of(interruption: Interruption) -> ExitCode {
    match interruption {
        Interruption::Interrupt => ExitCode::Interrupted,
        Interruption::Terminate => ExitCode::Terminated,
    }
}

/// Plays every scenario, and prints what became of each as it ends; no more once one of them is
/// enough.
pub(super) async fn play_all(
    asked: &Asked,
    host: &dyn Host,
    interrupts: &Interrupts,
    begun: Instant,
    leaving: &mut Vec<Leaving>,
    enough: &(dyn Fn(&ScenarioReport) -> bool + Sync),
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
        let enough = enough(&played);
        report.scenarios.push(played);
        if let Some(interruption) = interrupts.seen() {
            report.interrupted = Some(code_of(interruption));
            break;
        }
        if enough {
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
        case: None,
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
