//! `parity`: compares what objects went through on the simulated cluster with what they do on a real
//! one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Args;

use super::scenarios::{self, Source};
use super::terminal::{print, say};
use crate::exit_code::ExitCode;
use crate::history::{Begin, History, SubjectNames, read_file};
use crate::parity::{Comparison, Known, Lived, NotCompared, Play, Recording, Role, compare, lives};
use crate::report;
use crate::rules::Overall;
use crate::scenario::Scenario;

/// The kind of the cluster that is compared with the others.
const SIMULATED: &str = "simulated";

/// How many seeds of the whole suite have to be compared, until a known difference that was not met
/// is met no more.
const ENOUGH: usize = 4;

/// What a run is recorded as that shows nothing.
const INCONCLUSIVE: &str = "inconclusive";

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Folders with the histories of simulated runs, as `run --report DIR` writes them.
    #[arg(long, value_name = "DIR", num_args = 1.., required_unless_present = "record")]
    simulated: Vec<PathBuf>,
    /// Folders with the histories of real runs, beside those that are recorded.
    #[arg(long, value_name = "DIR", num_args = 1.., required_if_eq("without_recorded", "true"))]
    real: Vec<PathBuf>,
    /// Leave out the real runs that the suite has recorded.
    #[arg(long)]
    without_recorded: bool,
    /// Write all real runs to this file.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

/// One history that was read.
struct Read {
    file: String,
    cluster: String,
    play: Play,
    lives: BTreeMap<Role, Lived>,
    gap: Option<String>,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> ExitCode {
    match compared(arguments) {
        Ok(code) | Err(code) => code,
    }
}

fn compared(arguments: &Arguments) -> Result<ExitCode, ExitCode> {
    let scenarios = scenarios::load(&Source::Embedded)?;
    let mut left_out = Vec::new();
    let mut recording = recording(arguments)?;
    for read in histories(&arguments.real, &scenarios, |cluster| cluster != SIMULATED)? {
        let play = read.play.full_id();
        let not =
            |why: &str| NotCompared { play: play.clone(), why: why.to_owned(), is_unknown: false };
        if let Some(gap) = read.gap {
            left_out.push(not(&format!("the record of a real run has a gap: {gap}")));
        } else if read.play.verdict == INCONCLUSIVE {
            left_out.push(not("a real run was inconclusive"));
        } else if !recording.add(read.play, read.lives) {
            left_out.push(not("the verdicts of real runs differ"));
        }
    }
    if let Some(file) = &arguments.record {
        let is_known =
            |id: &str, digest: &str| scenarios.iter().any(|it| it.id == id && it.digest == digest);
        recording.plays.retain(|_, play| is_known(&play.scenario, &play.digest));
        write(file, &recording)?;
        print(&format!("recorded: {} plays in {}", recording.plays.len(), file.display()));
    }
    if arguments.simulated.is_empty() {
        return Ok(ExitCode::Conformant);
    }
    let simulated = histories(&arguments.simulated, &scenarios, |cluster| cluster == SIMULATED)?;
    Ok(judged(&recording, simulated, left_out, arguments.real.is_empty()))
}

/// The recording that real runs are added to.
fn recording(arguments: &Arguments) -> Result<Recording, ExitCode> {
    if arguments.without_recorded {
        return Ok(Recording::default());
    }
    Recording::embedded().map_err(|error| {
        say(&format!("error: {error}"));
        ExitCode::SuiteFault
    })
}

fn judged(
    recording: &Recording,
    simulated: Vec<Read>,
    left_out: Vec<NotCompared>,
    only_recorded: bool,
) -> ExitCode {
    let mut known = match Known::embedded() {
        Ok(known) => known,
        Err(why) => {
            say(&format!("error: the list of known differences cannot be read: {why}"));
            return ExitCode::SuiteFault;
        }
    };
    let (whole, gaps): (Vec<_>, Vec<_>) =
        simulated.into_iter().partition(|read| read.gap.is_none());
    let whole: Vec<_> = whole.into_iter().map(|it| (it.file, it.play, it.lives)).collect();
    let mut comparison: Comparison = compare(recording, &whole, &mut known);
    comparison.not_compared.extend(left_out);
    comparison.not_compared.extend(gaps.into_iter().map(|read| NotCompared {
        play: read.play.full_id(),
        why: format!("the record has a gap: {}", read.gap.unwrap_or_default()),
        is_unknown: true,
    }));
    let is_enough = comparison.plays >= ENOUGH * recording.plays.len();
    let not_met: Vec<_> = known.not_met().filter(|_| is_enough && only_recorded).collect();
    print(report::parity(&comparison, &not_met).trim_end());
    report::parity_exit_code(&comparison, &not_met)
}

fn write(file: &Path, recording: &Recording) -> Result<(), ExitCode> {
    fs_err::write(file, recording.write()).map_err(|error| {
        say(&format!("error: the recording cannot be written: {error}"));
        ExitCode::Environment
    })
}

/// Every history below these folders, which all have to be of the same side.
fn histories(
    folders: &[PathBuf],
    scenarios: &[Scenario],
    is_of_side: fn(&str) -> bool,
) -> Result<Vec<Read>, ExitCode> {
    let mut files = Vec::new();
    for folder in folders {
        let before = files.len();
        find(folder, &mut files).map_err(|error| {
            say(&format!("error: {error}"));
            ExitCode::Usage
        })?;
        if files.len() == before {
            say(&format!("error: there is no history in {}", folder.display()));
            return Err(ExitCode::Usage);
        }
    }
    let mut reads = read_all(&files, scenarios)?;
    reads.sort_by(|one, other| one.file.cmp(&other.file));
    if let Some(other) = reads.iter().find(|read| !is_of_side(&read.cluster)) {
        say(&format!("error: {} is a history of a {} cluster", other.file, other.cluster));
        return Err(ExitCode::Usage);
    }
    Ok(reads)
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs_err::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            find(&path, files)?;
        } else if path.file_name().is_some_and(|name| name == "history.ndjson") {
            files.push(path);
        }
    }
    Ok(())
}

