//! Runs that are killed: whatever the moment, what they wrote can be read, and no process of theirs
//! is left.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use fs_err as fs;
use nix::sys::signal::Signal;
use serde_json::Value;

use super::life::ended;
use super::{Home, PATIENCE, said, send};
use dispatch_conformance::cluster::local::ProcessId;

/// How often it is looked whether the moment has come: there is nothing to wait on.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Scenarios of a few seconds, each several times, so that many play at whatever moment.
const RUN: [&str; 9] = [
    "run",
    "--cluster=local",
    "--name=shared",
    "--repeat=4",
    "--parallel=6",
    "first-execution",
    "foreign-workload",
    "controller-down",
    "--report",
];

/// The histories below a folder.
fn histories(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        for path in entries.map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with("history.ndjson") {
                found.push(path);
            }
        }
    }
    found
}

/// How many histories have an event of this kind.
fn with_event(folder: &Path, kind: &str) -> usize {
    let key = format!("\"what\":{{\"{kind}\":");
    let has = |path: &PathBuf| fs::read_to_string(path).unwrap_or_default().contains(&key);
    histories(folder).iter().filter(|path| has(path)).count()
}

/// The processes below one: its children, theirs, and so on.
fn descendants(pid: u32) -> Vec<ProcessId> {
    let processes: Vec<_> = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|child: u32| Some((child, parent(child)?)))
        .collect();
    let mut below = BTreeSet::from([pid]);
    while let Some((child, _)) =
        processes.iter().find(|(child, parent)| below.contains(parent) && !below.contains(child))
    {
        below.insert(*child);
    }
    below.remove(&pid);
    below.into_iter().filter_map(ProcessId::of).collect()
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Starts a run and kills it as soon as so many of its histories have an event of this kind. Gives
/// the subjects that ran then.
fn killed_when(home: &Home, results: &Path, count: usize, kind: &str) -> Vec<ProcessId> {
    let mut command = home.command(&RUN);
    command.env("TMPDIR", home.path()).arg(results).stdout(Stdio::null()).stderr(Stdio::null());
    let mut run = command.spawn().unwrap();
    let begun = Instant::now();
    while with_event(results, kind) < count {
        assert!(begun.elapsed() < PATIENCE, "no {count} histories with an event {kind}");
        assert_eq!(run.try_wait().unwrap(), None, "the run ended by itself");
        std::thread::sleep(LOOK_EVERY);
    }
    let subjects = descendants(run.id());
    send(run.id(), Signal::SIGKILL);
    run.wait().unwrap();
    subjects
}

#[track_caller]
fn none_runs(subjects: &[ProcessId]) {
    let begun = Instant::now();
    while !subjects.iter().all(|subject| ended(*subject)) {
        assert!(begun.elapsed() < PATIENCE, "still running: {subjects:?}");
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Whether a history says how it ended.
fn has_end(history: &Path) -> bool {
    let text = fs::read_to_string(history).unwrap();
    let last = text.lines().last().unwrap_or_default();
    serde_json::from_str::<Value>(last).is_ok_and(|event| !event["what"]["end"].is_null())
}

#[test]
#[ignore = "starts a real control plane"]
fn a_killed_run_leaves_histories_that_can_be_read_and_no_process() {
    let home = Home::new();
    let up = home.run(&["cluster", "up", "--cluster=local", "--name=shared"]);
    assert!(up.status.success(), "{}", said(&up));
    // From the first line of the first scenario to the end of some, while others play.
    let moments = [
        (1, "begin"),
        (3, "version"),
        (2, "subject"),
        (4, "call-invoked"),
        (6, "call-answered"),
        (2, "end"),
    ];
    let (mut subjects, mut cut) = (0, 0);
    for (count, kind) in moments {
        let results = home.path().join(format!("{count}-{kind}"));
        let ran = killed_when(&home, &results, count, kind);
        none_runs(&ran);
        subjects += ran.len();
        for history in histories(&results) {
            let checked = home.run(&["check", history.to_str().unwrap()]);
            match (fs::metadata(&history).unwrap().len(), has_end(&history)) {
                // Killed before the first line.
                (0, _) => {}
                (_, true) => assert_eq!(checked.status.code(), Some(0), "{}", said(&checked)),
                (_, false) => {
                    assert_eq!(checked.status.code(), Some(3), "{}", said(&checked));
                    cut += 1;
                }
            }
        }
    }
    assert!(subjects > 0 && cut > 0, "{subjects} subjects ran, and {cut} histories were cut off");

    // What was left in the cluster is in nobody's way.
    let results = home.path().join("after");
    let mut after = home.command(&RUN);
    let after = after.arg(&results).output().unwrap();
    assert_eq!(after.status.code(), Some(0), "{}", said(&after));
    let down = home.run(&["cluster", "down", "--name=shared"]);
    assert!(down.status.success(), "{}", said(&down));
}