/// Reads histories, several at a time: most of the time goes into the reading.
fn read_all(files: &[PathBuf], scenarios: &[Scenario]) -> Result<Vec<Read>, ExitCode> {
    let next = AtomicUsize::new(0);
    let reads = Mutex::new(Vec::new());
    let at_once = std::thread::available_parallelism().map_or(1, Into::into);
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let read = read(file, scenarios);
                    let mut reads = reads.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    reads.push(read);
                }
            });
        }
    });
    let reads = reads.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let reads: Result<Vec<_>, String> = reads.into_iter().collect();
    reads.map_err(|why| {
        say(&format!("error: {}", report::plain(&why)));
        ExitCode::Usage
    })
}

fn read(file: &Path, scenarios: &[Scenario]) -> Result<Read, String> {
    let history = read_file(file).map_err(|error| error.to_string())?;
    let name = file.display().to_string();
    let begin = history.begin().ok_or_else(|| format!("{name} has no first line"))?;
    if begin.subjects != SubjectNames::default() {
        let subjects = &begin.subjects;
        return Err(format!("{name} is of {subjects}, which may do otherwise than the reference"));
    }
    let (lives, never) = lives(&history);
    Ok(Read {
        file: name,
        cluster: begin.cluster.clone(),
        play: Play { never, ..play(begin, &history, scenarios) },
        lives,
        gap: history.gaps().next().map(|(_, gap)| gap.why.clone()),
    })
}

fn play(begin: &Begin, history: &History, scenarios: &[Scenario]) -> Play {
    let scenario = scenarios.iter().find(|it| it.id == begin.scenario && it.digest == begin.digest);
    // Of a scenario that is another one now nothing is compared.
    let verdict = scenario.map_or("unknown", |scenario| verdict(scenario, history));
    Play {
        scenario: begin.scenario.clone(),
        case: begin.case.clone(),
        digest: begin.digest.clone(),
        verdict: verdict.to_owned(),
        runs: 1,
        ..Play::default()
    }
}

fn verdict(scenario: &Scenario, history: &History) -> &'static str {
    match report::judge(scenario, history).overall {
        Overall::Pass => "pass",
        Overall::Fail { .. } => "fail",
        Overall::Inconclusive { .. } => INCONCLUSIVE,
    }
}
